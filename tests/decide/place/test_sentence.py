"""The sentence of a refusal has the number of each resource that is asked, numa by numa."""

from numaplace.decide.place import place_on
from numaplace.model.refusal import Refusal
from tests.oracle.described import NumaShape, Shape
from tests.oracle.pods import ask, node_of


def test_a_refusal_over_hugepages_names_those_of_each_numa() -> None:
    answer = place_on(node_of(Shape(numas=(NumaShape(pages=1), NumaShape(pages=3)))), ask(cpus=2, pages=4))
    assert isinstance(answer, Refusal)
    assert "needs 2 CPUs and 4 hugepages of 1Gi in one NUMA node" in answer.sentence
    assert (
        "numa 0 has 8 CPUs and 1 hugepage of 1Gi free, numa 1 has 8 CPUs and 3 hugepages of 1Gi free" in answer.sentence
    )
