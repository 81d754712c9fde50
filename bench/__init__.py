"""What is measured, how, and the kept results. `make bench` runs all of it."""
