"""CpuSet: a set of CPU numbers, kept as one integer bitmask.

Used wherever the kernel would print a cpulist ("0-3,8"). Set algebra on whole
machines is a few machine words wide, so sparse ids up to the thousands are cheap.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from numaplace.model.errors import InputError

MAX_CPU_ID = 65_535  # far above the kernel's NR_CPUS (8192); keeps an absurd list from eating memory

_PART = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?", re.ASCII)
_MASK = re.compile(r"[0-9a-fA-F]{1,8}(?:,[0-9a-fA-F]{1,8})*")
_MASK_WORD_BITS = 32


@dataclass(frozen=True, slots=True, order=True)
class CpuSet:
    """An immutable set of CPU numbers; bit n of `bits` is CPU n."""

    bits: int = 0

    @classmethod
    def of(cls, cpus: Iterable[int]) -> "CpuSet":
        """The set of the given CPU numbers, each 0..65535."""
        bits = 0
        for cpu in cpus:
            bits |= 1 << _checked(cpu)
        return cls(bits)

    @classmethod
    def parse(cls, text: str) -> "CpuSet":
        """Read the kernel's list format: `0-3,8,10-11`; empty text is the empty set.

        InputError names the first part that is not a number or a rising range.
        """
        bits = 0
        for part in filter(None, (piece.strip() for piece in text.strip().split(","))):
            match = _PART.fullmatch(part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if first > last or last > MAX_CPU_ID:
                raise InputError(
                    "CPU list",
                    found=repr(part[:40]),
                    wanted=f"numbers and rising ranges up to {MAX_CPU_ID}, like 0-3,8",
                )
            bits |= (1 << (last + 1)) - (1 << first)
        return cls(bits)

    @classmethod
    def parse_mask(cls, text: str) -> "CpuSet":
        """Read the kernel's mask format: 32-bit words in hex, highest first, `3,0000000f`.

        InputError on anything else, also on empty text: the kernel prints a zero for no CPU.
        """
        if _MASK.fullmatch(text) is None or text.count(",") >= (MAX_CPU_ID + 1) // _MASK_WORD_BITS:
            raise InputError("CPU mask", found=repr(text[:40]), wanted="32-bit words in hex, like 3,0000000f")
        bits = 0
        for word in text.split(","):
            bits = bits << _MASK_WORD_BITS | int(word, 16)
        return cls(bits)

    def __str__(self) -> str:
        """The kernel's list format, ranges as short as possible; empty text for no CPU."""
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges())

    def __repr__(self) -> str:
        return f"CpuSet({str(self)!r})"

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Runs of neighbouring CPUs as (first, last), rising."""
        bits, offset = self.bits, 0
        while bits:
            skip = (bits & -bits).bit_length() - 1
            run = ((bits >> skip) + 1 & ~(bits >> skip)).bit_length() - 1
            yield offset + skip, offset + skip + run - 1
            bits >>= skip + run
            offset += skip + run

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            low = bits & -bits
            yield low.bit_length() - 1
            bits ^= low

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    def __contains__(self, cpu: int) -> bool:
        return cpu >= 0 and bool(self.bits >> cpu & 1)

    def __or__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet(self.bits | other.bits)

    def __and__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet(self.bits & other.bits)

    def __sub__(self, other: "CpuSet") -> "CpuSet":
        return CpuSet(self.bits & ~other.bits)

    def issubset(self, other: "CpuSet") -> bool:
        """True when every CPU of this set is in `other`."""
        return not self.bits & ~other.bits

    def isdisjoint(self, other: "CpuSet") -> bool:
        """True when the two sets share no CPU."""
        return not self.bits & other.bits

    def first(self) -> int:
        """The lowest CPU number; ValueError on the empty set."""
        if not self.bits:
            raise ValueError("an empty CpuSet has no first CPU")
        return (self.bits & -self.bits).bit_length() - 1


def union(sets: Iterable[CpuSet]) -> CpuSet:
    """Every CPU that is in any of `sets`."""
    bits = 0
    for one in sets:
        bits |= one.bits
    return CpuSet(bits)


def _checked(cpu: int) -> int:
    if 0 <= cpu <= MAX_CPU_ID:
        return cpu
    raise InputError("CPU number", found=str(cpu), wanted=f"0..{MAX_CPU_ID}")
