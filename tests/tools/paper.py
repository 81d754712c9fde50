"""Small worlds on paper for the tests of tools: a nodes file and a trace as text, and what a run makes of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from numaplace.model.cluster import ClusterState
from numaplace.model.settings import Settings
from numaplace.tools.report.outcome import Landing, Outcome
from numaplace.tools.report.totals import Totals, totals_of
from numaplace.tools.sim.arrivals import Arrival, intake_of
from numaplace.tools.sim.cluster import cluster_of, nodes_of
from numaplace.tools.sim.contenders import contender
from numaplace.tools.sim.play import play
from numaplace.wire.node_groups import decode_groups
from numaplace.wire.trace import Wishes, decode_trace

SMALL = "2pkg 32cpu 64GiB 4gpu 4hca pix"  # 16 CPUs, 2 GPUs and 2 HCAs in each of two NUMA nodes
ENABLED = "labels: {ack.node.gpu.schedule: topology}"


def cluster(text: str, settings: Settings = Settings()) -> ClusterState:
    """The nodes of a nodes file's text."""
    return cluster_of(node for group in decode_groups(text, "nodes.yaml") for node in nodes_of(group, settings))


def small_cluster(count: int = 1, machine: str = SMALL, more: str = ENABLED) -> ClusterState:
    """`count` enabled nodes n-1, n-2, … of one machine."""
    return cluster(f"nodes:\n- {{name: n-#, count: {count}, machine: {machine}, {more}}}")


def arrivals(*rows: str, settings: Settings = Settings()) -> tuple[Arrival, ...]:
    """Pods from rows of our own trace format; the first row names the columns."""
    trace = decode_trace("\n".join(rows), "pods.csv", Wishes(), settings)
    intake = intake_of(((one.pod, one.arrives_s, one.leaves_s) for one in trace.pods), settings)
    assert intake.invalid == (), intake.invalid[0].refusal.sentence
    return intake.arrivals


def run(
    state: ClusterState, pods: Iterable[Arrival], name: str = "numaplace", settings: Settings = Settings()
) -> Outcome:
    """Play the Pods on the nodes in one way of placing."""
    return play(pods, contender(name, state, settings, seed=1))


def places(outcome: Outcome) -> dict[str, str]:
    """Pod names to node names, of all that landed."""
    return {one.request.name: one.node for one in outcome.landings}


def only_landing(outcome: Outcome) -> Landing:
    """The one Pod that landed."""
    (landing,) = outcome.landings
    return landing


@dataclass(frozen=True, slots=True)
class Counted:
    """An outcome with its totals."""

    outcome: Outcome
    totals: Totals


def counted(outcome: Outcome, settings: Settings = Settings()) -> Counted:
    """The outcome and its totals."""
    return Counted(outcome, totals_of(outcome, settings))
