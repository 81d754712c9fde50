"""Rules on what containers ask: CPUs to own, whole cards, HCAs, pages and memory.

Each function yields a sentence per fault; none means the rule is kept.
docs/reference/pod-rules.md lists them for people.
"""

from collections.abc import Iterator

from numaplace.decide.admit.wishes import Wishes
from numaplace.model.pod import Container, Pod
from numaplace.model.request import ContainerKind, MemoryMode
from numaplace.model.rules import CPU, HUGEPAGES, MEMORY
from numaplace.model.settings import Settings

_UNIT_BYTES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_INJECTORS = {  # containers that admission of others adds, by their usual names
    "istio-proxy": "Istio",
    "linkerd-proxy": "Linkerd",
    "consul-dataplane": "Consul",
    "vault-agent": "the Vault agent injector",
    "daprd": "Dapr",
    "queue-proxy": "Knative",
    "cloud-sql-proxy": "the Cloud SQL proxy operator",
    "gke-gcsfuse-sidecar": "the GCS FUSE driver",
}


def page_bytes_of(resource: str) -> int | None:
    """The page size that a hugepages resource names, like 2097152 for hugepages-2Mi; None if it names none."""
    digits, unit = resource.removeprefix(HUGEPAGES)[:-2], resource[-2:]
    legal = digits.isascii() and digits.isdigit() and len(digits) <= 6 and unit in _UNIT_BYTES
    return (int(digits) * _UNIT_BYTES[unit] or None) if legal else None


def owns_cpus(container: Container, settings: Settings) -> bool:
    """Whether a container of an exclusive Pod gets CPUs of its own."""
    return container.kind is not ContainerKind.INIT and container.name not in settings.sharing_containers


def exclusive_cpu_faults(pod: Pod, settings: Settings) -> Iterator[str]:
    """Exclusive CPUs: whole, at least one, requests equal to limits, not to be resized in place."""
    owners = [container for container in pod.containers if owns_cpus(container, settings)]
    if not owners:
        yield "exclusive CPUs: found only containers that share by the operator's choice; expected one that owns CPUs"
    for container in owners:
        limit, request = container.limits_milli.get(CPU), container.request_milli(CPU)
        if limit is None or limit < 1000 or limit % 1000:
            found = "nothing" if limit is None else _amount(limit)
            yield (
                f"container {container.name}: limits.cpu: found {found}; expected a whole number of CPUs, at least 1, "
                f"since exclusive CPUs are asked{_injected(container)}"
            )
        elif request != limit:
            yield (
                f"container {container.name}: requests.cpu: found {_amount(request)}; expected {_amount(limit)}, "
                f"the same as limits.cpu{_injected(container)}"
            )
        if container.name in pod.resizable_cpu:
            yield (
                f"container {container.name}: resizePolicy: found one for cpu; expected none, since exclusive CPUs "
                "cannot be resized in place yet"
            )


def _injected(container: Container) -> str:
    injector = _INJECTORS.get(container.name)
    if injector is None:
        return ""
    return f" (this container usually comes from {injector}; the operator may list it among the sharing containers)"


def amount_faults(pod: Pod) -> Iterator[str]:
    """Extended resources and hugepages, of any Pod: whole, requests equal to limits, whole pages."""
    for container in pod.containers:
        for resource in sorted({*container.requests_milli, *container.limits_milli}):
            if resource.startswith(HUGEPAGES) or ("/" in resource and "kubernetes.io/" not in resource):
                yield from _amount_fault(container, resource)


def _amount_fault(container: Container, resource: str) -> Iterator[str]:
    at = f"container {container.name}: limits[{resource[:80]}]"
    limit, request = container.limits_milli.get(resource), container.request_milli(resource)
    if limit is None or limit != request:
        found = "nothing" if limit is None else _amount(limit)
        yield f"{at}: found {found}; expected {_amount(request)}, the same as requests"
    elif limit % 1000:
        yield f"{at}: found {_amount(limit)}; expected a whole number"
    elif resource.startswith(HUGEPAGES):
        page_bytes = page_bytes_of(resource)
        if page_bytes is None:
            yield f"{at}: found an unknown page size; expected a name like hugepages-2Mi or hugepages-1Gi"
        elif limit // 1000 % page_bytes:
            yield f"{at}: found {_amount(limit)} bytes; expected a multiple of {page_bytes} bytes"


def foreign_gpu_faults(pod: Pod, settings: Settings) -> Iterator[str]:
    """A placement by name takes whole cards of our own resource only."""
    for container in pod.containers:
        for resource in sorted({*container.requests_milli, *container.limits_milli}):
            if container.request_milli(resource) and is_foreign_gpu(resource, settings):
                yield (
                    f"container {container.name}: limits[{resource[:80]}]: found {resource[:80]} beside a placement "
                    f"key; expected whole cards as {settings.gpu_resource}"
                )


def is_foreign_gpu(resource: str, settings: Settings) -> bool:
    """Whether a resource is a card of another plugin, or a part of any (nvidia.com/gpu.shared, nvidia.com/mig-…)."""
    return resource != settings.gpu_resource and any(
        resource == card or resource.startswith((f"{card}.", f"{card.partition('/')[0]}/mig-"))
        for card in (settings.gpu_resource, *settings.foreign_gpu_resources)
    )


def hca_faults(pod: Pod, settings: Settings) -> Iterator[str]:
    """RDMA of the host needs the host's network, unless Pods may do RDMA from their own address."""
    asking = [one.name for one in pod.containers if one.request_milli(settings.hca_resource)]
    if asking and not pod.host_network and not settings.pod_ip_rdma:
        yield (
            f"spec.hostNetwork: found false while container {asking[0]} asks {settings.hca_resource}; expected true "
            "(RDMA from the Pod's own address is switched off)"
        )


def memory_faults(pod: Pod, wishes: Wishes) -> Iterator[str]:
    """Memory that is bound must be told beforehand, by every container."""
    if wishes.memory is MemoryMode.BIND:
        for container in pod.containers:
            if not container.request_milli(MEMORY):
                yield (
                    f"container {container.name}: requests.memory: found nothing; expected an amount, since the Pod "
                    "binds its memory"
                )


def _amount(milli: int) -> str:
    """Thousandths as Kubernetes writes them: 2, 1500m."""
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"
