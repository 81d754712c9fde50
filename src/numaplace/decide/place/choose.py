"""The best candidate on one node: which numas, which GPUs, which HCAs.

Exact under the key of the contract (docs/explanation/how-it-decides.md): candidates
are tried by width, sorted by the parts of the key that the numas alone settle, and
the devices are searched only for those that tie at the front.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, groupby

from numaplace.decide.place.ask import Ask
from numaplace.decide.place.devices import NO_DEVICES, Devices, Offer, best_devices, nearest_hca
from numaplace.decide.place.room import Room, empty_room
from numaplace.decide.place.share import split
from numaplace.model.cpuset import CpuSet
from numaplace.model.layout import UNKNOWN, Layout
from numaplace.model.proximity import Level
from numaplace.model.request import CpuRule, Policy


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


def choose(room: Room, ask: Ask, *, trusting: bool = False) -> Choice | None:
    """The best choice for `ask` in `room`, or None if there is none.

    `trusting` counts devices of unknown numa to every numa; only refusals ask that way.
    """
    if not node_allows(room, ask):
        return None
    trial = Trial.of(room, ask, trusting=trusting)
    least = trial.least_possible_width()
    for width in _widths(room.layout, ask, trusting=trusting):
        choice = trial.best_of_width(width) if width >= least else None
        if choice is not None:
            return choice
    return None if ask.aligns else trial.fallback()


def node_allows(room: Room, ask: Ask) -> bool:
    """What is judged on the whole node: the shared pool, and that there is an HCA to share."""
    return pool_allows(room, ask) and not (ask.shared_hcas and not room.healthy_hcas)


def pool_allows(room: Room, ask: Ask) -> bool:
    """The node-level rule: the shared pool keeps what floating and confined Pods were promised."""
    if ask.cpus and ask.cpus > room.pool_cpus:
        return False
    return 1000 * ask.cpus + ask.confined_milli + ask.floating_milli <= room.pool_milli


def _widths(layout: Layout, ask: Ask, *, trusting: bool) -> tuple[int, ...]:
    if ask.policy is Policy.SINGLE_NUMA_NODE:
        return (1,) if layout.units else ()
    if ask.policy is Policy.RESTRICTED:
        width = least_width(layout, ask, trusting=trusting)
        return () if width is None else (width,)
    return tuple(range(1, len(layout.units) + 1))


@lru_cache(maxsize=1 << 14)
def least_width(layout: Layout, ask: Ask, *, trusting: bool = False) -> int | None:
    """The least width at which `ask` fits the node when it is empty and healthy; None: never."""
    room = empty_room(layout)
    if not node_allows(room, ask):
        return None
    trial = Trial.of(room, ask, trusting=trusting)
    widths = range(trial.least_possible_width(), len(layout.units) + 1)
    return next((width for width in widths if trial.best_of_width(width) is not None), None)


@lru_cache(maxsize=1 << 12)
def unit_sets(layout: Layout, width: int) -> tuple[tuple[int, int, tuple[int, ...], int], ...]:
    """All sets of `width` units: (mask of units, mask of numas, numas, Σ SLIT distance over pairs)."""
    sets = []
    for members in combinations(range(len(layout.units)), width):
        distance = sum(layout.unit_distance[a][b] for a, b in combinations(members, 2))
        numas = sum(layout.units[u] for u in members)
        sets.append((sum(1 << u for u in members), numas, tuple(CpuSet(numas)), distance))
    return tuple(sets)


@dataclass(frozen=True, slots=True)
class _Candidate:
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

    def fallback(self) -> Choice | None:
        """All placeable numas and, where the known devices do not suffice, those of unknown numa."""
        layout = self.room.layout
        width = len(layout.units)
        if not width or not self._serves(tuple(CpuSet(layout.all_numas)), fallback=True):
            return None
        devices = best_devices(layout, self._offer(_allowed_gpus(self.room, self.ask), self.room.hcas))
        if devices is None:
            return None
        ((units, numas, _, distance),) = unit_sets(layout, width)
        return self._choice(width + 1, self._candidate(units, numas, distance), devices, fallback=True)

    def _candidates(self, width: int) -> Iterator[_Candidate]:
        layout = self.room.layout
        barred = 0 if not self.ask.exclusive else self.room.wide if width == 1 else self.room.single
        by_numa = len(layout.units) == len(layout.numas)
        for units, numas, members, distance in unit_sets(layout, width):
            if units & barred:
                continue
            for option, inside in ((numas, members),) if by_numa else _subsets(members):
                if self._serves(inside):
                    yield self._candidate(units, option, distance)

    def least_possible_width(self) -> int:
        """No narrower candidate has enough CPUs, GPUs and HCAs; one more than there are units if none has."""
        units = [tuple(CpuSet(unit)) for unit in self.room.layout.units]
        needs = (
            (self.ask.cpus, [sum(self.cpu_gain[i] for i in unit) for unit in units]),
            (self.ask.gpus, [union(self.gpus_at, unit).bit_count() for unit in units]),
            (self.ask.hcas, [union(self.hcas_at, unit).bit_count() for unit in units]),
        )
        return max(1, *(_fewest(need, offers) for need, offers in needs))

    def _candidate(self, units: int, numas: int, distance: int) -> _Candidate:
        layout, ask, room = self.room.layout, self.ask, self.room
        barred = room.wide if units.bit_count() == 1 else room.single
        marks = (units & barred).bit_count() if ask.counts_marks else 0
        whole = sum(layout.units[u] for u in CpuSet(units))
        free = sum(room.memory[i] for i in CpuSet(whole)) if ask.memory_bytes else 0
        return _Candidate((marks, numas.bit_count(), distance, max(0, ask.memory_bytes - free)), units, numas)

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
        gpus = union(self.gpus_at, members).bit_count() if ask.gpus else 0
        hcas = union(self.hcas_at, members).bit_count() if ask.hcas else 0
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
        members = tuple(CpuSet(numas))
        return best_devices(
            self.room.layout,
            self._offer(union(self.gpus_at, members), union(self.hcas_at, members)),
        )

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

    def _key(self, candidate: _Candidate, devices: Devices) -> tuple[object, ...]:
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

    def _choice(self, width: int, candidate: _Candidate, devices: Devices, *, fallback: bool = False) -> Choice:
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


@lru_cache(maxsize=1 << 14)
def homed(homes: tuple[int, ...], numas: tuple[int, ...]) -> int:
    """The devices whose home is one of `numas`."""
    return sum(1 << i for i, home in enumerate(homes) if home in numas)


def union(masks: tuple[int, ...], members: tuple[int, ...]) -> int:
    """The devices of all these numas together."""
    result = 0
    for i in members:
        result |= masks[i]
    return result


def _subsets(members: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every non-empty subset as a mask and as positions."""
    for count in range(1, len(members) + 1):
        for inside in combinations(members, count):
            yield sum(1 << i for i in inside), inside


def _fewest(need: int, offers: list[int]) -> int:
    """How many of the largest offers it takes to meet `need`."""
    count, left = 0, need
    for offer in sorted(offers, reverse=True):
        if left <= 0:
            break
        left -= offer
        count += 1
    return count if left <= 0 else len(offers) + 1
