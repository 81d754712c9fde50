"""Small file systems to read: as folders, and packed in every way that is understood."""

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from numaplace.decide.discover.sources import CPU, NODE, PCI

CARD = "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"

FILES: Mapping[str, str] = {
    f"{CPU}/online": "0-1\n",
    f"{CPU}/cpu0/topology/core_cpus_list": "0-1\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "an older name for the same\n",
    f"{CPU}/cpu1/topology/thread_siblings_list": "0-1\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "of no interest\n",
    f"{CPU}/cpuidle/current_driver": "of no interest\n",
    f"{NODE}/online": "0\n",
    f"{NODE}/node0/cpulist": "0-1\n",
    f"{NODE}/node0/meminfo": "Node 0 MemTotal: 1024 kB\n",
    "sys/devices/pci0000:3a/0000:3a:00.0/class": "0x060400\n",
    f"{CARD}/class": "0x030200\n",
    f"{CARD}/config": "of no interest\n",
    "proc/meminfo": "MemTotal: 1024 kB\n",
    "proc/cpuinfo": "processor : 0\n\nprocessor : 1\n",
}
LINKS: Mapping[str, str] = {
    f"{PCI}/0000:3b:00.0": "../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0",
    f"{PCI}/0000:3a:00.0": "/sys/devices/pci0000:3a/0000:3a:00.0",
    f"{CARD}/driver": "../../../../bus/pci/drivers/nvidia",
    "sys/class/net/lo": "../../devices/virtual/net/lo",
    f"{CPU}/cpu0/node0": "../../node/node0",
}

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "plain": lambda plain: plain,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def write_folder(root: Path, files: Mapping[str, str] = FILES, links: Mapping[str, str] = LINKS) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, target in links.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    return root


def member(name: str, text: str | bytes = b"", **told: object) -> tuple[tarfile.TarInfo, bytes]:
    """A member of an archive; `told` are fields of its header."""
    info, content = tarfile.TarInfo(name), text.encode() if isinstance(text, str) else text
    info.size = len(content)
    for field, value in told.items():
        setattr(info, field, value)
    return info, content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=kind, linkname=target)


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return buffer.getvalue()


def world_archive(top: str = "") -> bytes:
    """The world of FILES and LINKS as a plain archive."""
    files = [member(f"{top}{name}", text) for name, text in FILES.items()]
    return archive_of(*files, *(link(f"{top}{name}", target) for name, target in LINKS.items()))
