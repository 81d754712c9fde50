"""The planner beside the stock scheduler on a real control plane: `make bench-cluster`."""
