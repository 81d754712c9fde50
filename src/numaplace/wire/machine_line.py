"""The one-line form of a described machine: `2pkg 4numa 96cpu 8gpu 8hca pix`.

One row of `WORDS` is one word of the language: its pattern, an example and what it
changes in the Shape. docs/reference/machine-description.md explains them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from numaplace.decide.discover.describe_shape import CPUS_A_NUMA, Numbering, Shape
from numaplace.model.errors import InputError
from numaplace.model.proximity import Level
from numaplace.model.topology import HugepagePool
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.strict import shown

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
NVSWITCH_LINKS = 18  # NVLinks of one H100, all of which reach every other GPU through the switches

_SIZE = r"(\d{1,9})([KMGT]iB)"
_AMD_CORES_A_LLC = 8  # Zen 3 and later: eight cores share one L3
_LIMITS = {"packages": 64, "numas": 1024, "cpus": 8192, "p_cores": 512, "e_cores": 512, "gpus": 128, "hcas": 128}
_MOST_BYTES = 1 << 60

Change = Callable[[Shape, "re.Match[str]"], dict[str, Any]]  # fields of the Shape that become different


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the language; `about` may be said once in a line."""

    about: str
    pattern: str
    example: str
    change: Change


def parse_line(text: str, where: str = "machine") -> Shape:
    """Read the words of a line, in any order, into a Shape; InputError names the word and the legal ones."""
    said: dict[str, re.Match[str]] = {}
    for word in text.split():
        row, match = _row_of(word, where)
        if row.about in said:
            wanted = f"one word about {row.about}"
            raise InputError(where, found=f"{said[row.about][0]!r} and {word!r}", wanted=wanted)
        said[row.about] = match
    if not said:
        raise InputError(where, found="no word", wanted=f"words like {examples()}")
    shape = Shape()
    for row in WORDS:  # in the order of the table: later words build on earlier ones
        if row.about in said and row.pattern == said[row.about].re.pattern:
            shape = replace(shape, **row.change(shape, said[row.about]))
            _refuse_too_many(shape, said[row.about][0], where)
    if (shape.p_cores or shape.e_cores) and said.keys() & {"CPUs", "threads", "order of CPUs"}:
        raise InputError(where, found="pcore or ecore beside cpu, smt or an order of CPUs", wanted="one or the other")
    return shape


def parse_size(text: str, where: str) -> int:
    """Bytes in a size such as 512GiB; InputError otherwise."""
    match = re.fullmatch(_SIZE, text.strip())
    if match is None:
        raise InputError(where, found=shown(text), wanted=f"a number and one of {', '.join(UNITS)}, like 512GiB")
    return int(match[1]) * UNITS[match[2]]


def examples() -> str:
    """One example of every word, in the order of the table."""
    return " ".join(row.example for row in WORDS)


def _row_of(word: str, where: str) -> tuple[Word, "re.Match[str]"]:
    for row in WORDS:
        match = re.fullmatch(row.pattern, word)
        if match is not None:
            return row, match
    raise InputError(where, found=shown(word), wanted=f"one of {examples()}, or alone {' '.join(KNOWN)}")


def _refuse_too_many(shape: Shape, word: str, where: str) -> None:
    for name, most in _LIMITS.items():
        if (getattr(shape, name) or 0) > most:
            raise InputError(where, found=repr(word), wanted=f"at most {most} {name.replace('_', ' ')}")


def _number(field: str) -> Change:
    return lambda _, match: {field: int(match[1])}


def _always(**fields: object) -> Change:
    return lambda _, __: dict(fields)


def _numas_a_package(shape: Shape, match: "re.Match[str]") -> dict[str, Any]:
    return {"numas": shape.packages * int(match[1])}


def _amd(shape: Shape, _: "re.Match[str]") -> dict[str, Any]:
    numas = shape.numas or shape.packages
    cores = (shape.cpus or CPUS_A_NUMA * numas) // (shape.threads or 2) // numas
    return {"near": 12, "far": 32, "llcs_a_numa": max(1, cores // _AMD_CORES_A_LLC)}


def _bytes(_: Shape, match: "re.Match[str]") -> dict[str, Any]:
    return {"memory_bytes": min(_MOST_BYTES, int(match[1]) * UNITS[match[2]])}


def _pages(_: Shape, match: "re.Match[str]") -> dict[str, Any]:
    pages = int(match[1])
    return {"hugepages": (HugepagePool(int(match[2]) * UNITS[match[3]], pages, pages),)}


def _distances(_: Shape, match: "re.Match[str]") -> dict[str, Any]:
    return {"near": int(match[1]), "far": int(match[2])}


def _links(_: Shape, match: "re.Match[str]") -> dict[str, Any]:
    return {"links": int(match[1] or NVSWITCH_LINKS)}


def _roce(shape: Shape, _: "re.Match[str]") -> dict[str, Any]:
    return {"port": replace(shape.port, link_layer="Ethernet")}


def _speed(shape: Shape, match: "re.Match[str]") -> dict[str, Any]:
    return {"port": replace(shape.port, link_gbps=float(match[1]))}


WORDS: tuple[Word, ...] = (
    Word("packages", r"([1-9]\d{0,3})pkg", "2pkg", _number("packages")),
    Word("numas", r"([1-9]\d{0,3})numa", "4numa", _number("numas")),
    Word("numas", r"(?:nps|snc)([1-9]\d?)", "nps4", _numas_a_package),
    Word("CPUs", r"([1-9]\d{0,4})cpu", "96cpu", _number("cpus")),
    Word("threads", r"smt([1-8])", "smt2", _number("threads")),
    Word("order of CPUs", "siblings-last", "siblings-last", _always(numbering=Numbering.SIBLINGS_LAST)),
    Word("order of CPUs", "paired", "paired", _always(numbering=Numbering.PAIRED)),
    Word("order of CPUs", "alternating", "alternating", _always(numbering=Numbering.ALTERNATING)),
    Word("fast cores", r"([1-9]\d{0,3})pcore", "6pcore", _number("p_cores")),
    Word("slow cores", r"([1-9]\d{0,3})ecore", "8ecore", _number("e_cores")),
    Word("maker", "intel", "intel", _always(near=12, far=21)),
    Word("maker", "amd", "amd", _amd),
    Word("caches", r"([1-9]\d{0,2})llc", "2llc", _number("llcs_a_numa")),
    Word("distances", r"distance(\d{2,3})/(\d{2,3})", "distance12/32", _distances),
    Word("memory", _SIZE, "2TiB", _bytes),
    Word("hugepages", r"(\d{1,9})x([1-9]\d{0,3})([KMG]iB)", "1024x2MiB", _pages),
    Word("GPUs", r"(\d{1,4})gpu", "8gpu", _number("gpus")),
    Word("HCAs", r"(\d{1,4})hca", "8hca", _number("hcas")),
    Word("nearness", "pix", "pix", _always(level=Level.PIX)),
    Word("nearness", "pxb", "pxb", _always(level=Level.PXB)),
    Word("nearness", "phb", "phb", _always(level=Level.PHB)),
    Word("nearness", "node", "node", _always(level=Level.NODE)),
    Word("links", r"nvswitch(\d{0,2})", "nvswitch", _links),
    Word("link layer", "roce", "roce", _roce),
    Word("speed", r"([1-9]\d{0,3})gbps", "400gbps", _speed),
    Word("what devices tell", "numa-unknown", "numa-unknown", _always(numa_told=False)),
)
