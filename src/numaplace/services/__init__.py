"""Processes: each wires adapters to verbs, one folder a process.

They decide nothing by themselves; what they know of the world comes from adapters
and what they do about it from `decide`.
"""
