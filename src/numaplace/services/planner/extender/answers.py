"""The extender face's answers: kube-scheduler asks where a Pod may go, and has us bind it.

The plan is made before the scheduler asks; here it is confirmed. A Pod that comes
without one is planned here, out of its turn (`places`). What is no matter of ours is given
back as it came.
"""

import asyncio
import logging
from collections.abc import Callable

from numaplace.adapters.kube import Key, Kube, KubeError, bind
from numaplace.model import keys
from numaplace.model.allocation import Allocation
from numaplace.model.errors import NumaplaceError
from numaplace.model.ids import PodUid
from numaplace.model.live_pod import LivePod
from numaplace.model.refusal import Code, Refusal
from numaplace.model.request import PodRequest
from numaplace.services.planner.extender.places import Places
from numaplace.services.planner.keeper import Keeper
from numaplace.wire import allocation as allocation_wire
from numaplace.wire import extender_v1 as wire
from numaplace.wire.live_pod import live_pod_of

_LOG = logging.getLogger(__name__)

ELSEWHERE = "numaplace: another node is planned for this Pod"
LATER = "numaplace: this Pod is planned again"
_KNOWN_S = 0.25  # how long our watch may be behind the scheduler's before it is told to come again
_LOOK_S = 0.005


def refused_text(code: Code) -> str:
    """What the scheduler is told of a refusal: never a number or a name, since a new text is a new attempt."""
    return f"numaplace: {code}, see the condition {keys.PLANNED} of the Pod"


class NotNowError(NumaplaceError):
    """The question cannot be answered now; the scheduler comes again after a pause of its own."""


class NotLeadingError(NotNowError):
    """Another planner could answer."""


class Extender:
    """One verb a method: the body of a question in, the body of the answer and its kind (a metric's label) out.

    `places` are None while another planner leads.
    """

    def __init__(self, keeper: Keeper, places: Callable[[], Places | None], kube: Kube) -> None:
        self._keeper, self._places, self._kube = keeper, places, kube

    # --- the verbs

    async def filter(self, body: bytes) -> tuple[bytes, str]:
        """The planned node, and nobody else."""
        asked = wire.decode_args(body)
        pod = self._known(asked.uid) or self._read(asked)
        if not self._is_ours(pod):
            return wire.everyone(asked), "passed"
        pod, places = await self._booked(pod.uid, pod.full_name)
        names = wire.names_of(asked)
        answer = places.answer(pod)
        if isinstance(answer, Allocation) and answer.node not in names:
            if asked.hint == answer.node:  # it looked at that node before it asked
                answer = places.failed(pod, answer.node, names)
            else:
                places.planner.hint(pod, answer)
        if isinstance(answer, Allocation):
            chosen = answer.node if answer.node in names else None
            return wire.only(asked, chosen, names, ELSEWHERE), "hinted" if chosen is None else "confirmed"
        if answer is None:
            return wire.only(asked, None, names, LATER), "later"
        return wire.only(asked, None, names, refused_text(answer.code)), "refused"

    async def prioritize(self, body: bytes) -> tuple[bytes, str]:
        """The planned node first; all are alike for Pods that are not ours."""
        asked = wire.decode_args(body)
        promised = self._keeper.promised(asked.uid)
        if promised is None or promised.node not in wire.names_of(asked):
            return wire.scores(None), "passed"
        return wire.scores(promised.node), "confirmed"

    async def preempt(self, body: bytes) -> tuple[bytes, str]:
        """Nobody goes for a Pod of ours: its place was planned without preemption (a later step plans victims here)."""
        asked = wire.decode_preemption(body)
        pod = self._known(asked.uid) or self._read(asked)
        if not self._is_ours(pod):
            return wire.all_victims(asked), "passed"
        return wire.no_victims(), "refused"

    async def bind(self, body: bytes) -> tuple[bytes, str]:
        """Put the Pod on its node together with its allocation; doing it twice is doing it once."""
        asked = wire.decode_binding(body)
        pod, places = await self._booked(asked.uid, f"{asked.namespace}/{asked.name}")
        annotations = {}
        if pod.node is None and (isinstance(pod.asks, Refusal) or pod.asks.is_planned):
            place = places.move(pod, asked.node)
            if isinstance(place, Refusal):
                return wire.failed(f"numaplace: {place.code}: {place.sentence}"), "refused"
            annotations = {keys.ALLOCATION: allocation_wire.encode(place)}
        key = Key(asked.namespace, asked.name)
        try:
            await bind(self._kube, key, uid=asked.uid, node=asked.node, annotations=annotations)
        except KubeError as error:
            _LOG.warning("a Pod was not bound", extra={"pod": "/".join(key), "error": str(error)})
            return wire.failed(f"numaplace: the Pod was not bound: {error}"), "failed"
        return wire.failed(""), "bound"

    # --- whose Pod it is

    def _known(self, uid: PodUid) -> LivePod | None:
        return self._keeper.pods.get(uid)

    def _read(self, asked: wire.Asked | wire.PreemptionAsked) -> LivePod:
        """A Pod that our watch has not told of yet, as the scheduler knows it."""
        return live_pod_of(wire.pod_of(asked), self._keeper.settings)

    def _is_ours(self, pod: LivePod) -> bool:
        """Whether we choose its node; NotNowError for a Pod whose scheduler we were not told of."""
        if isinstance(pod.asks, PodRequest) and pod.asks.asks_cards and not pod.asked:
            raise NotNowError(
                f"Pod {pod.full_name} asks for cards, but its scheduler is none of those that `numaplace planner` was"
                f" told to answer ({', '.join(self._keeper.settings.extender_for)}): see --extender-for"
            )
        return isinstance(pod.asks, Refusal) or pod.asked

    async def _booked(self, uid: PodUid, full_name: str) -> tuple[LivePod, Places]:
        """The Pod in our own book, once it is there; NotNowError when that takes too long, or no book is kept."""
        try:
            async with asyncio.timeout(_KNOWN_S):
                while True:
                    places, pod = self._places(), self._known(uid)
                    if places is None:  # from the beginning, or its term ended while we waited
                        raise NotLeadingError("this planner has not listed the cluster yet, or leads no more")
                    if pod is not None:
                        return pod, places
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            raise NotNowError(f"Pod {full_name} with UID {uid} is not known, or not yet") from None


def broken(error: NumaplaceError) -> bytes:
    """The answer to a question that is wrong, or comes at the wrong time."""
    return wire.failed(f"numaplace: {error}")
