"""Devices, amounts and counts in few letters, for tables and the map."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from numaplace.model.allocation import Allocation
from numaplace.model.ids import NumaId, PciAddress

_NUMBERED = re.compile(r"(.*?)(\d+)")


def short_pcis(addresses: Iterable[PciAddress]) -> str:
    """PCI addresses without what all of them share: the domain 0000 and the function 0."""
    return " ".join(address.removeprefix("0000:").removesuffix(".0") for address in addresses)


def short_names(names: Iterable[str]) -> str:
    """`mlx5_0-3 mlx5_7` for names that count up."""
    return " ".join(map(_run_text, _runs([_split(name) for name in names])))


def short_numas(ids: Sequence[NumaId]) -> str:
    """`0` or `0,1`."""
    return ",".join(map(str, ids))


def share(part: int, whole: int) -> str:
    """`93.4 %`; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def clock(seconds: float) -> str:
    """Hours, minutes and seconds: `10:00:05`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def age(seconds: float) -> str:
    """As kubectl writes ages: `12s`, `4m10s`, `3h5m`, `12d`."""
    whole = max(0, int(seconds))
    for unit_s, unit, part_s, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= unit_s:
            rest = whole % unit_s // part_s
            return f"{whole // unit_s}{unit}{f'{rest}{part}' if rest and whole < 10 * unit_s else ''}"
    return f"{whole}s"


def cpus_text(allocation: Allocation) -> str:
    """The Pod's own CPUs; what it shares in words."""
    own = allocation.cpus
    milli = sum(charge.shared_cpu_milli for charge in allocation.charges)
    return str(own) if own else f"{milli / 1000:g} shared" if milli else "shared"


def _split(name: str) -> tuple[str, int | None]:
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match and str(int(match[2])) == match[2] else (name, None)


def _runs(parts: list[tuple[str, int | None]]) -> list[list[tuple[str, int | None]]]:
    ordered = sorted(parts, key=lambda part: (part[0], -1 if part[1] is None else part[1]))

    def run_of(entry: tuple[int, tuple[str, int | None]]) -> tuple[str, int | None]:
        place, (stem, number) = entry
        return (stem, None if number is None else number - place)

    return [[part for _, part in run] for _, run in groupby(enumerate(ordered), key=run_of)]


def _run_text(run: list[tuple[str, int | None]]) -> str:
    (stem, first), (_, last) = run[0], run[-1]
    if first is None or last is None:
        return stem
    return f"{stem}{first}" if first == last else f"{stem}{first}-{last}"
