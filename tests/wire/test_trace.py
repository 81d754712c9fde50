"""Traces: three formats told apart by their header, each row a Pod, each fault a sentence with line and column."""

import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.errors import InputError
from numaplace.model.settings import Settings
from numaplace.wire.trace import GPU_MODEL_LABEL, Trace, TracedPod, Wishes, decode_trace, is_trace, wishes_for
from numaplace.wire.trace_nodes import decode_node_list, is_node_list, machine_words

NO_WISHES = Wishes()
OPENB = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
DLRM = (
    "instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,"
    "memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time"
)
OWN = "name,arrives_s,leaves_s,cpu,memory,gpu,hca,policy,exclusive,cpus,priority,gpu_model"


def read(*lines: str, wishes: Wishes = NO_WISHES) -> Trace:
    return decode_trace("\n".join(lines), "trace", wishes, Settings())


def only(*lines: str, wishes: Wishes = NO_WISHES) -> TracedPod:
    (one,) = read(*lines, wishes=wishes).pods
    return one


def asked(one: TracedPod) -> dict[str, int]:
    return dict(one.pod.containers[0].limits_milli)


def test_openb_rows_are_pods_with_their_times() -> None:
    one = only(OPENB, "p-1,11300,49152,2,1000,V100M32|T4,LS,Running,100,250,101")
    assert asked(one) == {"cpu": 11_300, "memory": 49152 * 1000 * (1 << 20), "aliyun.com/gpu": 2000}
    assert (one.pod.full_name, one.arrives_s, one.leaves_s) == ("openb/p-1", 100.0, 250.0)
    assert one.pod.rules.required_terms is not None
    (requirement,) = one.pod.rules.required_terms[0].labels
    assert (requirement.key, requirement.values) == (GPU_MODEL_LABEL, ("V100M32", "T4"))


def test_openb_pods_that_share_a_card_are_left_out_and_counted() -> None:
    trace = read(OPENB, "a,1000,1,1,460,,LS,Running,0,1,0", "b,1000,1,0,0,,LS,Running,0,1,0")
    assert [one.pod.name for one in trace.pods] == ["b"]
    assert trace.notes == ("trace: 1 Pods that share a GPU are left out: numaplace places whole cards",)


def test_short_openb_rows_arrive_at_once_and_stay() -> None:
    one = only("name,cpu_milli,memory_mib,num_gpu,gpu_milli", "a,12000,16384,1,1000")
    assert (one.arrives_s, one.leaves_s) == (0.0, None)


def test_dlrm_rows_share_one_hca_for_any_part_of_a_nic() -> None:
    one = only(DLRM, "instance_0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,5.5")
    assert asked(one) == {
        "cpu": 12_000,
        "memory": 120 * 1000 * (1 << 30),
        "aliyun.com/gpu": 1000,
        "rdma/hca": 1000,
    }
    assert (one.pod.full_name, one.arrives_s, one.leaves_s) == ("app_0/instance-0", 0.0, 5.5)
    assert one.pod.host_network


def test_policies_of_a_trace_that_names_none_are_the_callers_for_pods_with_gpus() -> None:
    trace = read(
        OPENB,
        "a,1000,1,1,1000,,LS,Running,0,1,0",
        "b,1000,1,0,0,,LS,Running,0,1,0",
        wishes=wishes_for("Restricted", "Preferred"),
    )
    assert [dict(one.pod.annotations) for one in trace.pods] == [
        {"numaplace.dev/policy": "Restricted", "numaplace.dev/exclusive": "Preferred"},
        {},
    ]


def test_our_own_rows_say_all_that_a_placement_needs() -> None:
    one = only(OWN, "p,1.5,9,24,64Gi,4,1,SingleNUMANode,Required,exclusive,7,A100")
    assert asked(one)["cpu"] == 24_000
    assert one.pod.priority == 7
    assert one.pod.annotations == {
        "numaplace.dev/policy": "SingleNUMANode",
        "numaplace.dev/exclusive": "Required",
        "numaplace.dev/cpus": "exclusive",
    }


