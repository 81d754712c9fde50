"""What a Pod says that numaplace does not act on: sentences for the person who wrote it.

A warning never stops a Pod; admission, the command line and the simulator show them.
"""

from collections.abc import Iterator

from numaplace.decide.admit.wishes import read_wishes
from numaplace.model import keys
from numaplace.model.live_pod import pin_of
from numaplace.model.pod import Pod

_FOREIGN = (  # Koordinator's keys that ask for a placement in words we do not read
    "scheduling.koordinator.sh/resource-spec",
    "scheduling.koordinator.sh/device-allocate-hint",
    "scheduling.koordinator.sh/device-joint-allocate",
    "scheduling.koordinator.sh/gpu-partition-spec",
)


def warnings(pod: Pod) -> tuple[str, ...]:
    """One sentence for each key or field that has no effect here."""
    return tuple(f"Pod {pod.full_name}: {sentence}" for sentence in (*_key_warnings(pod), *_rule_warnings(pod)))


def _key_warnings(pod: Pod) -> Iterator[str]:
    for key in sorted(pod.annotations):
        if key.startswith(keys.OWN_PREFIX) and key not in keys.OWN_KEYS:
            yield f"annotation {key[:80]} is not known to numaplace and has no effect"
        if key in _FOREIGN:
            yield f"annotation {key} is not read by numaplace"
    if keys.ALLOCATION in pod.annotations and not (pod.node_name or pod.hint or pin_of(pod.rules)):
        yield f"annotation {keys.ALLOCATION} is the planner's own; a written one is ignored"
    if pod.annotations.get(keys.GATE, "off") != "off":
        yield f"annotation {keys.GATE} has no effect with this value; only off has a meaning"
    wishes, _ = read_wishes(pod)
    if wishes.cpu_rule is not None and not wishes.exclusive_cpus:
        yield f"annotation {keys.CPU_RULE} has no effect without exclusive CPUs ({keys.CPUSET_SCHEDULER}: required)"


def _rule_warnings(pod: Pod) -> Iterator[str]:
    for demand in pod.unjudged:
        yield f"{demand}: left to the scheduler and not judged here"
