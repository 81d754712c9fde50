"""Random Pods of every kind that numaplace places, as admission would see them; one seed, one list."""

import random
from typing import Any

from numaplace.model import keys
from tests.objects import container, pod_object, sidecar

# Sockets cut in two, 2 GPUs and 2 HCAs in each of 4 NUMA nodes; another kind with hugepages and fewer cards.
NODES = """
nodes:
- name: cut-#
  count: 2
  machine: 2pkg 4numa 64cpu 512GiB 8gpu 8hca pix
  reserved: 0,32
  labels: {ack.node.gpu.schedule: topology, kind: cut}
- name: paged-#
  count: 2
  machine: 2pkg 2numa 32cpu 256GiB 4gpu 2hca 4096x2MiB
  labels: {ack.node.gpu.schedule: topology, kind: paged}
"""
CLASSES = {"test-high": 1000, "test-low": -10}
POLICIES = ("SingleNUMANode", "SingleNUMANode", "Restricted", "BestEffort", "")
LEVELS = ("PIX", "PXB", "PHB", "NODE")


def random_pods(seed: int, count: int, space: str) -> list[dict[str, Any]]:
    """Pods p00, p01, …: about twice what NODES can hold, so some of every kind wait."""
    draw = random.Random(seed)
    return [_pod(draw, f"p{number:02}", space) for number in range(count)]


def _pod(draw: random.Random, name: str, space: str) -> dict[str, Any]:
    gpus = draw.choice((0, 0, 1, 1, 2, 2, 3, 4))
    cpus = draw.choice((1, 2, 3, 4, 6, 8, 12))
    annotations = _annotations(draw, gpus)
    limits: dict[str, Any] = {"cpu": str(cpus), "memory": f"{draw.choice((1, 4, 16))}Gi"}
    if gpus:
        limits["aliyun.com/gpu"] = str(gpus)
    spec: dict[str, Any] = {}
    if draw.random() < 0.4:
        limits["rdma/hca"] = str(draw.choice((1, 2)))
        spec["hostNetwork"] = True
        if gpus and draw.random() < 0.5:
            annotations[keys.GPU_HCA] = draw.choice(LEVELS)
    if draw.random() < 0.2:
        limits["hugepages-2Mi"] = f"{draw.choice((256, 1024, 3072))}Mi"
    if draw.random() < 0.3:
        spec["priorityClassName"] = draw.choice(tuple(CLASSES))
    if draw.random() < 0.2:
        spec["nodeSelector"] = {"kind": draw.choice(("cut", "paged"))}
    init = [container("fetch", {"cpu": "2", "memory": "1Gi"}, image="none")] if draw.random() < 0.2 else []
    if draw.random() < 0.2:
        init.append(sidecar("proxy", {"cpu": "1", "memory": "1Gi"}) | {"image": "none"})
    pod = pod_object(
        container("main", limits, image="none"), init=tuple(init), annotations=annotations, name=name, **spec
    )
    pod["metadata"]["namespace"] = space
    return pod


def _annotations(draw: random.Random, gpus: int) -> dict[str, str]:
    """Wishes that may stand together; without any, a Pod is ours by its GPUs."""
    policy = draw.choice(POLICIES)
    said: dict[str, str] = {}
    if policy:
        said[keys.POLICY] = policy
        said[keys.EXCLUSIVE] = draw.choice(("Required", "Preferred", "Preferred"))
    if draw.random() < 0.7 or not (policy or gpus):
        said[keys.CPUSET_SCHEDULER] = "required"
        said[keys.CPU_RULE] = draw.choice(("full-cores", "full-cores", "spread", "full-cores-only"))
    if said and draw.random() < 0.2:
        said[keys.MEMORY] = draw.choice(("bind", "off"))
    return said
