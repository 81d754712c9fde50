"""A trace blown up until it asks for more GPUs than there are: how openb's own experiments load a cluster.

The protocol (Weng et al., "Beware of Fragmentation", USENIX ATC 2023): Pods in an order
shuffled by a seed, then drawn again at random until the GPUs they ask reach a ratio of
the cluster's. They arrive one by one and stay.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from numaplace.model.errors import InputError
from numaplace.model.ids import PodUid
from numaplace.wire.trace import TracedPod

GpusOf = Callable[[TracedPod], int]


def inflate(pods: Sequence[TracedPod], gpus_of: GpusOf, *, gpus: int, ratio: float, seed: int) -> tuple[TracedPod, ...]:
    """The Pods with GPUs, one a second, until the next would ask more than `ratio` × `gpus` together.

    Fewer than the trace has where these alone ask more: Pods are dropped at random then.
    InputError when no Pod asks a GPU.
    """
    chooser = random.Random(seed)
    base = sorted((one for one in pods if gpus_of(one)), key=lambda one: one.pod.full_name)
    if not base:
        raise InputError("--inflate", found="no Pod that asks a GPU", wanted="a trace with such Pods")
    limit = ratio * gpus
    chosen = list(base)
    chooser.shuffle(chosen)
    asked = sum(map(gpus_of, chosen))
    while asked > limit and chosen:
        asked -= gpus_of(chosen.pop(chooser.randrange(len(chosen))))
    more = chooser.choice(base)
    while asked + gpus_of(more) <= limit:
        chosen.append(_again(more, len(chosen)))
        asked += gpus_of(more)
        more = chooser.choice(base)
    return tuple(replace(one, arrives_s=float(second), leaves_s=None) for second, one in enumerate(chosen))


def _again(one: TracedPod, number: int) -> TracedPod:
    name = f"{one.pod.name}-again-{number}"
    return replace(one, pod=replace(one.pod, name=name, uid=PodUid(f"{one.pod.namespace}/{name}")))
