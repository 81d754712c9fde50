"""Pod and node objects as the API would show them, with only what a test is about written out."""

from collections.abc import Mapping
from typing import Any

from numaplace.decide.admit import check
from numaplace.model.pod import Pod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.settings import Settings
from numaplace.wire.pod import decode

Amounts = Mapping[str, object]
OURS = {"cpuset-scheduler": "required", "numaplace.dev/policy": "SingleNUMANode"}


def container(name: str = "main", limits: Amounts | None = None, **more: object) -> dict[str, Any]:
    """A container whose requests equal its limits, unless `requests` is given."""
    resources = {"limits": limits or {}, "requests": more.pop("requests", limits or {})}
    return {"name": name, "resources": resources, **more}


def sidecar(name: str, limits: Amounts) -> dict[str, Any]:
    """A restartable init container."""
    return container(name, limits, restartPolicy="Always")


def pod_object(
    *containers: dict[str, Any],
    init: tuple[dict[str, Any], ...] = (),
    annotations: Mapping[str, object] | None = None,
    labels: Mapping[str, str] | None = None,
    name: str = "p",
    namespace: str = "ns",
    **spec: object,
) -> dict[str, Any]:
    """A Pod object; further keywords are fields of its spec."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": dict(annotations or {}),
            "labels": dict(labels or {}),
        },
        "spec": {"initContainers": list(init), "containers": list(containers or [container()]), **spec},
    }


def a_pod(*containers: dict[str, Any], **more: Any) -> Pod:
    """The decoded Pod of `pod_object`."""
    return decode(pod_object(*containers, **more), "pod.yaml")


def admitted(*containers: dict[str, Any], settings: Settings = Settings(), **more: Any) -> PodRequest:
    """What a Pod asks; the test fails if it is refused."""
    answer = check(a_pod(*containers, **more), settings)
    assert isinstance(answer, PodRequest), answer
    return answer


def refused(*containers: dict[str, Any], settings: Settings = Settings(), **more: Any) -> str:
    """The sentence that refuses a Pod; the test fails if it is let in."""
    answer = check(a_pod(*containers, **more), settings)
    assert isinstance(answer, Refusal), answer
    assert answer.code is Code.SPEC_INVALID
    return answer.sentence
