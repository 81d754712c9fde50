"""Rule: the ports that the Pod takes on the node are free there."""

from collections.abc import Iterable

from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.model.rules import HostPort, NodeRules

_ALL = HostPort(0).ip


def refuse(request: PodRequest, node: NodeRules, others: Iterable[PodRequest]) -> Refusal | None:
    """NODE_RULE naming the first port that another Pod on the node has."""
    if not request.rules.ports:
        return None
    for other in others:
        for port in request.rules.ports:
            if any(_clash(port, taken) for taken in other.rules.ports):
                sentence = f"host port {port.port}/{port.protocol}; Pod {other.full_name} on the node has it"
                return Refusal(Code.NODE_RULE, sentence, node.name)
    return None


def _clash(one: HostPort, other: HostPort) -> bool:
    same = (one.port, one.protocol) == (other.port, other.protocol)
    return same and (one.ip == other.ip or _ALL in (one.ip, other.ip))
