"""A trace is blown up by openb's own protocol: shuffled by a seed, drawn again until the demand is reached."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.tools.sim.inflate import inflate
from numaplace.wire.trace import TracedPod, Wishes, decode_trace


def pods(*gpus: int) -> tuple[TracedPod, ...]:
    rows = [f"p{i},0,{count},1" for i, count in enumerate(gpus)]
    return decode_trace("\n".join(["name,arrives_s,gpu,cpu", *rows]), "pods.csv", Wishes(), Settings()).pods


def gpus_of(one: TracedPod) -> int:
    return one.pod.containers[0].request_milli("aliyun.com/gpu") // 1000


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=20).filter(any),
    st.floats(0.5, 3),
    st.integers(8, 100),
    st.integers(0, 5),
)
def test_the_demand_comes_as_near_to_the_ratio_as_one_pod(asked: list[int], ratio: float, gpus: int, seed: int) -> None:
    found = inflate(pods(*asked), gpus_of, gpus=gpus, ratio=ratio, seed=seed)
    total = sum(map(gpus_of, found))
    assert total <= ratio * gpus
    assert total > ratio * gpus - 8
    assert all(map(gpus_of, found))
    assert len({one.pod.uid for one in found}) == len(found)
    assert [one.arrives_s for one in found] == list(range(len(found)))
    assert {one.leaves_s for one in found} <= {None}


def test_the_seed_decides_the_order_and_nothing_else_does() -> None:
    given_pods = pods(1, 2, 3, 4, 5)
    once, again = (inflate(given_pods, gpus_of, gpus=40, ratio=1.3, seed=7) for _ in range(2))
    assert once == again == inflate(given_pods[::-1], gpus_of, gpus=40, ratio=1.3, seed=7)
    assert once != inflate(given_pods, gpus_of, gpus=40, ratio=1.3, seed=8)


def test_without_a_pod_that_asks_gpus_there_is_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="no Pod that asks a GPU"):
        inflate(pods(0, 0), gpus_of, gpus=8, ratio=1.3, seed=1)
