"""How long it takes to read a machine: a written-out tree of a large server, and this machine."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from bench.machine import figures
from numaplace.adapters.sysfs import read_tree
from numaplace.adapters.tree_files import write_tree
from numaplace.decide.discover import assemble
from numaplace.decide.discover.describe import tree_of
from numaplace.wire.machine import parse_machine


def study(times: int = 15) -> None:
    """Read and assemble, cold cache excluded, figures for each."""
    with TemporaryDirectory() as folder:
        for spec in ("lingjun", "dgx-h100", "dgx-a100"):
            root = Path(folder) / spec
            write_tree(tree_of(parse_machine(spec)), root)
            _time(f"written-out {spec}", root, times)
    _time("this machine", Path("/"), times)


def _time(name: str, root: Path, times: int) -> None:
    reading, whole = [], []
    for _ in range(times):
        start = process_time()
        tree = read_tree(root)
        reading.append(process_time() - start)
        topology = assemble(tree).topology
        whole.append(process_time() - start)
    print(f"  {name}: {len(topology.online)} CPUs, {len(topology.gpus)} GPUs, {len(tree.files)} files")
    print(f"    read             {figures(reading)}")
    print(f"    read + assemble  {figures(whole)}")
