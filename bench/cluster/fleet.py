"""The nodes of the bench: machines of one model or of twenty, each with device ids of its own."""

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from numaplace.decide.place import Placement, place_on
from numaplace.model.cluster import Holder, NodeState
from numaplace.model.errors import BrokenPromiseError
from numaplace.model.ids import GpuUuid
from numaplace.model.settings import Settings
from tests.cluster.nodes import alike, described

# Twenty models of 192 CPUs.
MODELS = (
    *(f"2pkg 192cpu {memory}TiB {gpus}gpu {hcas}hca pix{net}" for memory in (1, 2) for gpus in (4, 8)
      for hcas in (4, 8) for net in ("", " nvswitch")),
    *(f"{packages}pkg {numas}numa 192cpu 1TiB 8gpu 8hca pix" for packages in (2, 4) for numas in (4, 8)),
)  # fmt: skip


def fleet(count: int) -> list[NodeState]:
    """Nodes of one model."""
    return list(_named(alike(count)))


def mixed_fleet(count: int) -> list[NodeState]:
    """Nodes of twenty models, as many of each."""
    settings = Settings()
    labels = {settings.enable_label: settings.enable_value}
    groups = [
        {"name": f"m{number:02d}-####", "count": -(-count // len(MODELS)), "machine": model, "labels": labels}
        for number, model in enumerate(MODELS)
    ]
    return list(_named(described(msgspec.json.encode({"nodes": groups}).decode())))[:count]


def booked(node: NodeState, requests: Iterable[Holder]) -> Iterator[Placement]:
    """Places for these Pods on one node, one after the other."""
    for one in requests:
        placement = place_on(node, one.request)
        if not isinstance(placement, Placement):
            raise BrokenPromiseError(f"the bench has no room for {one.request.full_name}: {placement.sentence}")
        yield placement
        node = node.holding(replace(one, allocation=placement.allocation))


def _named(nodes: Iterable[NodeState]) -> Iterator[NodeState]:
    for node in nodes:
        if node.topology is not None:
            gpus = tuple(replace(gpu, uuid=GpuUuid(f"GPU-{uuid.uuid4()}")) for gpu in node.topology.gpus)
            yield replace(node, topology=replace(node.topology, gpus=gpus))
