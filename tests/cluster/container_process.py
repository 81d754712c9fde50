"""The container of a Pod as a process of this machine, as near to a real one as tests need.

It has a mount namespace with a root of its own, read-only if the Pod wants that, in which
there is the system, this Python and the Pod's volumes; the user, the groups and the
capabilities of its security context; and the environment of the image and of the Pod.
It shares the network and the processes of the machine: an address of loopback stands for
that of the Pod.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import numaplace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import Program, page
from tests.cluster.volumes import field_of
from tests.recorded import ROOT

_EVERYWHERE = "[::]"  # in a network namespace that is the Pod's address
_IMAGE = (ROOT / "deploy" / "image" / "Containerfile").read_text()
# Arguments: a folder for the root, how to mount that at last, pairs of a folder and where it is seen, --, the command.
_ENTER = """
set -e
root=$1; how=$2; shift 2
mount -t tmpfs -o mode=755 root "$root"
for one in /bin /lib /lib64 /sbin /usr /etc /dev /proc; do
  if [ -L $one ]; then cp -P $one "$root"; elif [ -d $one ]; then mkdir "$root$one"; mount --rbind $one "$root$one"; fi
done
mkdir -p "$root/run" "$root/tmp" "$root/var"
ln -s ../run "$root/var/run"
while [ "$1" != -- ]; do
  mkdir -p "$root$2"
  mount --rbind "$1" "$root$2"
  shift 2
done
shift
mount -o "remount,bind,$how" "$root"
cd "$root"
exec chroot . "$@"
"""


class ContainerProcess(Program):
    """The only container of `pod`, whose status has its address; before it starts its `volumes` must be there."""

    def __init__(self, plane: ControlPlane, pod: Mapping[str, Any]) -> None:
        (self.spec,) = pod["spec"]["containers"]
        self.pod, self.address = pod, str(pod["status"]["podIP"])
        self._root = plane.folder / "pods" / pod["metadata"]["uid"]
        self.volumes = self._root.with_suffix(".volumes")
        super().__init__(pod["metadata"]["name"], self._command(plane), plane.folder)

    def start(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        super().start()

    def page(self, port: str | int, path: str, timeout_s: float = 5.0) -> tuple[int, bytes]:
        """Status and body of a page at a port, or at one of that name."""
        named = {one["name"]: int(one["containerPort"]) for one in self.spec.get("ports") or ()}
        return page(self.address, port if isinstance(port, int) else named[port], path, timeout_s)

    def _command(self, plane: ControlPlane) -> Sequence[str | Path]:
        env = self._environment(plane)
        security = {**self.pod["spec"]["securityContext"], **self.spec["securityContext"]}
        named = {one["name"]: one["mountPath"] for one in self.spec.get("volumeMounts") or ()}
        mounts = {**{one: one for one in _shown()}, **{str(self.volumes / name): at for name, at in named.items()}}
        return (
            *_unshare(),
            *("sh", "-c", _ENTER, "enter", self._root, "ro" if security.get("readOnlyRootFilesystem") else "rw"),
            *(folder for pair in mounts.items() for folder in pair),
            *("--", *_confined(security), "env", "-i", *(f"{name}={value}" for name, value in env.items())),
            *(self._filled_in(word, env) for word in self.spec.get("command") or json.loads(_said("ENTRYPOINT"))),
            *(self._filled_in(word, env) for word in self.spec.get("args") or ()),
        )

    def _environment(self, plane: ControlPlane) -> dict[str, str]:
        server = urlsplit(plane.server)
        env = {"PATH": f"{sys.prefix}/bin:/usr/bin:/bin", **dict(one.split("=", 1) for one in _said("ENV").split())}
        env |= {"KUBERNETES_SERVICE_HOST": str(server.hostname), "KUBERNETES_SERVICE_PORT": str(server.port)}
        for one in self.spec.get("env") or ():
            env[one["name"]] = one["value"] if "value" in one else field_of(self.pod, one["valueFrom"]["fieldRef"])
        return env

    def _filled_in(self, word: str, env: Mapping[str, str]) -> str:
        return re.sub(r"\$\((\w+)\)", lambda found: env[found[1]], word).replace(_EVERYWHERE, self.address)


def require_namespaces() -> None:
    """Skip the test where a process can have no root of its own; in CI it fails."""
    asked = " ".join((*_unshare(), "true"))
    done = subprocess.run(["sh", "-c", asked], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        left_out = pytest.fail if os.environ.get("CI") else pytest.skip
        left_out(
            f"Pods cannot be run as processes of this machine, since `{asked}` fails ({done.stderr.strip()}); "
            "be root, or allow user namespaces."
        )


def _unshare() -> tuple[str, ...]:
    return ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")))


def _said(instruction: str) -> str:
    """What the image says."""
    (found,) = re.findall(rf"^{instruction} (.*)$", _IMAGE, re.MULTILINE)
    return str(found)


def _shown() -> list[str]:
    """Folders of this machine in place of the image's: this Python, and numaplace where it lies."""
    return [sys.base_prefix, sys.prefix, str(Path(numaplace.__file__).parent.parent)]


def _confined(security: Mapping[str, Any]) -> list[str]:
    """The user, groups and capabilities of a security context; only root can be another user."""
    flags = ["--pdeathsig=KILL"]
    if os.geteuid() == 0 and "runAsUser" in security:
        flags += [f"--reuid={security['runAsUser']}", f"--regid={security['runAsGroup']}"]
        flags += [f"--groups={security['fsGroup']}"] if "fsGroup" in security else ["--clear-groups"]
    if security.get("allowPrivilegeEscalation") is False:
        flags.append("--no-new-privs")
    if security.get("capabilities") == {"drop": ["ALL"]}:
        flags += ["--inh-caps=-all", "--bounding-set=-all"]
    return ["setpriv", *flags, "--"]
