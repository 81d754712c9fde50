"""How the planner of a cluster is set up, by its own word: the annotation of its Lease."""

from dataclasses import dataclass

from numaplace.adapters.kube import DeniedError, Key, Kube, read_lease
from numaplace.model import keys


@dataclass(frozen=True, slots=True)
class Word:
    """The annotation's text; without one, a sentence that says why."""

    text: str = ""
    missing: str = ""


async def word_of_planner(kube: Kube, lease: Key) -> Word:
    """What the planner that holds the Lease says, or the last one that held it."""
    name = "/".join(lease)
    try:
        found = await read_lease(kube, lease)
    except DeniedError:
        return Word(missing=f"Lease {name} may not be read")
    if found is None:
        return Word(missing=f"there is no Lease {name}")
    text = found.notes.get(keys.SETTINGS, "")
    return Word(text, "" if text else f"Lease {name} has no annotation {keys.SETTINGS}")
