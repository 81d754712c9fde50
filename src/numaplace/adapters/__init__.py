"""Outside: one file for each thing that is touched.

An adapter fetches values or performs actions; it decides nothing. Each has a fake
that passes the same contract tests, and none knows another.
"""
