"""Sets of devices to try, cut by symmetry where two devices cannot be told apart.

Two devices are alike when exchanging them changes nothing but their names: same home,
same groups, same level to everything else. Of alike devices the first ones by name
win every tie, so only those sets are tried; `test_symmetry` compares with all sets.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeVar

from numaplace.model.devices import Gpu, Hca
from tests.oracle.world import World, name_of

Device = TypeVar("Device", Gpu, Hca)


def sets_of(world: World, devices: Sequence[Device], size: int) -> Iterator[tuple[Device, ...]]:
    """Every set of `size` of the devices that can be the best one, members by name."""
    ordered = sorted(devices, key=name_of)
    return iter(combinations(ordered, size)) if len(ordered) <= world.cut_above else _cut(world, ordered, size)


def _cut(world: World, devices: Sequence[Device], size: int) -> Iterator[tuple[Device, ...]]:
    """The same, `devices` by name, with sets left out that equal another but for names."""
    classes: list[list[Device]] = []
    for device in devices:
        alike = next((some for some in classes if _alike(world, some[0], device)), None)
        if alike is None:
            classes.append([device])
        else:
            alike.append(device)
    for counts in _ways([len(some) for some in classes], size):
        chosen = [device for some, count in zip(classes, counts, strict=True) for device in some[:count]]
        yield tuple(sorted(chosen, key=name_of))


def _ways(limits: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    if not limits:
        return iter([()] if total == 0 else [])
    first = range(max(0, total - sum(limits[1:])), min(limits[0], total) + 1)
    return ((count, *rest) for count in first for rest in _ways(limits[1:], total - count))


def _alike(world: World, a: Gpu | Hca, b: Gpu | Hca) -> bool:
    if world.homes[name_of(a)] != world.homes[name_of(b)]:
        return False
    if any((name_of(a) in group) != (name_of(b) in group) for group in world.groups):
        return False
    everything: list[Gpu | Hca] = [*world.topology.gpus, *world.topology.hcas]
    others = [device for device in everything if device not in (a, b)]
    return all(world.level(a, d) == world.level(b, d) for d in others)
