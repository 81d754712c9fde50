"""Whatever the files of a machine hold, there is an answer, and it keeps its promises."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numaplace.adapters.sysfs import read_tree
from numaplace.decide.discover import Discovery, Tree, anonymised, assemble
from numaplace.decide.discover.sources import FACTS, NVIDIA, PATTERNS
from numaplace.model.cpuset import CpuSet, union
from numaplace.model.topology import Topology
from tests.decide.discover.kernel import function, tree_of, two_sockets
from tests.recorded import find_shared_data

MUTATIONS = settings(max_examples=max(300, settings.default.max_examples if settings.default else 0))
UUID = "GPU-6f3b2a10-1234-4abc-8def-0123456789ab"
RECORDED = [
    "hwloc/snapshots/nvidiagpunumanodes/nvidiagpunumanodes.tar.bz2",
    "hwloc/snapshots/fakememinitiators-1np2c+1npp+gi/fakememinitiators-1np2c+1npp+gi.tar.bz2",
    "hwloc/snapshots/2pa-pcidomain32bits/2pa-pcidomain32bits.tar.bz2",
    "hwloc/snapshots/20s390-2g6s4c/20s390-2g6s4c.tar.bz2",
    "sysfs-extra/nri-sample1-hybrid16.tar.bz2",
]


def small_machine() -> Tree:
    """Two sockets with a GPU and an HCA, each fact told."""
    gpu, gpu_link = function(
        "pci0000:3a/0000:3a:00.0/0000:3b:00.0", vendor="0x10de", device="0x2330", numa_node="0", local_cpulist="0-3"
    )
    gpu["sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/class"] = "0x030200"
    card, card_link = function("pci0000:3a/0000:3c:00.0", vendor="0x15b3", numa_node="-1", local_cpulist="4-7")
    hca = "sys/devices/pci0000:3a/0000:3c:00.0/infiniband/mlx5_0"
    files = two_sockets() | gpu | card
    files |= {
        f"{hca}/node_type": "1: CA",
        f"{hca}/ports/1/state": "4: ACTIVE",
        f"{hca}/ports/1/rate": "400 Gb/sec (4X NDR)",
    }
    files |= {
        f"{NVIDIA}/gpus/0000:3b:00.0/information": f"Model: NVIDIA H100\nGPU UUID: {UUID}\nDevice Minor: 0",
        FACTS: "pci 0000:3c:00.0 numa 1\ngpu 0000:3b:00.0 mig off",
    }
    links = {"sys/class/infiniband/mlx5_0": hca, f"{hca}/device": "sys/devices/pci0000:3a/0000:3c:00.0"}
    return tree_of(files, gpu_link | card_link | links)


@lru_cache(maxsize=1)
def bases() -> list[Tree]:
    folder = find_shared_data()
    return [small_machine(), *(read_tree(folder / name) for name in RECORDED if folder is not None)]


NONSENSE = st.sampled_from(
    [
        b"",
        b"\0",
        b"-1\n",
        b"0-\n",
        b"9" * 40,
        b"0-65535\n",
        b"7-3\n",
        b"4294967295\n",
        b"255\n",
        b"0x\n",
        b"\xff\xfe\x00",
        b"ffffffff\n",
        b"10 20\n" * 50,
        b"0," * 30_000,
        b"Node: 1\nStatus: online\n",
        b"GPU-????????\n",
        b"1-2-3",
        b"\n\n",
        b" 0-3 ",
        b"\x1b[2J",
    ]
)
CONTENTS = NONSENSE | st.binary(max_size=40) | st.text(alphabet="0123456789-, \nabcdef:x", max_size=30).map(str.encode)
Change = Callable[[dict[str, bytes], dict[str, str], dict[str, str]], None]


def _renumbered(path: str, number: int) -> str:
    digits = list(re.finditer(r"\d+", path))
    last = digits[number % len(digits)] if digits else None
    return path if last is None else path[: last.start()] + str(number) + path[last.end() :]


@st.composite
def changed_trees(draw: st.DrawFn) -> Tree:
    """A machine with some files gone, replaced, renamed, linked or unreadable."""
    base = draw(st.sampled_from(bases()))
    files, links, faults = dict(base.files), dict(base.links), dict(base.faults)
    paths, names = sorted(files), sorted(links)
    for _ in range(draw(st.integers(1, 12))):
        path = draw(st.sampled_from(paths))
        match draw(st.integers(0, 6)):
            case 0:
                files.pop(path, None)
            case 1 | 2:
                files[path] = draw(CONTENTS)
            case 3:
                files[_renumbered(path, draw(st.integers(0, 300)))] = files.get(path, b"")
            case 4:
                word = draw(st.sampled_from(path.split("/")))
                for gone in [one for one in files if word in one.split("/")]:
                    del files[gone]
            case 5:
                faults[path] = "cannot be read"
                files.pop(path, None)
            case _ if names:
                links[draw(st.sampled_from(names))] = draw(st.sampled_from([*names, *paths, "", "nowhere"]))
    return Tree(files, links, faults)


def kept_promises(found: Discovery) -> None:
    """What every Topology promises to the rest of the program."""
    topology = found.topology
    ids = [numa.id for numa in topology.numas]
    assert ids == sorted(set(ids))
    assert all(numa.cpus.issubset(topology.online) and numa.distances.keys() <= set(ids) for numa in topology.numas)
    _parts(topology)
    _devices(topology, set(ids))
    assert all(topology.distance(a, b) > 0 for a in ids[:8] for b in ids[:8])
    assert list(found.findings) == sorted(set(found.findings), key=lambda one: one.code) or found.findings
    assert all(finding.text.isprintable() for finding in found.findings)


def _parts(topology: Topology) -> None:
    whole = [list(topology.cores), [package.cpus for package in topology.packages]]
    some = [
        [llc.cpus for llc in topology.llcs],
        [kind.cpus for kind in topology.core_kinds],
        [die.cpus for die in topology.dies],
    ]
    for sets in (*whole, *some):
        assert all(sets)
        assert sum(map(len, sets)) == len(union(sets))
        assert union(sets).issubset(topology.online)
    assert all(union(sets) == topology.online for sets in whole)
    packages = {package.id: package.cpus for package in topology.packages}
    assert list(packages) == sorted(packages)
    assert all(die.cpus.issubset(packages[die.package]) for die in topology.dies)
    assert len({(die.package, die.id) for die in topology.dies}) == len(topology.dies)
    for parts in (topology.cores, tuple(llc.cpus for llc in topology.llcs)):
        assert list(parts) == sorted(parts, key=CpuSet.first)


def _devices(topology: Topology, ids: set[int]) -> None:
    for names in (
        [device.address for device in topology.pci],
        [gpu.pci for gpu in topology.gpus],
        [hca.name for hca in topology.hcas],
    ):
        assert list(names) == sorted(set(names))
    told = [
        *(one.numa for one in topology.pci),
        *(one.numa for one in topology.gpus),
        *(one.numa for one in topology.hcas),
    ]
    assert set(told) <= ids | {None}
    assert all(gpu.memory_numa in ids | {None} for gpu in topology.gpus)
    cards = {gpu.pci for gpu in topology.gpus}
    assert all(link.a < link.b and {link.a, link.b} <= cards for link in topology.nvlinks)


@pytest.mark.timeout(3600)  # the deep profile takes its time
@MUTATIONS
@given(changed_trees())
def test_a_changed_machine_has_an_answer(tree: Tree) -> None:
    found = assemble(tree)
    kept_promises(found)
    assert assemble(tree) == found


@given(changed_trees())
def test_an_anonymised_machine_is_the_same_machine(tree: Tree) -> None:
    anonymous = anonymised(tree)
    assert nameless(assemble(anonymous).topology) == nameless(assemble(tree).topology)
    assert anonymised(anonymous) == anonymous


def nameless(topology: Topology) -> Topology:
    return replace(topology, gpus=tuple(replace(gpu, uuid=None) for gpu in topology.gpus))


def _path_of(pattern: str, name: str) -> str:
    path = pattern.removesuffix("@").partition("|")[0]
    return path.replace("#", "0").replace("*", name)


@pytest.mark.timeout(3600)  # the deep profile takes its time
@MUTATIONS
@given(st.dictionaries(st.sampled_from(PATTERNS).map(lambda one: _path_of(one, "0000:3b:00.0")), CONTENTS, max_size=30))
def test_any_content_at_any_path_has_an_answer(files: dict[str, bytes]) -> None:
    kept_promises(assemble(Tree(files)))


def test_thousands_of_broken_files_make_a_report_that_a_person_can_read() -> None:
    tree = two_sockets() | {f"sys/devices/system/cpu/cpu{cpu}/topology/core_id": "?" for cpu in range(8)}
    tree |= {"sys/devices/system/cpu/online": "0-4095"}
    tree |= {f"sys/devices/system/cpu/cpu{cpu}/topology/die_id": "?" for cpu in range(4096)}
    found = assemble(tree_of(tree))
    assert len(found.findings) < 100
    assert any(finding.text.endswith("more like these") for finding in found.findings)


@pytest.mark.skipif(not Path("/sys/devices/system/cpu").is_dir(), reason="no Linux here")
def test_this_machine_has_at_least_the_cpus_we_may_run_on() -> None:
    found = assemble(read_tree(Path("/")))
    kept_promises(found)
    assert CpuSet.of(os.sched_getaffinity(0)).issubset(found.topology.online)
