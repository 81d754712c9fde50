"""A machine as a person reads it: tree, table, matrix; `tools/topomap` draws it.

`tools/cli/show` asks for one of these; each takes a machine and gives text.
"""
