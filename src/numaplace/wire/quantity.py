"""Kubernetes quantities ("500m", "64Gi", "2e0") as exact whole numbers.

Everything that reads resources of Pods and nodes comes through here. Thousandths
are the finest step the scheduler knows, so that is what the integers count.
"""

import re
from functools import lru_cache

from numaplace.model.errors import InputError

BINARY_UNITS: dict[str, int] = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", start=1)}
LARGEST = 2**63 - 1  # units; the API caps greater amounts to this (apimachinery resource.Quantity)

_QUANTITY = re.compile(
    r"\+?(?=\.?[0-9])(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,9}))?"
)
_TENS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_LONGEST = 100  # characters; a longer text is no amount anyone means
_FAR = 200  # powers of ten beyond which an amount is the cap, or the smallest step


def parse_quantity(text: object, where: str) -> int:
    """The amount in thousandths of a unit, exact; finer parts are rounded up, as the API server does.

    `text` is what stands in the manifest: a string, or a number that YAML made of
    it. InputError names `where` on anything else and on negative amounts.
    """
    milli = None
    if isinstance(text, str | int | float) and not isinstance(text, bool):
        milli = _milli(_written(text))
    if milli is None:
        raise InputError(where, found=_shown(text), wanted="an amount like 2, 500m, 1.5, 64Gi or 2e3")
    return milli


def binary_text(amount: int) -> str:
    """A whole amount above 0 under the largest binary unit that divides it: 2Mi, 1Gi, 500."""
    for unit, size in reversed(BINARY_UNITS.items()):
        if amount % size == 0:
            return f"{amount // size}{unit}"
    return str(amount)


@lru_cache(4096)  # the same few amounts come again with every Pod
def _milli(text: str) -> int | None:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    whole, part = match["whole"], match["part"] or ""
    mantissa = int(whole + part or "0")
    exponent = int(match["exponent"] or _TENS.get(match["suffix"], 0)) - len(part) + 3
    return _scaled(mantissa * BINARY_UNITS.get(match["suffix"], 1), exponent)


def _scaled(mantissa: int, exponent: int) -> int:
    """Mantissa × 10^exponent, rounded up and capped."""
    if mantissa == 0:
        return 0
    exponent = max(-_FAR, min(_FAR, exponent))
    power: int = 10 ** abs(exponent)
    exact = mantissa * power if exponent >= 0 else -(-mantissa // power)
    return min(exact, LARGEST * 1000)


def _written(value: str | int | float) -> str:
    """A number as JSON would write it; an absurdly long one as something that is no amount."""
    if isinstance(value, int):
        return str(value) if value.bit_length() < 128 else "too long"
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else "too long"


def _shown(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() >= 128:
        return "a number of more than 38 digits"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