def test_json_lines_hold_the_same_fields_or_a_whole_pod() -> None:
    manifest = {"metadata": {"name": "whole"}, "spec": {"containers": [{"name": "c"}]}}
    lines = [{"name": "p", "arrives_s": 0, "gpu": 2}, {"arrives_s": 3, "leaves_s": 4, "pod": manifest}]
    first, second = read(*map(json.dumps, lines)).pods
    assert asked(first) == {"aliyun.com/gpu": 2000}
    assert (second.pod.name, second.arrives_s, second.leaves_s) == ("whole", 3.0, 4.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OPENB, True),
        (DLRM, True),
        (OWN, True),
        ('{"name": "a", "arrives_s": 0}', True),
        ("apiVersion: v1\nkind: Pod", False),
        ('{"apiVersion": "v1", "kind": "Pod"}', False),
        ("", False),
    ],
)
def test_a_trace_is_known_by_its_first_line(text: str, expected: bool) -> None:
    assert is_trace(text) is expected


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("name,num_gpu,other", "a,1,2"), "trace: line 1: found the columns name, num_gpu, other"),
        ((OPENB, "a,1000"), "trace: line 2: found 2 fields; expected 11"),
        ((OPENB, "a,x,1,1,1000,,LS,R,0,1,0"), "trace: line 2: cpu_milli: found 'x'; expected a number"),
        ((OPENB, "a,1,1,1,1001,,LS,R,0,1,0"), "trace: line 2: gpu_milli: found '1001'"),
        ((OPENB, "a,1,1,-1,1000,,LS,R,0,1,0"), "trace: line 2: num_gpu: found '-1'"),
        ((OPENB, "a,1,1,1,1000,,LS,R,9,1,0"), "trace: line 2: time of leaving: found 1; expected a time not before"),
        ((OPENB, ",1,1,1,1000,,LS,R,0,1,0"), "trace: line 2: name: found ''; expected a name of 1 to 253 characters"),
        ((OPENB, "a\x1b[1m,1,1,1,1000,,LS,R,0,1,0"), "trace: line 2: name: found 'a\\x1b[1m'"),
        ((OPENB, "a,1,1,1.5,1000,,LS,R,0,1,0"), "trace: line 2: num_gpu: found '1.5'; expected a whole number"),
        ((OWN, "a,nan,,1,1,1,1,,,,,"), "trace: line 2: time of arrival: found 'nan'"),
        ((OWN, "a,1_000,,1,1,1,1,,,,,"), "trace: line 2: time of arrival: found '1_000'; expected a number"),
        ((OWN, "a,0,,1,1,1,1,,,,1.7,"), "trace: line 2: priority: found '1.7'; expected a whole number"),
        (('{"name": "a\\nb", "arrives_s": 0}',), "trace: line 1: name: found 'a\\nb'"),
        ((OWN, "a,0,,lots,1,1,1,,,,,"), "trace: line 2: cpu: found 'lots'"),
        (("name,arrives_s,size", "a,0,1"), "trace: line 2: found the unknown column 'size'"),
        (("name,arrives_s,name", "a,0,b"), "trace: line 1: found a column twice"),
        (('{"arrives_s": 0, "pod": 1}',), "trace: line 1: pod"),
        (('{"arrives_s": 0', ""), "trace: line 1: found"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_column(lines: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(InputError) as raised:
        read(*lines)
    assert complaint in str(raised.value)


@given(
    st.sampled_from(
        [
            f"{OPENB}\na,1000,1,1,1000,T4,LS,Running,0,1,0\n",
            f"{DLRM}\ni_0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,5.5\n",
            f"{OWN}\np,1.5,9,24,64Gi,4,1,SingleNUMANode,Required,exclusive,7,A100\n",
            '{"name": "p", "arrives_s": 0, "gpu": 2}\n{"arrives_s": 3, "pod": {"metadata": {"name": "w"}}}\n',
        ]
    ),
    st.data(),
)
def test_a_damaged_trace_is_read_or_refused_and_nothing_else(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    damaged = text[:start] + data.draw(st.text(max_size=10)) + text[start + data.draw(st.integers(0, 10)) :]
    with suppress(InputError):
        decode_trace(damaged, "trace", wishes_for("Restricted", "Preferred"), Settings())
    with suppress(InputError):
        decode_node_list(damaged, "trace", Settings())


@pytest.mark.parametrize(
    ("cpus", "gpus", "words"),
    [
        (96, 8, "2pkg 96cpu smt2 100MiB 8gpu phb"),
        (16, 2, "1pkg 16cpu smt2 100MiB 2gpu phb"),
        (82, 8, "2pkg 82cpu smt1 100MiB 8gpu phb"),
    ],
)
def test_numa_domains_are_laid_over_openb_nodes(cpus: int, gpus: int, words: str) -> None:
    assert machine_words(cpus, 100, gpus) == words


def test_openb_nodes_are_enabled_and_labelled_with_their_model() -> None:
    text = "sn,cpu_milli,memory_mib,gpu,model\nn-1,96000,393216,8,G2\nn-2,32000,131072,0,\n"
    assert is_node_list(text)
    first, second = decode_node_list(text, "nodes.csv", Settings())
    assert first.labels == {"ack.node.gpu.schedule": "topology", GPU_MODEL_LABEL: "G2"}
    assert [len(numa.cpus) for numa in first.machine.topology.numas] == [48, 48]
    assert [gpu.numa for gpu in first.machine.topology.gpus] == [0] * 4 + [1] * 4
    assert second.machine.topology.gpus == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sn,cpu_milli,memory_mib,gpu\nn,1000,1,1", "line 1: found no column model"),
        ("sn,cpu_milli,memory_mib,gpu,model\nn,x,1,1,T4", "line 2: cpu_milli: found 'x'"),
        ("sn,cpu_milli,memory_mib,gpu,model\nn,2000,1,2.7,T4", "line 2: gpu: found '2.7'; expected a whole number"),
        ("sn,cpu_milli,memory_mib,gpu,model\n\u202en,2000,1,2,T4", "line 2: sn: found '\\u202en'"),
        ("sn,cpu_milli,memory_mib,gpu,model\nn,1000,1,1,T4\nn,1000,1,1,T4", "2 rows, 1 names"),
        ("sn,cpu_milli,memory_mib,gpu,model\n", "0 rows"),
    ],
)
def test_a_broken_node_list_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as raised:
        decode_node_list(text, "nodes.csv", Settings())
    assert complaint in str(raised.value)


def test_the_published_traces_are_read_whole(shared_data: Path) -> None:
    def text(name: str) -> str:
        return gzip.decompress((shared_data / "traces" / name).read_bytes()).decode()

    openb = decode_trace(text("openb-v2023/openb_pod_list_default.csv.gz"), "openb", Wishes(), Settings())
    assert len(openb.pods) == 8152 - 3078
    assert sum(asked(one).get("aliyun.com/gpu", 0) for one in openb.pods) == 4355 * 1000
    dlrm = decode_trace(text("dlrm-v2025/disaggregated_DLRM_trace.csv.gz"), "dlrm", Wishes(), Settings())
    assert len(dlrm.pods) == 23_871
    nodes = decode_node_list(text("openb-v2023/openb_node_list_all_node.csv.gz"), "nodes", Settings())
    assert len(nodes) == 1523
    assert sum(len(group.machine.topology.gpus) for group in nodes) == 6212
