"""Verbs: pure functions from values to an answer or a `Refusal`.

No file, socket, clock, log or random number: equal inputs give equal answers,
which is what lets the simulator and the replay run the code of the cluster.
"""
