"""People: what a person types or looks at.

The command line, the cluster on paper, pictures of machines. Everything below
this band answers with values; here they become tables, text and exit codes.
"""
