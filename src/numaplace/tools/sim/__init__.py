"""A cluster on paper: Pods and nodes in, events through the planner's own verbs, an Outcome out.

Nothing here reads a file or a clock: `tools/cli` brings the input and prints what comes out.
"""
