"""One ask held against one room: candidates, their keys, and the best of one width.

Called by `choose`, width after width. The parts of the key that the numas alone settle
sort the candidates; devices are searched only for those that tie at the front.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.devices import NO_DEVICES, Devices, Offer, best_devices, nearest_hca
from numaplace.decide.place.room import Room
from numaplace.decide.place.sets import UnitSet, fewest, numa_sets, unit_sets
from numaplace.decide.place.share import split
from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import UNKNOWN, Layout, homed, joined
from numaplace.model.proximity import Level
from numaplace.model.request import CpuRule


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate taken and the parts of its key."""

    width: int  # units; their number + 1 for BestEffort's fallback
    unknown: int  # devices of unknown numa, in the fallback
    marks: int  # marks violated
    distance: int  # Σ SLIT over pairs of units
    memory_short: int  # bytes
    units: int  # mask
    numas: int  # mask: the units' numas, or the fewest inside them that serve
    devices: Devices
    fallback: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """Units under trial and the numas inside them that would serve."""

    order: tuple[int, int, int, int]  # marks violated, numas used, distance, memory short
    units: int
    numas: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One ask held against one room."""

    room: Room
    ask: Ask
    cpu_gain: tuple[int, ...]  # exclusive CPUs that each numa can give under the CPU rule
    gpus_at: tuple[int, ...]  # GPUs of each numa that may be chosen
    hcas_at: tuple[int, ...]

    @classmethod
    def of(cls, room: Room, ask: Ask, *, trusting: bool = False) -> "Trial":
        """Work out once what each numa could give."""
        layout = room.layout
        homes = [(i, UNKNOWN) if trusting else (i,) for i in range(len(layout.numas))]
        gpus = _allowed_gpus(room, ask)
        return cls(
            room,
            ask,
            _cpu_gain(room, ask),
            tuple(gpus & homed(layout.gpu_home, there) for there in homes),
            tuple(room.hcas & homed(layout.hca_home, there) for there in homes),
        )

    def best_of_width(self, width: int) -> Choice | None:
        """The best feasible candidate of exactly this many units."""
        candidates = sorted(self._candidates(width), key=lambda c: c.order)
        for _, tied in groupby(candidates, key=lambda c: c.order):
            keyed = [(self._key(c, devices), c, devices) for c in tied if (devices := self._devices(c.numas))]
            if keyed:
                _, candidate, devices = min(keyed, key=lambda one: one[0])
                return self._choice(width, candidate, devices)
        return None

    def fits_width(self, width: int) -> bool:
        """Whether any candidate of exactly this many units is feasible."""
        return any(self._devices(candidate.numas) is not None for candidate in self._candidates(width))

    def fallback(self) -> Choice | None:
        """All placeable numas and, where the known devices do not suffice, those of unknown numa."""
        layout = self.room.layout
        width = len(layout.units)
        if not width or not self._serves(tuple(CpuSet(layout.all_numas)), fallback=True):
            return None
        devices = best_devices(layout, self._offer(_allowed_gpus(self.room, self.ask), self.room.hcas))
        if devices is None:
            return None
        (everything,) = unit_sets(layout, width, 0)
        return self._choice(width + 1, self._candidate(everything, everything.numas), devices, fallback=True)

    def _candidates(self, width: int) -> Iterator[Candidate]:
        layout = self.room.layout
        barred = 0 if not self.ask.exclusive else self.room.wide if width == 1 else self.room.single
        by_numa = len(layout.units) == len(layout.numas)
        for tried in unit_sets(layout, width, self._useful()):
            if tried.units & barred:
                continue
            for option, inside in ((tried.numas, tried.members),) if by_numa else numa_sets(tried):
                if self._serves(inside):
                    yield self._candidate(tried, option)

    def _useful(self) -> int:
        """The units that have anything of what is asked."""
        ask, layout = self.ask, self.room.layout
        gives = [
            (self.cpu_gain[i] and ask.cpus) or (self.gpus_at[i] and ask.gpus) or (self.hcas_at[i] and ask.hcas)
            for i in range(len(layout.numas))
        ]
        nothing_counted = not (ask.cpus or ask.gpus or ask.hcas)
        return layout.units_of(sum(1 << i for i, give in enumerate(gives) if give or nothing_counted))

    def least_possible_width(self) -> int:
        """No narrower candidate has enough CPUs, GPUs and HCAs; one more than there are units if none has."""
        units = [tuple(CpuSet(unit)) for unit in self.room.layout.units]
        needs = (
            (self.ask.cpus, [sum(self.cpu_gain[i] for i in unit) for unit in units]),
            (self.ask.gpus, [joined(self.gpus_at[i] for i in unit).bit_count() for unit in units]),
            (self.ask.hcas, [joined(self.hcas_at[i] for i in unit).bit_count() for unit in units]),
        )
        return max(1, *(fewest(need, offers) for need, offers in needs))

    def _candidate(self, tried: UnitSet, numas: int) -> Candidate:
        ask, room = self.ask, self.room
        barred = room.wide if tried.units.bit_count() == 1 else room.single
        marks = (tried.units & barred).bit_count() if ask.counts_marks else 0
        free = sum(room.memory[i] for i in tried.members) if ask.memory_bytes else 0
        short = max(0, ask.memory_bytes - free)
        return Candidate((marks, numas.bit_count(), tried.distance, short), tried.units, numas)

    def _serves(self, members: tuple[int, ...], *, fallback: bool = False) -> bool:
        """Whether these numas have enough of all that is counted (in the fallback: but for devices and confinement)."""
        ask, room = self.ask, self.room
        if ask.cpus and sum(self.cpu_gain[i] for i in members) < ask.cpus:
            return False
        if ask.binds_memory and sum(room.memory[i] for i in members) < ask.memory_bytes:
            return False
        if ask.hugepages and not self._has_pages(members):
            return False
        return fallback or (self._has_devices(members) and self._can_confine(members))

    def _has_devices(self, members: tuple[int, ...]) -> bool:
        ask = self.ask
        gpus = joined(self.gpus_at[i] for i in members).bit_count() if ask.gpus else 0
        hcas = joined(self.hcas_at[i] for i in members).bit_count() if ask.hcas else 0
        return gpus >= ask.gpus and hcas >= ask.hcas

    def _has_pages(self, members: tuple[int, ...]) -> bool:
        free = {size: counts for (size, _), counts in zip(self.room.layout.pages, self.room.pages, strict=True)}
        none = (0,) * len(self.room.layout.numas)
        return all(sum(free.get(h.page_bytes, none)[i] for i in members) >= h.pages for h in self.ask.hugepages)

    def _can_confine(self, members: tuple[int, ...]) -> bool:
        room = self.room
        if not self.ask.confined_milli:
            return True
        shares = confined_shares(room.layout, self.ask.confined_milli, members)
        return all(
            1000 * room.cpus[i].bit_count() >= room.confined_milli[i] + share
            for i, share in zip(members, shares, strict=True)
        )

    def _devices(self, numas: int) -> Devices | None:
        if not self.ask.gpus and not self.ask.hcas:
            return NO_DEVICES
        gpus, hcas = (joined(at[i] for i in CpuSet(numas)) for at in (self.gpus_at, self.hcas_at))
        return best_devices(self.room.layout, self._offer(gpus, hcas))

    def _offer(self, gpus: int, hcas: int) -> Offer:
        ask, room = self.ask, self.room
        wants_gpus = ask.gpus > 0
        return Offer(
            gpus=gpus if wants_gpus else 0,
            free_gpus=room.gpus if wants_gpus else 0,
            gpu_count=ask.gpus,
            hcas=hcas if ask.hcas else room.healthy_hcas if ask.shared_hcas and wants_gpus else 0,
            hca_count=ask.hcas,
            limit=ask.limit,
        )

    def _key(self, candidate: Candidate, devices: Devices) -> tuple[object, ...]:
        """The parts of the key after the candidate's own order, up to the last tie-break."""
        layout = self.room.layout
        units = tuple(CpuSet(candidate.units))
        whole = tuple(CpuSet(sum(layout.units[u] for u in units)))
        gpus_left = (self.room.gpus & homed(layout.gpu_home, whole)).bit_count()
        cpus_left = self._cpus_left(whole, tuple(CpuSet(candidate.numas)))
        return (devices.cost, gpus_left, cpus_left, units, devices.gpus, devices.hcas, tuple(CpuSet(candidate.numas)))

    def _cpus_left(self, numas: tuple[int, ...], members: tuple[int, ...]) -> int:
        """CPUs of `numas` that neither owners nor confined Pods need, the new confined Pod included; owned ones not."""
        room = self.room
        new = dict(zip(members, confined_shares(room.layout, self.ask.confined_milli, members), strict=True))
        return sum(room.cpus[i].bit_count() + -(room.confined_milli[i] + new.get(i, 0)) // 1000 for i in numas)

    def _choice(self, width: int, candidate: Candidate, devices: Devices, *, fallback: bool = False) -> Choice:
        marks, _, distance, memory_short = candidate.order
        return Choice(
            width=width,
            unknown=devices.unknown,
            marks=marks,
            distance=distance,
            memory_short=memory_short,
            units=candidate.units,
            numas=candidate.numas,
            devices=devices,
            fallback=fallback,
        )


def confined_shares(layout: Layout, milli: int, members: tuple[int, ...]) -> tuple[int, ...]:
    """A confined Pod's milli-CPUs over its numas, in proportion to their usable CPUs."""
    return split(milli, [layout.cpus[i].bit_count() for i in members])


def _cpu_gain(room: Room, ask: Ask) -> tuple[int, ...]:
    gives = room.gives
    if ask.cpu_rule is not CpuRule.FULL_CORES_ONLY or not ask.cpus:
        return gives
    threads = room.layout.threads
    if any(count % threads for count in ask.cpu_counts):
        return (0,) * len(gives)
    return tuple(threads * (min(room.whole_core_cpus(i), give) // threads) for i, give in enumerate(gives))


def _allowed_gpus(room: Room, ask: Ask) -> int:
    """Free GPUs, without those that no HCA in question reaches within the limit."""
    if not ask.gpus or ask.limit is Level.SYS or not (ask.shared_hcas or ask.hcas):
        return room.gpus
    hcas = room.healthy_hcas if ask.shared_hcas else room.hcas
    near = {g: nearest_hca(room.layout, g, hcas) for g in CpuSet(room.gpus)}
    return sum(1 << g for g, level in near.items() if level is not None and level <= ask.limit)
