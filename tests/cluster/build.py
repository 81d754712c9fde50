"""Builds etcd and a Kubernetes control plane from the Go module in `programs/`, or finds them built.

`make test-cluster` and `make cluster-up` call it. What was built lies outside the
checkout, keyed by what it was built from, so a second run only looks it up.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

MODULE = Path(__file__).parent / "programs"
VERSION = "1.37.2"  # of Kubernetes; the require line of programs/go.mod says the same
PROGRAMS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")
ASSETS = "KUBEBUILDER_ASSETS"
_STAMPS = "k8s.io/component-base/version"


class LaneError(Exception):
    """The control plane lane cannot run; the text is one sentence for a person."""


def find_programs() -> Path:
    """The folder that holds all `PROGRAMS`: what `KUBEBUILDER_ASSETS` names, else the cache, built first if need be."""
    named = os.environ.get(ASSETS)
    if named:
        return _complete(Path(named), f"{ASSETS}={named}")
    folder = cache_folder() / "controlplane" / _key()
    if not all((folder / name).is_file() for name in PROGRAMS):
        _build(folder)
    return _complete(folder, str(folder))


def _complete(folder: Path, called: str) -> Path:
    missing = [name for name in PROGRAMS if not os.access(folder / name, os.X_OK)]
    if missing:
        raise LaneError(
            f"{called} holds no program {', '.join(missing)}; name a folder that holds {', '.join(PROGRAMS)}."
        )
    return folder


def cache_folder() -> Path:
    """Where things may stay that can be made again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "numaplace"


def _key() -> str:
    """Of everything that the build depends on but the machine."""
    digest = hashlib.sha256()
    for path in sorted(MODULE.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(MODULE)}\0".encode() + path.read_bytes() + b"\0")
    return f"{VERSION}-{digest.hexdigest()[:16]}"


def _build(folder: Path) -> None:
    """Build beside `folder` and rename at the end: a build that was broken off leaves nothing that looks finished."""
    go = shutil.which("go")
    if go is None:
        raise LaneError(
            f"the control plane cannot be built, since there is no Go on PATH; "
            f"install Go 1.26 or newer, or set {ASSETS} to a folder of built programs."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    unfinished.mkdir()
    started = time.monotonic()
    print(
        f"building Kubernetes {VERSION} and etcd into {folder} (about ten minutes on two cores, once)", file=sys.stderr
    )
    try:
        built = subprocess.run([go, "build", *_flags(), "-o", f"{unfinished}/", "./cmd/..."], cwd=MODULE, check=False)
        if built.returncode != 0:
            raise LaneError("the control plane could not be built; the messages of go are above.")
        if not folder.exists():
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    print(f"built in {time.monotonic() - started:.0f} s", file=sys.stderr)


def _flags() -> list[str]:
    major, minor, _ = VERSION.split(".")
    stamps = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor}
    settings = " ".join(f"-X {_STAMPS}.{name}={value}" for name, value in stamps.items())
    return ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", f"-s -w {settings}"]


if __name__ == "__main__":
    try:
        print(find_programs())
    except LaneError as error:
        sys.exit(f"numaplace: {error}")
