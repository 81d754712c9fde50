"""PCI addresses in the one form that is used everywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.model.errors import InputError
from numaplace.model.ids import parse_pci_address

PARTS = st.tuples(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("3b:00.0", "0000:3b:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),  # as NVML prints it
        ("10000:01:00.0", "10000:01:00.0"),  # behind Intel VMD
        ("0001:00:00.0\n", "0001:00:00.0"),
        ("0:3b:00.7", "0000:3b:00.7"),
    ],
)
def test_every_way_of_writing_comes_to_one(text: str, address: str) -> None:
    assert parse_pci_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "3b:00", "3b:00.8", "0000:3b:00.0.0", "gggg:3b:00.0", "123456789:3b:00.0", "0000:3b:0.0", "x" * 999]
)
def test_anything_else_is_refused_in_a_short_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"PCI address: found .+; expected DOMAIN:BUS:DEVICE\.FUNCTION") as refused:
        parse_pci_address(text)
    assert len(str(refused.value)) < 160


@given(PARTS)
def test_the_form_is_stable(parts: tuple[int, int, int, int]) -> None:
    address = parse_pci_address("{:08X}:{:02X}:{:02X}.{}".format(*parts))
    assert parse_pci_address(address) == address
    assert address == "{:04x}:{:02x}:{:02x}.{}".format(*parts)
