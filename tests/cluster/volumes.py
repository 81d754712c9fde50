"""What a kubelet puts into a Pod's volumes: tokens bound to the Pod, ConfigMaps, Secrets and the Pod's own fields."""

import base64
import os
import shutil
import time
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from numaplace.adapters.kube import Key, Kube, Resource
from numaplace.adapters.kube.resources import CONFIG_MAPS
from tests.cluster.identities import request_token

SECRETS = Resource("", "v1", "secrets", "Secret")


class File(NamedTuple):
    """Content and mode; `private` ones belong to the Pod's user."""

    content: bytes
    mode: int
    private: bool = False


def field_of(pod: Mapping[str, Any], reference: Mapping[str, str]) -> str:
    """What a `fieldRef` means."""
    return str(reduce(lambda thing, name: thing[name], reference["fieldPath"].split("."), pod))


async def write_volumes(admin: Kube, pod: Mapping[str, Any], folder: Path) -> None:
    """Write each volume of the Pod into a folder of its name, or renew what is there."""
    security = pod["spec"]["securityContext"]
    for volume in pod["spec"].get("volumes") or ():
        files = await _files(admin, pod, volume)
        _put(folder / volume["name"], files, security.get("runAsUser", 0), security.get("fsGroup", 0))


async def _files(admin: Kube, pod: Mapping[str, Any], volume: Mapping[str, Any]) -> dict[str, File]:
    match volume:
        case {"secret": {"secretName": name, "defaultMode": mode}}:
            found = msgspec.json.decode(await admin.get(SECRETS, name, pod["metadata"]["namespace"]))
            return {key: File(base64.b64decode(value), mode) for key, value in found["data"].items()}
        case {"projected": {"sources": sources, "defaultMode": mode}}:
            parts = [await _projected(admin, pod, source, mode) for source in sources]
            return {name: file for part in parts for name, file in part.items()}
    raise ValueError(f"{volume}: found a volume that the kubelet of the tests does not know")


async def _projected(admin: Kube, pod: Mapping[str, Any], source: Mapping[str, Any], mode: int) -> dict[str, File]:
    space = pod["metadata"]["namespace"]
    match source:
        case {"serviceAccountToken": {"path": path, **asked}}:
            bound = {"apiVersion": "v1", "kind": "Pod", **{key: pod["metadata"][key] for key in ("name", "uid")}}
            spec = {"boundObjectRef": bound, "expirationSeconds": asked["expirationSeconds"]}
            if "audience" in asked:
                spec["audiences"] = [asked["audience"]]
            token = await request_token(admin, Key(space, pod["spec"]["serviceAccountName"]), spec)
            return {path: File(token.encode(), 0o600, private=True)}
        case {"configMap": {"name": name, "items": items}}:
            found = msgspec.json.decode(await admin.get(CONFIG_MAPS, name, space))
            return {one["path"]: File(found["data"][one["key"]].encode(), mode) for one in items}
        case {"downwardAPI": {"items": items}}:
            return {one["path"]: File(field_of(pod, one["fieldRef"]).encode(), mode) for one in items}
    raise ValueError(f"{source}: found a source that the kubelet of the tests does not know")


def _put(folder: Path, files: Mapping[str, File], user: int, group: int) -> None:
    """All files change at once, since each is a link through one other link."""
    link, older = folder / "..data", sorted(folder.glob("..[0-9]*"))
    version = folder / f"..{time.time_ns()}"
    version.mkdir(parents=True)
    for name, file in files.items():
        (version / name).write_bytes(file.content)
        (version / name).chmod(file.mode)
        if os.geteuid() == 0:
            os.chown(version / name, user if file.private else 0, group)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path(link.name, name))
    fresh = folder / "..data_tmp"
    fresh.symlink_to(version.name)
    fresh.replace(link)
    for one in older:
        shutil.rmtree(one)
