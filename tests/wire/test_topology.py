"""The topology document: what is in it, that it comes back, and what is refused by name."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from numaplace.model.errors import InputError
from numaplace.model.layout import layout_of
from numaplace.wire.machine import discovered, machine
from numaplace.wire.machine_known import KNOWN
from numaplace.wire.topology import decode, encode, topology_hash

Document = dict[str, Any]


def document_of(name: str) -> Document:
    found = discovered(name)
    document: Document = json.loads(encode(found.topology, found.findings))
    return document


@pytest.mark.parametrize("name", list(KNOWN))
def test_a_machine_comes_back_with_its_findings(name: str) -> None:
    found = discovered(name)
    assert decode(encode(found.topology, found.findings)) == found


def test_the_document_has_the_promised_fields() -> None:
    document = document_of("2pkg 8cpu 2GiB 1gpu 1hca pix")
    assert document["v"] == 1
    assert document["online"] == "0-7"
    assert document["numas"][1] == {
        "id": 1,
        "kind": "cpu",
        "cpus": "2-3,6-7",
        "memory_bytes": 1 << 30,
        "distances": {"0": 21, "1": 10},
        "free_bytes": 1 << 30,
        "hugepages": [],
    }
    assert document["packages"] == [{"id": 0, "cpus": "0-1,4-5"}, {"id": 1, "cpus": "2-3,6-7"}]
    assert document["cores"] == ["0,4", "1,5", "2,6", "3,7"]
    assert document["llcs"][0] == {"level": 3, "cpus": "0-1,4-5", "size_bytes": 32 << 20}
    (gpu,), (hca,) = document["gpus"], document["hcas"]
    assert (gpu["pci"], gpu["numa"], gpu["vendor"]) == ("0000:13:00.0", 0, "10de")
    assert gpu["uuid"].startswith("GPU-")
    assert (hca["name"], hca["pci"], hca["numa"]) == ("mlx5_0", "0000:14:00.0", 0)
    assert hca["ports"] == [{"number": 1, "active": True, "link_layer": "InfiniBand", "link_gbps": 400.0}]
    assert document["findings"] == []


def test_what_is_not_known_is_null_and_the_doubt_is_listed() -> None:
    document = document_of("2pkg 8cpu 1gpu numa-unknown")
    assert document["gpus"][0]["numa"] is None
    assert {finding["code"] for finding in document["findings"]} == {"NUMA_UNKNOWN"}


def test_equal_machines_give_equal_bytes() -> None:
    assert encode(machine("lingjun")) == encode(machine("lingjun"))


def test_the_hash_is_of_the_machine_and_not_of_what_is_free() -> None:
    topology = machine("lingjun")
    busy = replace(topology, numas=tuple(replace(numa, free_bytes=1) for numa in topology.numas))
    assert topology_hash(busy) == topology_hash(topology)
    assert topology_hash(replace(topology, gpus=topology.gpus[1:])) != topology_hash(topology)


def put(*path: str | int, value: object) -> Callable[[Document], None]:
    """A change of the document: the value at `path` becomes another."""

    def change(document: Document) -> None:
        at: Any = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (put("v", value=2), "t.json: v: found 2; expected version 1"),
        (put("v", value=True), "t.json: v: found true; expected version 1"),
        (put("v", value="1"), "t.json: v: found '1'; expected version 1"),
        (put("extra", value=1), "t.json: found the unknown field 'extra'"),
        (put("online", value="x"), "t.json: online: CPU list: found 'x'"),
        (put("numas", 0, "kind", value="gpu"), "numas[0].kind: found 'gpu'; expected one of cpu memory device-memory"),
        (put("numas", 1, "id", value=0), "t.json: numas: found 0 twice; expected each one once"),
        (put("numas", 0, "memory_bytes", value=-1), "numas[0].memory_bytes: found the number -1"),
        (put("numas", 0, "distances", value={"x": 10}), "numas[0].distances: found the key 'x'; expected ids"),
        (put("numas", 0, "hugepages", value=[{"page_bytes": 1, "total": 1, "free": 2}]), "hugepages[0]: found 2 of 1"),
        (put("gpus", 0, "numa", value=9), "gpus[0].numa: found 9; expected one of the domains 0 1"),
        (put("gpus", 1, "pci", value="0000:13:00.0"), "t.json: gpus: found 0000:13:00.0 twice"),
        (put("gpus", 0, "pci", value="here"), "gpus[0].pci: PCI address: found 'here'"),
        (put("hcas", 1, "name", value="mlx5_0"), "t.json: hcas: found mlx5_0 twice"),
        (put("pci", 0, "class_code", value="0x06"), "pci[0].class_code: found '0x06'; expected six hex digits"),
        (put("nvlinks", value=[{"a": "0:1:0.0", "b": "0:1:0.0", "count": 1}]), "nvlinks[0].a: PCI address"),
        (put("nvlinks", value=[{"a": "01:00.0", "b": "01:00.0", "count": 1}]), "expected a before b"),
        (put("findings", value=[{"code": "X", "where": "", "text": ""}]), "findings[0].code: found 'X'"),
        (put("numas", 0, "cpus", value="0"), "t.json: hash: found"),
    ],
)
def test_what_is_wrong_is_refused_by_name(change: Callable[[Document], None], complaint: str) -> None:
    document = document_of("2pkg 8cpu 2gpu 2hca pix")
    decode(json.dumps(document))  # whatever was read before
    change(document)
    with pytest.raises(InputError) as caught:
        decode(json.dumps(document), "t.json")
    assert complaint in str(caught.value)


def test_a_document_without_its_hash_may_be_changed() -> None:
    document = document_of("2pkg 8cpu")
    document.pop("hash")
    document["numas"][0]["memory_bytes"] = None
    assert decode(json.dumps(document)).topology.numas[0].memory_bytes is None


def test_machines_of_one_model_share_all_but_the_names_of_their_cards() -> None:
    first, second = document_of("lingjun"), document_of("lingjun")
    second.pop("hash")
    second["gpus"][0]["uuid"] = "GPU-another"
    second["numas"][0]["free_bytes"] = 1
    one, other = decode(json.dumps(first)).topology, decode(json.dumps(second)).topology
    assert (one.gpus[0].uuid, other.gpus[0].uuid) == (first["gpus"][0]["uuid"], "GPU-another")
    assert (one.numas[0].free_bytes, other.numas[0].free_bytes) == (first["numas"][0]["free_bytes"], 1)
    assert one.cores is other.cores
    assert one.pci is other.pci
    assert layout_of(one) is layout_of(other)


def test_a_machine_that_is_counted_otherwise_has_a_layout_of_its_own() -> None:
    document = document_of("2pkg 8cpu 2gpu 2hca pix")
    document.pop("hash")
    one = decode(json.dumps(document)).topology
    document["gpus"][0]["mig"] = True
    other = decode(json.dumps(document)).topology
    assert (layout_of(one).whole_gpus, layout_of(other).whole_gpus) == (0b11, 0b10)


def test_a_hash_that_is_null_or_not_there_is_not_checked_but_a_list_is_no_hash() -> None:
    document = document_of("2pkg 8cpu")
    document["hash"] = None
    assert decode(json.dumps(document)).topology == machine("2pkg 8cpu")
    document["hash"] = []
    with pytest.raises(InputError, match=r"topology: hash: found"):
        decode(json.dumps(document))
