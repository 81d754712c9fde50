"""How many examples a property tries: its own number, a hundred times that in `deep`."""

from hypothesis import settings

DEEP = 20_000  # the number that tests/conftest.py gives the profile `deep`


def examples(usual: int) -> int:
    """`usual` in the profiles of every day, a hundred times that in `deep`."""
    return usual * 100 if settings().max_examples >= DEEP else usual
