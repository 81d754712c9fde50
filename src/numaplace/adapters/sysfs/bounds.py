"""How much of a root is looked at before it is taken for an attack or a mistake."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1_048_576


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one reading; a capture of 4096 CPUs stays below a quarter of each."""

    names: int = 2_000_000  # in all folders together
    files: int = 400_000  # that are read
    kept_bytes: int = 128 * MIB  # in all files that are read
    members: int = 1_000_000  # of an archive
    unpacked_bytes: int = 1024 * MIB  # of an archive, headers included
    depth: int = 40  # of folders in an archive


DEFAULT_BOUNDS = Bounds()
