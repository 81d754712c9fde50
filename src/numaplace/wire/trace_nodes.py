"""The node list of the openb trace as groups of described machines.

The trace tells CPUs, memory and cards of each node and nothing of NUMA; what is
laid over it stands in `machine_words`, and docs/explanation/trace-study.md argues it.
"""

from collections.abc import Iterator

from numaplace.model.errors import InputError
from numaplace.model.ids import NodeName
from numaplace.model.settings import Settings
from numaplace.wire.machine import discovered
from numaplace.wire.node_groups import MAX_NODES, NodeGroup
from numaplace.wire.trace import GPU_MODEL_LABEL
from numaplace.wire.trace_rows import Row, columns_of, csv_rows, name_in, whole

COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
CPUS_OF_TWO_PACKAGES = 32  # from this size on a server of that time has two sockets


def is_node_list(text: str) -> bool:
    """Whether a text begins as openb's node list does."""
    return {"sn", "cpu_milli"} <= set(columns_of(text.lstrip("\ufeff")))


def decode_node_list(text: str, where: str, settings: Settings) -> tuple[NodeGroup, ...]:
    """One group a node, all enabled for placement; InputError names the line and the column."""
    missing = set(COLUMNS) - set(columns_of(text.lstrip("\ufeff")))
    if missing:
        raise InputError(f"{where}: line 1", found=f"no column {min(missing)}", wanted=", ".join(COLUMNS))
    groups = tuple(_group(row, at, settings) for row, at in csv_rows(text.lstrip("\ufeff"), where))
    names = [group.names[0] for group in groups]
    if not groups or len(groups) > MAX_NODES or len(set(names)) < len(names):
        raise InputError(
            where, found=f"{len(names)} rows, {len(set(names))} names", wanted=f"1..{MAX_NODES} nodes, each once"
        )
    return groups


def machine_words(cpus: int, memory_mib: int, gpus: int) -> str:
    """The line that describes such a node.

    Two packages with one NUMA domain each from 32 CPUs on, else one; GPUs spread evenly,
    each below a host bridge of its domain; two threads a core where the count allows it.
    """
    packages = 2 if cpus >= CPUS_OF_TWO_PACKAGES else 1
    threads = 2 if cpus % (2 * packages) == 0 else 1
    return f"{packages}pkg {cpus}cpu smt{threads} {memory_mib}MiB {gpus}gpu phb"


def _group(row: Row, where: str, settings: Settings) -> NodeGroup:
    cpus = whole(row["cpu_milli"], f"{where}: cpu_milli", 1000, 8_192_000) // 1000
    memory_mib = whole(row["memory_mib"], f"{where}: memory_mib", 1, 10**8)
    gpus = whole(row["gpu"], f"{where}: gpu", 0, 128)
    return NodeGroup(
        names=(NodeName(name_in(row["sn"], f"{where}: sn")),),
        machine=discovered(machine_words(cpus, memory_mib, gpus)),
        labels=dict(_labels(row, gpus, settings)),
    )


def _labels(row: Row, gpus: int, settings: Settings) -> Iterator[tuple[str, str]]:
    yield settings.enable_label, settings.enable_value
    if gpus and row["model"]:
        yield GPU_MODEL_LABEL, row["model"]
