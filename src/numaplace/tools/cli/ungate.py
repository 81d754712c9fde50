"""`numaplace ungate`: takes our gate from Pods by hand, so that the scheduler has them without a plan.

For emergencies, and for the day numaplace leaves a cluster: the chart's pre-delete
hook runs it. Needs the RBAC verb `lift` (docs/reference/admission.md).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from time import monotonic

import click
import msgspec

from numaplace.adapters.kube import Access, ConflictError, Key, Kube, NotFoundError, strategic
from numaplace.adapters.kube.resources import GATE_BINDINGS, PODS
from numaplace.model import keys
from numaplace.model.errors import InputError
from numaplace.model.ids import PodUid
from numaplace.model.live_pod import foreign_gates
from numaplace.tools.cli.access import access_options
from numaplace.wire import live_pod as wire
from numaplace.wire.pod_object import PodObject

GATE_POLICY = "numaplace-gate"  # the chart's name for the policy that sets the gate, and for its binding
_AT_ONCE = 16
_LOOK_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class _Gated:
    """A Pod that waits at our gate."""

    key: Key
    uid: PodUid
    others: tuple[str, ...]  # the other gates that it waits at


@click.command()
@click.argument("pods", nargs=-1, metavar="[POD]...")
@click.option("-n", "--namespace", help="Their namespace; without names, all Pods in it.")
@click.option("--all", "everywhere", is_flag=True, help="All Pods of the cluster.")
@click.option("--dry-run", is_flag=True, help="Say which Pods are meant and change nothing.")
@click.option(
    "--for-good",
    is_flag=True,
    help="Delete what puts the gate on new Pods first, and go on until none comes any more; with --all.",
)
@click.option(
    "--settle",
    type=click.FloatRange(1, 3600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="With --for-good: how long no Pod may come with the gate before this ends.",
)
@access_options
def ungate(
    access: Access,
    pods: tuple[str, ...],
    namespace: str | None,
    everywhere: bool,
    dry_run: bool,
    for_good: bool,
    settle: float,
) -> None:
    """Take the gate numaplace.dev/plan from Pods: the scheduler then places them without a plan.

    A Pod that was ungated cannot be gated again. Gates of others stay.
    """
    if everywhere and (pods or namespace):
        raise InputError("--all", found="names or a namespace beside it", wanted="either")
    if not (everywhere or pods or namespace):
        raise InputError("numaplace ungate", found="no Pod", wanted="names of Pods, --namespace or --all")
    if for_good and (not everywhere or dry_run):
        raise InputError("--for-good", found="no --all, or --dry-run", wanted="--all and nothing else")
    asyncio.run(_run(access, pods, namespace, dry_run=dry_run, settle_s=settle if for_good else None))


async def _run(
    access: Access, names: tuple[str, ...], namespace: str | None, *, dry_run: bool, settle_s: float | None
) -> None:
    async with Kube(access, connections=_AT_ONCE) as kube:
        if settle_s is not None:
            count = await _lift_for_good(kube, settle_s)
        else:
            where = namespace or access.namespace
            asked = [await _read(kube, Key(where, name)) for name in names]
            count = await _lift(kube, asked or [one async for one in _waiting(kube, namespace or "")], dry_run=dry_run)
    click.echo(f"{count} {'Pod' if count == 1 else 'Pods'} {'would be ' if dry_run else ''}ungated")


async def _lift_for_good(kube: Kube, settle_s: float) -> int:
    """Nothing sets the gate any more, and no Pod has come with it for `settle_s`: the API servers have heard of it."""
    try:
        await kube.delete(GATE_BINDINGS, GATE_POLICY)
    except NotFoundError:
        click.echo(f"{GATE_POLICY} is not in force")
    count, quiet_since_s = 0, monotonic()
    while monotonic() - quiet_since_s < settle_s:
        lifted = await _lift(kube, [one async for one in _waiting(kube, "")], dry_run=False)
        if lifted:
            count, quiet_since_s = count + lifted, monotonic()
        await asyncio.sleep(_LOOK_AGAIN_S)
    return count


async def _lift(kube: Kube, pods: Sequence[_Gated], *, dry_run: bool) -> int:
    """Take the gate from each, some at a time; how many lost it. A Pod that is gone by now needs nothing."""
    turn = asyncio.Semaphore(_AT_ONCE)

    async def lift(pod: _Gated) -> bool:
        async with turn:
            try:
                if not dry_run:
                    change = strategic(wire.lift_gate(pod.uid))
                    await kube.patch(PODS, pod.key.name, change, pod.key.namespace, repeatable=True)
            except (NotFoundError, ConflictError):
                return False
        click.echo("/".join(pod.key) + (f" still waits at {', '.join(pod.others)}" if pod.others else ""))
        return True

    return sum(await asyncio.gather(*map(lift, pods)))


async def _read(kube: Kube, key: Key) -> _Gated:
    """The Pod of that name; InputError where it does not wait at our gate."""
    try:
        found = _gated(msgspec.json.decode(await kube.get(PODS, key.name, key.namespace), type=PodObject))
    except NotFoundError:
        raise InputError(f"Pod {'/'.join(key)}", found="no such Pod", wanted="one that waits for a plan") from None
    if found is None:
        raise InputError(f"Pod {'/'.join(key)}", found=f"no gate {keys.PLAN_GATE}", wanted="one that waits for a plan")
    return found


async def _waiting(kube: Kube, namespace: str) -> AsyncIterator[_Gated]:
    """All Pods at our gate, in a namespace or everywhere."""
    async for page in kube.pages(PODS, PodObject, namespace=namespace):
        for pod in page.objects:
            found = _gated(pod)
            if found is not None:
                yield found


def _gated(pod: PodObject) -> _Gated | None:
    gates = [gate.name for gate in pod.spec.scheduling_gates or ()]
    if keys.PLAN_GATE not in gates:
        return None
    meta = pod.metadata
    others = foreign_gates(gates)
    return _Gated(Key(meta.namespace or "", meta.name or ""), PodUid(meta.uid or ""), others)
