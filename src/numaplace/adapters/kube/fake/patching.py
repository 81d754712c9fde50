"""The kinds of patches on plain objects, as far as our own writers use them."""

import copy
from typing import Any

from numaplace.adapters.kube.fake import refusals

# The key by which strategic merge joins the items of a list; other lists are replaced.
MERGE_KEYS = {
    "conditions": "type",
    "schedulingGates": "name",
    "containers": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
}


def merge(old: Any, change: Any) -> Any:
    """RFC 7386."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def strategic(old: Any, change: Any) -> Any:
    """Merge, but lists that have a key are merged by it, and `$patch: delete` takes an item away."""
    if not isinstance(change, dict):
        return copy.deepcopy(change)
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, list) and name in MERGE_KEYS:
            result[name] = _merged(result.get(name) or [], value, MERGE_KEYS[name])
            if not result[name]:
                del result[name]
        elif isinstance(value, dict):
            result[name] = strategic(result.get(name), value)
        else:
            result[name] = copy.deepcopy(value)
    return result


def _merged(old: list[Any], change: list[Any], key: str) -> list[Any]:
    items = {item[key]: item for item in old}
    for item in change:
        if item.get("$patch") == "delete":
            items.pop(item[key], None)
        else:
            items[item[key]] = strategic(items.get(item[key]), item)
    return list(items.values())


def json_patch(old: Any, steps: list[dict[str, Any]]) -> Any:
    """RFC 6902: add, remove, replace and test."""
    result = copy.deepcopy(old)
    for step in steps:
        names = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
        try:
            parent = result
            for name in names[:-1]:
                parent = parent[_place(parent, name)]
            _take_step(parent, _place(parent, names[-1]), step)
        except (KeyError, IndexError, ValueError, TypeError):
            raise refusals.RefusalError(
                422, "Invalid", f"the server rejected our request due to an error in our request: {step['path']}"
            ) from None
    return result


def _place(parent: Any, name: str) -> Any:
    if isinstance(parent, list):
        return len(parent) if name == "-" else int(name)
    return name


def _take_step(parent: Any, at: Any, step: dict[str, Any]) -> None:
    match step["op"]:
        case "add" if isinstance(parent, list):
            parent.insert(at, step["value"])
        case "add":
            parent[at] = step["value"]
        case "replace":
            parent[at]  # must be there
            parent[at] = step["value"]
        case "remove":
            del parent[at]
        case "test" if parent[at] == step["value"]:
            pass
        case _:
            raise ValueError(step["op"])
