"""What a simulation found, as values, as a table for people and as JSON for programs."""
