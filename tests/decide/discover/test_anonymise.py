"""What names a machine is taken out of its files, and nothing else is."""

import pytest

from numaplace.decide.discover import Tree, anonymised
from numaplace.decide.discover.sources import CPUINFO, FACTS, HCA, KFD, NET, NVIDIA

INFORMATION = f"{NVIDIA}/gpus/0000:3b:00.0/information"


def after(path: str, text: str, *hosts: str) -> str:
    tree = anonymised(Tree({path: text.encode()}), hosts)
    return next(iter(tree.files.values())).decode()


@pytest.mark.parametrize(
    ("path", "text", "replaced"),
    [
        (INFORMATION, "GPU-6f3b2a10-1234-4abc-8def-0123456789ab", "GPU-00000000-0000-0000-0000-000000000001"),
        (FACTS, "gpu 0000:3b:00.0 uuid GPU-00ff00ff00ff00ff", "gpu 0000:3b:00.0 uuid GPU-0000000000000001"),
        ("etc/x", "52:54:00:aa:00:01", "00:00:00:00:00:01"),
        ("etc/x", "0002:c903:00f9:bfa0", "0000:0000:0000:0001"),
        ("etc/x", "fe80:0000:0000:0000:0202:c9ff:fe03:bfa0", "0000:0000:0000:0000:0000:0000:0000:0001"),
        (
            f"{KFD}/1/properties",
            "simd_count 304\nunique_id 9876543210\ndomain 0",
            "simd_count 304\nunique_id 0000000001\ndomain 0",
        ),
        (
            CPUINFO,
            "Hardware\t: BCM2835\nSerial\t\t: 00000000deadbeef\n",
            "Hardware\t: BCM2835\nSerial\t\t: 0000000000000001\n",
        ),
        (
            CPUINFO,
            "processor 0: version = FF,  identification = 9F1234",
            "processor 0: version = FF,  identification = 000001",
        ),
    ],
)
def test_identifiers_become_numbers_of_the_same_shape(path: str, text: str, replaced: str) -> None:
    assert after(path, text) == replaced
    assert len(replaced) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "0000:3b:00.0",
        "10000:01:00.0",
        "pci0000:3a",
        "ffffffff,ffffffff,00000000",
        "0x00000000410fd850",
        "Node:      255\nAddress:   40000000000",
        "Video BIOS: \t 96.00.74.00.01",
        "GPU-????????-????-????-????-????????????",
        "unique_id 0",
        "0-47,96-143",
    ],
)
def test_what_names_nothing_stays(text: str) -> None:
    assert after(INFORMATION, text) == text


def test_equal_identifiers_stay_equal_and_their_order_stays() -> None:
    first, second = "GPU-11111111-0000-0000-0000-00000000000b", "GPU-11111111-0000-0000-0000-00000000000a"
    tree = anonymised(Tree({"a": first.encode(), "b": second.encode(), FACTS: f"{first} {second}".encode()}))
    assert tree.files[FACTS] == tree.files["a"] + b" " + tree.files["b"]
    assert tree.files["a"] > tree.files["b"]


def test_names_that_are_made_of_an_address_are_replaced_in_paths_and_links() -> None:
    tree = anonymised(
        Tree(
            files={"sys/devices/virtual/infiniband/rocex525400fffeaa0001/parent": b"enx525400aa0001\n"},
            links={
                f"{HCA}/rocex525400fffeaa0001": "sys/devices/virtual/infiniband/rocex525400fffeaa0001",
                f"{NET}/enx525400aa0001": "sys/devices/virtual/net/enx525400aa0001",
            },
        )
    )
    assert tree.files == {"sys/devices/virtual/infiniband/rocex0000000000000001/parent": b"enx000000000001\n"}
    assert tree.links == {
        f"{HCA}/rocex0000000000000001": "sys/devices/virtual/infiniband/rocex0000000000000001",
        f"{NET}/enx000000000001": "sys/devices/virtual/net/enx000000000001",
    }


def test_host_names_are_replaced_where_a_person_wrote() -> None:
    facts = "gpu 0000:3b:00.0 fault ask the owner of node17.example.com"
    assert after(FACTS, facts, "node17.example.com", "node17") == facts.replace("node17.example.com", "host" + "x" * 14)
    assert (
        after(FACTS, "gpu 0000:3b:00.0 fault node17-b is another", "node17")
        == "gpu 0000:3b:00.0 fault node17-b is another"
    )


def test_a_host_that_is_called_like_a_word_of_the_format_breaks_nothing() -> None:
    assert after(FACTS, "gpu 0000:3b:00.0 fault gpu is gone", "fault", "gpu") == "gpu 0000:3b:00.0 fault gpu is gone"


def test_bytes_that_are_no_text_are_kept() -> None:
    content = bytes(range(256))
    assert anonymised(Tree({"a": content})).files["a"] == content
