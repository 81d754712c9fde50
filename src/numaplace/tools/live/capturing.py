"""A cluster written down object by object, as the pages of its lists arrive."""

import asyncio
import time
from collections.abc import Callable

from numaplace.adapters.kube import Access, DeniedError, Key, Kube, Resource
from numaplace.adapters.kube.resources import NODES, PODS, REPORTS
from numaplace.decide.discover import without_identifiers
from numaplace.model.settings import Settings
from numaplace.tools.live.ours import Ours
from numaplace.tools.live.reading import LOOKED_UP, list_all
from numaplace.tools.live.spool import Spool
from numaplace.tools.live.told import Word, word_of_planner
from numaplace.wire.cluster import ClusterObjects, Thing, kind_of, line_of, rank_of
from numaplace.wire.cluster_names import without_names
from numaplace.wire.nodes import NodeObject, ReportObject
from numaplace.wire.pod_object import PodObject

_IN_TURN: tuple[tuple[Resource, type[Thing]], ...] = ((NODES, NodeObject), (REPORTS, ReportObject), (PODS, PodObject))


class Capture:
    """What has been written down so far, and what could not be read."""

    def __init__(self, spool: Spool, settle: Callable[[Word], Settings], *, only_ours: bool = False) -> None:
        self.spool, self.problems, self.at_s, self.told = spool, list[str](), 0.0, ""
        self.settings = Settings()
        self._settle, self._only_ours = settle, only_ours
        self._ours: Ours | None = None

    def _begin(self, word: Word) -> None:
        """How the planner is set up is known: so is what matters to it."""
        self.told, self.settings = word.text, self._settle(word)
        self._ours = Ours(self.settings) if self._only_ours else None

    def take(self, thing: Thing) -> None:
        """One more object."""
        if self._ours is None or self._ours.keeps(thing):
            self.spool.add(kind_of(thing), line_of(thing), rank_of(thing))

    def take_all(self, objects: ClusterObjects) -> None:
        """Those of another capture."""
        self._begin(Word(objects.told))
        for thing in objects.all():
            self.take(thing)
        self.at_s, self.problems = objects.at_s, [*objects.problems]

    def list(self, access: Access, lease: Key) -> None:
        """Those of a cluster; KubeError says what the API server has against it."""
        asyncio.run(self._list(access, lease))
        self.at_s = time.time()

    async def _list(self, access: Access, lease: Key) -> None:
        """One kind after the other: whether a Pod matters is known when the nodes are."""
        async with Kube(access) as kube:
            self._begin(await word_of_planner(kube, lease))
            for resource, kind in _IN_TURN:
                await self._list_kind(kube, resource, kind)
            try:
                for resource, kind in LOOKED_UP:
                    await self._list_kind(kube, resource, kind)
            except DeniedError:  # who may not see all of it is told of none
                self.spool.drop([resource.kind for resource, _ in LOOKED_UP])

    async def _list_kind(self, kube: Kube, resource: Resource, kind: type[Thing]) -> None:
        def again() -> None:
            self.spool.drop([resource.kind])

        self.problems += await list_all(kube, resource, kind, take=self.take, again=again)


def take_names_out(named: Spool, nameless: Spool, settings: Settings) -> Callable[[str], str]:
    """Write the lines of one spool into another under new names; what is said takes identifiers out of each."""
    for number, line in enumerate(without_names(lambda: named, settings)):
        nameless.add("", line.encode(), (f"{number:09}",))
    return without_identifiers(nameless)
