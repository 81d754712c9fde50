"""Placements and refusals worked out by hand from the contract; the oracle and the placer must give them."""

from dataclasses import dataclass, replace

from numaplace.model.cluster import Holder, NodeState
from numaplace.model.proximity import Level
from numaplace.model.refusal import Code
from numaplace.model.request import CpuRule, Exclusivity, MemoryMode, PodRequest, Policy
from tests.oracle.described import NumaShape, Shape, Site
from tests.oracle.pods import ask, floating, holder, node_of

SINGLE, RESTRICTED, BEST, NONE = Policy.SINGLE_NUMA_NODE, Policy.RESTRICTED, Policy.BEST_EFFORT, Policy.NONE
REQUIRED = Exclusivity.REQUIRED

# Two numas of four cores (CPUs 0-7 and 8-15, siblings side by side). GPUs 10-13 hang at numa 0, 14-17 at numa 1,
# two and two under one switch, each pair with an HCA: mlx5_0 .. mlx5_3.
PAIRS = [(numa, switch) for numa in (0, 1) for switch in (0, 1)]
TWO = Shape(
    numas=(NumaShape(package=0, pages=2), NumaShape(package=1, pages=2)),
    gpus=tuple(Site(numa, switch=(switch,)) for numa, switch in PAIRS for _ in range(2)),
    hcas=tuple(Site(numa, switch=(switch,)) for numa, switch in PAIRS),
)
FOUR = Shape(
    numas=tuple(NumaShape(cores=2, package=i // 2) for i in range(4)),
    gpus=tuple(Site(i, switch=(0,)) for i in range(4) for _ in range(2)),
)
ONE_SIDE = replace(TWO, hcas=TWO.hcas[2:])
LIES = replace(TWO, gpus=(Site(None), Site(None), *TWO.gpus[2:]))
FAULTS = replace(TWO, gpus=(Site(0, switch=(0,), fault=True), *TWO.gpus[1:]))
MIG = replace(TWO, gpus=(Site(0, switch=(0,), mig=True), *TWO.gpus[1:]))


def gpu(*numbers: int) -> list[str]:
    return [f"0000:{number}:00.0" for number in numbers]


@dataclass(frozen=True)
class Case:
    says: str
    shape: Shape
    request: PodRequest
    numas: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    hcas: tuple[int, ...] = ()
    held: tuple[Holder, ...] = ()
    reserved: str = ""
    by_package: bool = False
    allocatable: int | None = None
    code: Code | None = None
    fallback: bool = False

    def node(self) -> NodeState:
        return node_of(
            self.shape,
            self.held,
            reserved=self.reserved,
            by_package=self.by_package,
            allocatable_milli=self.allocatable,
        )


WIDE = holder("wide", [0, 1], cpus="0,8")
CASES = [
    Case("the lowest numa wins a tie", TWO, ask(cpus=2), (0,)),
    Case("the fuller numa is the tighter fit", TWO, ask(cpus=2), (1,), held=(holder("x", [1], cpus="8"),)),
    Case("one GPU leaves its pair broken, wherever", TWO, ask(gpus=1), (0,), (10,)),
    Case("a broken pair is used up first", TWO, ask(gpus=1), (1,), (17,), held=(holder("x", [1], gpus=gpu(16)),)),
    Case("two GPUs take a whole pair", TWO, ask(gpus=2), (0,), (12, 13), held=(holder("x", [0], gpus=gpu(11)),)),
    Case("five GPUs are in no numa", TWO, ask(gpus=5), code=Code.NOT_ALIGNABLE),
    Case("nine GPUs are not in the node", TWO, ask(gpus=9), code=Code.GPUS_SHORT),
    Case("five GPUs have width 2", TWO, ask(RESTRICTED, gpus=5), (0, 1), (10, 11, 12, 13, 14)),
    Case("more CPUs than a numa has, one GPU", TWO, ask(RESTRICTED, cpus=10, gpus=1), (0, 1), (10,)),
    Case(
        "Restricted never widens because a Pod stands in the way",
        TWO,
        ask(RESTRICTED, cpus=6),
        held=(holder("a", [0], cpus="0-3"), holder("b", [1], cpus="8-11")),
        code=Code.NOT_ALIGNABLE,
    ),
    Case(
        "BestEffort does",
        TWO,
        ask(BEST, cpus=6),
        (0, 1),
        held=(holder("a", [0], cpus="0-3"), holder("b", [1], cpus="8-11")),
    ),
    Case("a wide mark bars Required", TWO, ask(cpus=1, exclusivity=REQUIRED), held=(WIDE,), code=Code.NUMA_EXCLUSIVE),
    Case("a wide mark ranks under Preferred", TWO, ask(cpus=1), (0,), held=(WIDE,)),
    Case(
        "a single mark bars a wider Pod",
        TWO,
        ask(RESTRICTED, cpus=10, exclusivity=REQUIRED),
        held=(holder("one", [1], milli={1: 1}),),
        code=Code.NUMA_EXCLUSIVE,
    ),
    Case(
        "BestEffort goes where it violates less",
        FOUR,
        ask(BEST, cpus=2, exclusivity=REQUIRED),
        (2,),
        held=(holder("wide", [0, 1], cpus="0,4"),),
    ),
    Case(
        "a GPU without annotation marks the numas of its GPUs",
        TWO,
        ask(RESTRICTED, cpus=10, exclusivity=REQUIRED),
        held=(holder("g", [0, 1], gpus=gpu(14), policy=NONE),),
        code=Code.NUMA_EXCLUSIVE,
    ),
    Case("near domains go together", FOUR, ask(RESTRICTED, gpus=4), (0, 1), (10, 11, 12, 13)),
    Case(
        "near beats tight",
        FOUR,
        ask(RESTRICTED, cpus=5),
        (2, 3),
        held=(holder("x", [0], cpus="0-1"), holder("y", [1], cpus="4-5")),
    ),
    Case("memory of preference ranks", TWO, ask(memory_gib=3, cpus=1), (1,),
         held=(holder("m", [0], memory_gib={0: 4}),)),
    Case("memory is no reason to refuse", TWO, ask(memory_gib=30, cpus=1), (0,)),
    Case(
        "bound memory is",
        TWO,
        ask(memory_gib=7, cpus=1, memory_mode=MemoryMode.BIND),
        code=Code.NOT_ALIGNABLE,
    ),
    Case("and short in the node", TWO, ask(memory_gib=13, memory_mode=MemoryMode.BIND), code=Code.MEMORY_SHORT),
    Case("pages are strict", TWO, ask(pages=2), (1,), held=(holder("p", [0], pages={0: 1}),)),
    Case("pages of two numas", TWO, ask(RESTRICTED, pages=3), (0, 1)),
    Case("pages of none", TWO, ask(BEST, pages=5), code=Code.HUGEPAGES_SHORT),
    Case("half cores do not fit full-cores-only", TWO, ask(cpus=3, cpu_rule=CpuRule.FULL_CORES_ONLY),
         code=Code.SMT_PARTIAL),
    Case(
        "four halves are no two cores",
        TWO,
        ask(cpus=4, cpu_rule=CpuRule.FULL_CORES_ONLY),
        held=(holder("x", [0], cpus="0,2,4"), holder("y", [1], cpus="8,10,12")),
        code=Code.SMT_PARTIAL,
    ),
    Case("one core stays for the shared pool", TWO, ask(RESTRICTED, cpus=15), code=Code.CPUS_SHORT),
    Case("reserved CPUs belong to the pool", TWO, ask(RESTRICTED, cpus=14), (0, 1), reserved="0,8"),
    Case("floating Pods keep their CPUs", TWO, ask(BEST, cpus=13), held=(floating("f", milli=3001),),
         code=Code.CPUS_SHORT),
    Case("confined ones too, in their numa", TWO, ask(cpus=7), (1,), held=(holder("c", [0], milli={0: 1001}),)),
    Case("the kubelet's allocatable caps the sum", TWO, ask(cpus=5), allocatable=4999, code=Code.CPUS_SHORT),
    Case("confined 8 CPUs fit where 8 are", TWO, ask(milli=8000), (1,), held=(holder("x", [0], cpus="0"),)),
    Case(
        "confined BestEffort floats where no set serves",
        TWO,
        ask(BEST, milli=9000),
        (0, 1),
        held=(holder("x", [0], cpus="0-5"),),
        fallback=True,
    ),
    Case("an HCA per switch, nearest first", TWO, ask(gpus=2, hcas=1), (0,), (10, 11), (0,)),
    Case("alone: the near HCA is gone", TWO, ask(gpus=2, hcas=1, hcas_exclusive=True), (0,), (12, 13), (1,),
         held=(holder("h", [0], hcas=["mlx5_0"]),)),
    Case("a condition moves the Pod", TWO, ask(gpus=4, hcas=2, hcas_exclusive=True, gpu_hca=Level.PIX), (1,),
         (14, 15, 16, 17), (2, 3), held=(holder("h", [0], hcas=["mlx5_0"]),)),
    Case("a condition refuses", TWO, ask(gpus=4, hcas=1, hcas_exclusive=True, gpu_hca=Level.PIX),
         code=Code.NOT_ALIGNABLE),
    Case("HCAs alone", TWO, ask(NONE, hcas=3, hcas_exclusive=True), (0, 1), (), (0, 1, 2)),
    Case("five HCAs are not there", TWO, ask(NONE, hcas=5, hcas_exclusive=True), code=Code.HCAS_SHORT),
    Case("a near HCA draws the Pod", ONE_SIDE, ask(gpus=2, hcas=1), (1,), (14, 15), (0,)),
    Case("shared HCAs lie anywhere", ONE_SIDE, ask(gpus=2, hcas=1), (0,), (10, 11), (0, 1),
         held=(holder("x", [1], cpus="8-15", gpus=gpu(14, 16, 17)),)),
    Case("cards of unknown numa are in no numa", LIES, ask(gpus=4), (1,), (14, 15, 16, 17)),
    Case("but explain a refusal", LIES, ask(RESTRICTED, gpus=7), code=Code.DEVICE_NUMA_UNKNOWN),
    Case("BestEffort takes them last", LIES, ask(BEST, gpus=7), (0, 1), (10, *range(12, 18)), fallback=True),
    Case("a lost card explains a refusal", FAULTS, ask(gpus=4, exclusivity=REQUIRED),
         held=(holder("x", [1], gpus=gpu(14)),), code=Code.DEVICE_UNHEALTHY),
    Case("a card in MIG mode is no card", MIG, ask(RESTRICTED, gpus=8), code=Code.GPUS_SHORT),
    Case("nor does its pair count as whole", MIG, ask(gpus=1), (0,), (11,)),
    Case("cards of Pods nobody placed are blocked", TWO, ask(gpus=4), (1,), (14, 15, 16, 17),
         held=(floating("f", gpus=1),)),
    Case("by package, four GPUs of two numas are one", FOUR, ask(gpus=4), (0, 1), (10, 11, 12, 13), by_package=True),
    Case("by package, the fewest numas inside", FOUR, ask(cpus=3), (1,),
         held=(holder("x", [0], cpus="0-1"),), by_package=True),
    Case("by numa, they are not", FOUR, ask(gpus=4), code=Code.NOT_ALIGNABLE),
]  # fmt: skip
