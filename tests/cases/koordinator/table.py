"""The tables as typed rows; a field that is misspelt is an error, not a wish that nobody reads.

README.md in this folder explains the fields to whoever reads or extends a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from numaplace.model.request import Policy
from numaplace.wire.yaml_text import load_documents

FOLDER = Path(__file__).parent
POLICIES = {str(one) for one in Policy}
ANSWERS = ("both", "theirs", "ours", "differs")

Answer = dict[str, Any]  # facts by the names that `world.observe` gives them, or such facts by policy


class Fields(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """A mapping that has exactly these fields; `cpu_rule` is written `cpu-rule`."""


class PodFields(Fields):
    """A Pod of one container."""

    cpu: int | str | None = None
    memory: str | None = None
    gpu: int | str | None = None  # aliyun.com/gpu
    hca: int | None = None  # rdma/hca, with hostNetwork
    hugepages: str | None = msgspec.field(default=None, name="hugepages-1Gi")
    policy: str | list[str] | None = None  # several: the row is tried with each
    exclusive: str | None = None
    cpus: str | None = None
    cpu_rule: str | None = None
    gpu_hca: str | None = None
    memory_mode: str | None = None  # the annotation numaplace.dev/memory
    limits: dict[str, str] = {}
    annotations: dict[str, str] = {}


class HeldFields(Fields):
    """A Pod that is there already and what it holds; GPUs and HCAs by position."""

    name: str | None = None
    cpus: str = ""
    gpus: list[int] = []
    hcas: list[int] = []
    shared: dict[int, int] = {}  # CPUs charged to a NUMA node, not owned
    memory_gib: dict[int, int] = {}
    pages: dict[int, int] = {}  # of 1 GiB
    floating: int = 0  # CPUs of a Pod without an allocation
    held: bool = False  # promised, not yet bound


class NodeFields(Fields):
    """One machine and who is on it."""

    machine: str | None = None  # None: the node has not reported
    reserved: str = ""
    held: list[HeldFields] = []
    released: list[str] = []  # of those in `held`, by name


class Case(NodeFields):
    """One row, or one more question of a row."""

    id: str = ""
    says: str = ""
    nodes: dict[str, NodeFields] = {}  # in place of one machine
    before: list[PodFields] = []  # Pods placed first, one after the other
    pod: PodFields | None = None  # None: the answer is about the node as it stands
    hcas_exclusive: bool = False
    both: Answer | None = None
    theirs: Answer | str | None = None
    ours: Answer | None = None
    differs: str = ""
    no_counterpart: str = ""
    also: list[Case] = []

    @property
    def parts(self) -> list[Case]:
        """The row's own question and the further ones."""
        return [self, *self.also]

    @property
    def verdict(self) -> str:
        """`no counterpart`, `differs` where any part does, else `same`."""
        if self.no_counterpart:
            return "no counterpart"
        return "differs" if any(part.differs for part in self.parts) else "same"

    @property
    def policies(self) -> list[str | None]:
        """The policies to try, None for the Pod as it is written."""
        listed = self.pod.policy if self.pod else None
        return [*listed] if isinstance(listed, list) else [None]


class Table(Fields):
    """One file: a section of the reference."""

    section: str
    title: str
    about: str
    count: int  # rows of the reference in this section, numbered from 01
    rows: list[Case]
    machines: dict[str, str] = {}  # machine descriptions by the names that the rows use

    @property
    def expected_ids(self) -> list[str]:
        """The ids of the reference's rows."""
        return [f"{self.section}{number:02}" for number in range(1, self.count + 1)]


def tables() -> list[Table]:
    """Every table, by section."""
    return [_table(file) for file in sorted(FOLDER.glob("*.yaml"))]


def answer_for(answer: Answer, policy: str | None) -> Answer:
    """The part of an answer that belongs to `policy`, where it is told by policy."""
    if not answer.keys() <= POLICIES or policy is None:
        return answer
    part: Answer = answer[policy]
    return part


def _table(file: Path) -> Table:
    (document,) = load_documents(file.read_text(), file.name)
    assert isinstance(document, dict)
    return msgspec.convert({**document, "rows": list(_with_inherited(document["rows"]))}, Table)


def _with_inherited(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows, each further question filled up with what its row says."""
    for row in rows:
        base = {key: value for key, value in row.items() if key not in ("also", *ANSWERS)}
        yield {**row, "also": [{**base, **more} for more in row.get("also", [])]}
