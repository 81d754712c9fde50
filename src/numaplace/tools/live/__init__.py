"""A cluster that runs, or a capture of one, looked at with the planner's own book; nothing is written."""
