"""What goes wrong in the rounds of trouble, while a step of one Pod is held.

A trouble may let the step go in the midst of it; what is held when it is over goes on
then, late, or is lost.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from numaplace.adapters.kube import Key
from numaplace.adapters.kube.fake import Answer, DropRequest, LoseAnswer, Stall
from numaplace.adapters.kube.resources import NODES, PODS, REPORTS
from numaplace.model import keys
from tests.cluster.cast import HERE, PROCESS, Cast
from tests.cluster.control_plane import API_SERVER, SCHEDULER
from tests.cluster.faulty_proxy import Moment, Trap
from tests.cluster.stage import gone
from tests.services.planner.reader import allocation_of, pin_of

LIES = (
    Answer(409, "Conflict"),
    Answer(410, "Expired"),
    Answer(429, "TooManyRequests", retry_after_s=1),
    Answer(500, "InternalError"),
    Answer(503, "ServiceUnavailable"),
    LoseAnswer(),
    DropRequest(),
)
TAINT = {"key": "trouble", "effect": "NoExecute"}
TOLERATION = {"key": "trouble", "operator": "Exists"}


@dataclass(slots=True)
class Strike:
    """Where trouble strikes: what the trap caught, if anything, and whose step that was (else any Pod's)."""

    trap: Trap
    victim: str
    pods: dict[str, dict[str, Any]]  # those of the round, as they were asked for
    ask: Callable[[], Awaitable[None]]  # for those that come in the midst of it, and go before the others
    lost: set[str] = field(default_factory=set)  # those that trouble took away for good
    _asked: bool = False

    async def more_come(self) -> None:
        """A planner that leads now decides otherwise than one before it, whose writes may still be on their way."""
        if not self._asked:
            self._asked = True
            await self.ask()


async def planner_is_killed(cast: Cast, strike: Strike) -> None:
    cast.process.kill()
    await strike.more_come()
    await asyncio.sleep(cast.draw.choice((0.0, 1.0, 4.0)) * cast.draw.random())  # too short for another leader, or not
    cast.process.start()


async def planner_hangs(cast: Cast, strike: Strike) -> None:
    """Longer than its Lease is good, as a rule: it wakes up and believes to lead for a moment."""
    cast.process.running.send_signal(signal.SIGSTOP)
    await strike.more_come()
    await asyncio.sleep(1 + 4 * cast.draw.random())
    cast.process.running.send_signal(signal.SIGCONT)


async def planner_is_told_to_end(cast: Cast, strike: Strike) -> None:
    await asyncio.to_thread(cast.process.end)
    await strike.more_come()
    cast.process.start()


async def planner_is_cut_off(cast: Cast, strike: Strike) -> None:
    """Neither answer nor error from the API server for longer than the Lease is good: another one leads."""
    proxy = cast.proxies[await cast.leader() or PROCESS]
    proxy.fail(Stall(), times=1000)
    proxy.cut_watches()
    await strike.more_come()
    await asyncio.sleep(1 + 4 * cast.draw.random())
    cast.tell_the_truth()


async def scheduler_is_killed(cast: Cast, _: Strike) -> None:
    cast.plane.kill(SCHEDULER)
    await asyncio.sleep(cast.draw.random())
    await cast.plane.start(SCHEDULER)


async def asking_scheduler_is_killed(cast: Cast, _: Strike) -> None:
    await cast.asking.restart(cast.draw.random())


async def api_server_is_killed(cast: Cast, _: Strike) -> None:
    cast.plane.kill(API_SERVER)
    await cast.plane.start(API_SERVER)


async def api_server_lies(cast: Cast, strike: Strike) -> None:
    """About this step, and about the next ones of its kind."""
    lie = LoseAnswer() if strike.trap.moment is Moment.AFTER else cast.draw.choice(LIES)
    for proxy in cast.proxies.values():
        for _ in range(cast.draw.randrange(4)):
            path = cast.draw.choice(("/pods/", "/status", "/binding", "/events", "/leases", "/pods"))
            method = cast.draw.choice(("PATCH", "PATCH", "GET", "POST", "PUT"))
            proxy.fail(cast.draw.choice(LIES), method, path, cast.draw.randrange(1, 4))
    strike.trap.let_go(lie)
    await asyncio.sleep(3 * cast.draw.random())
    cast.tell_the_truth()


async def watches_are_cut(cast: Cast, _: Strike) -> None:
    """And what comes next may be refused: a version that is forgotten is listed anew."""
    for proxy in cast.proxies.values():
        if cast.draw.random() < 0.5:
            proxy.fail(cast.draw.choice(LIES[1:5]), "GET", cast.draw.choice(("/pods", "/nodes", "")), 2)
        proxy.cut_watches()
    await asyncio.sleep(cast.draw.random())
    cast.tell_the_truth()


async def clock_jumps(cast: Cast, _: Strike) -> None:
    cast.clock_error_s = cast.draw.choice((-3600.0, -30.0, 0.0, 30.0, 3600.0))


async def pod_is_deleted(cast: Cast, strike: Strike) -> None:
    """For good, or another of its name comes at once."""
    await gone(cast.stage.admin, PODS, Key(cast.stage.space, strike.victim), grace_s=0)
    if strike.victim in strike.pods and cast.draw.random() < 0.5:
        await cast.stage.add(strike.pods[strike.victim])
    else:
        strike.lost.add(strike.victim)


async def node_is_deleted(cast: Cast, strike: Strike) -> None:
    """With all that is promised there, and comes back as another of its name."""
    name = await _node_of(cast, strike)
    await gone(cast.stage.admin, NODES, Key("", name))
    await asyncio.sleep(cast.draw.random())
    strike.trap.let_go()
    await asyncio.sleep(2 * cast.draw.random())
    await cast.nodes.create(name)


async def node_is_tainted(cast: Cast, strike: Strike) -> None:
    """So that kube-controller-manager evicts the owned Pods there, which do not tolerate it."""
    name = await _node_of(cast, strike)
    await cast.stage.change_node(name, {"spec": {"taints": [TAINT]}})
    await asyncio.sleep(cast.draw.random())
    strike.trap.let_go()
    await asyncio.sleep(2 * cast.draw.random())
    await cast.stage.change_node(name, {"spec": {"taints": None}})


async def node_loses_cards(cast: Cast, strike: Strike) -> None:
    """Those that the Pod was promised, or as many of any; they come back."""
    name = await _node_of(cast, strike)
    machine = cast.nodes.machines[name].topology
    cards = _cards_in(strike.trap.caught) or ([machine.gpus[i].pci for i in (0, 5)] if machine else [])
    cast.nodes.broken[name] = set(cards)
    await _reported(cast, name, cards)
    strike.trap.let_go()
    await asyncio.sleep(2 * cast.draw.random())
    del cast.nodes.broken[name]


async def _reported(cast: Cast, name: str, cards: list[str]) -> None:
    """Return when the report of the node has these cards no more."""
    left = {*cards}
    while left & {*cards}:
        cast.check()
        await asyncio.sleep(0.05)
        report = msgspec.json.decode(await cast.stage.admin.get(REPORTS, name))
        (text,) = (one["value"] for one in report["attributes"] if one["name"] == keys.TOPOLOGY)
        left = {gpu["pci"] for gpu in msgspec.json.decode(text)["gpus"]}


async def _node_of(cast: Cast, strike: Strike) -> str:
    """The node to which the Pod that was caught goes, or any."""
    caught = b"" if strike.trap.caught is None else strike.trap.caught[1]
    said = [name for name in cast.nodes.machines if name.encode() in caught]
    if len(said) == 1:
        return said[0]
    pods = [pod for pod in await cast.stage.pods() if pod["metadata"]["name"] == strike.victim]
    known = [
        name for pod in pods for name in (pod["spec"].get("nodeName"), pin_of(pod), allocation_of(pod).get("node"))
    ]
    return next(filter(None, known), "") or cast.draw.choice([*cast.nodes.machines])


def _cards_in(caught: tuple[str, bytes] | None) -> list[str]:
    """The PCI addresses that a patch or a Binding names."""
    try:
        body: Any = msgspec.json.decode(b"" if caught is None else caught[1])
        shares = allocation_of(body)["containers"].values()
    except (msgspec.DecodeError, KeyError, TypeError):
        return []
    return [gpu["pci"] for share in shares for gpu in share.get("gpus", ())]


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens, and which planner is to lead then ("": whichever does).

    With rivals a planner may lose the lead while it writes: then two Pods may be sent to
    the same things, and one of them gets others.
    """

    act: Callable[[Cast, Strike], Awaitable[None]]
    leader: str = ""
    rivals: bool = False

    @property
    def name(self) -> str:
        return self.act.__name__.replace("_", " ")


TROUBLES = (
    Trouble(planner_is_killed, PROCESS, rivals=True),
    Trouble(planner_hangs, PROCESS, rivals=True),
    Trouble(planner_is_told_to_end, PROCESS, rivals=True),
    Trouble(planner_is_cut_off, rivals=True),
    Trouble(scheduler_is_killed),
    Trouble(asking_scheduler_is_killed),
    Trouble(api_server_is_killed, rivals=True),
    Trouble(api_server_lies, rivals=True),
    Trouble(watches_are_cut),
    Trouble(clock_jumps, HERE),
    Trouble(pod_is_deleted),
    Trouble(node_is_deleted),
    Trouble(node_is_tainted),
    Trouble(node_loses_cards),
)
