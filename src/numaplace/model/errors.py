"""The exceptions of numaplace: broken input, or a promise of our own that broke.

"No" is not an exception: what cannot be placed is a `Refusal`. Whoever shows an
error to a person prints `str(error)`, which is one sentence.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class NumaplaceError(Exception):
    """Every exception that this package raises on purpose; its text is one sentence."""


class InputError(NumaplaceError):
    """Something that was read is not what its format allows.

    `where` names file, document and field as far as they are known; `found` is what
    stood there (shortened) and `wanted` what would have been right.
    """

    def __init__(self, where: str, *, found: str, wanted: str) -> None:
        super().__init__(f"{where}: found {found}; expected {wanted}")
        self.where, self.found, self.wanted = where, found, wanted

    def inside(self, outer: str) -> "InputError":
        """The same complaint with the place that contains it put in front."""
        return InputError(f"{outer}: {self.where}", found=self.found, wanted=self.wanted)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put `where` in front of the place that an InputError from inside names."""
    try:
        yield
    except InputError as error:
        raise error.inside(where) from None


class BrokenPromiseError(NumaplaceError):
    """An invariant of ours does not hold: a defect in numaplace, never the user's doing."""
