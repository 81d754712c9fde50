"""The file that says what no kernel shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaplace.decide.discover.facts import Facts, facts_text, parse_facts
from numaplace.model.devices import NvLink
from numaplace.model.finding import FindingCode
from numaplace.model.ids import GpuUuid, HcaName, NumaId, PciAddress

WORDS = st.from_regex(r"[a-z0-9-]+( [a-z0-9-]+){0,3}", fullmatch=True)
ADDRESSES = st.builds("{:04x}:{:02x}:{:02x}.{:x}".format, *(st.integers(0, top) for top in (0xFFFFF, 255, 31, 7))).map(
    PciAddress
)
NAMES = st.from_regex(r"[a-z]{1,5}[0-9_]{1,4}", fullmatch=True)
NUMAS = st.integers(0, 999).map(NumaId)


@st.composite
def links(draw: st.DrawFn) -> tuple[NvLink, ...]:
    pairs = draw(
        st.lists(
            st.lists(ADDRESSES, min_size=2, max_size=2, unique=True).map(lambda pair: tuple(sorted(pair))), unique=True
        )
    )
    return tuple(NvLink(a, b, draw(st.integers(1, 36))) for a, b in sorted(pairs))


FACTS = st.builds(
    Facts,
    uuids=st.dictionaries(ADDRESSES, st.uuids().map(lambda uuid: GpuUuid(f"GPU-{uuid}"))),
    models=st.dictionaries(ADDRESSES, WORDS),
    memory_numas=st.dictionaries(ADDRESSES, NUMAS),
    mig=st.dictionaries(ADDRESSES, st.booleans()),
    gpu_faults=st.dictionaries(ADDRESSES, WORDS),
    hca_faults=st.dictionaries(NAMES.map(HcaName), WORDS),
    numas=st.dictionaries(ADDRESSES | NAMES, NUMAS),
    nvlinks=links(),
)


@given(FACTS)
def test_written_facts_are_read_back(facts: Facts) -> None:
    assert parse_facts(facts_text(facts), "facts") == (facts, [])


def test_comments_and_empty_lines_say_nothing() -> None:
    assert parse_facts("# a word\n\n   \n", "facts") == (Facts(), [])


@pytest.mark.parametrize(
    "line",
    [
        "gpu 0000:3b:00.0",
        "gpu 0000:3b:00.0 uuid",
        "gpu card0 uuid GPU-1",
        "gpu 0000:3b:00.0 colour green",
        "gpu 0000:3b:00.0 mig maybe",
        "gpu 0000:3b:00.0 memory-numa -1",
        "tpu 0000:3b:00.0 uuid GPU-1",
        "pci 0000:3b:00.0 numa near",
        "nvlink 0000:3b:00.0 0000:3b:00.0 4",
        "nvlink 0000:3b:00.0 0000:5e:00.0 99",
        "gpu 0000:3b:00.0 fault \x1b[31mred",
    ],
)
def test_a_line_that_says_nothing_known_is_a_finding_and_spoils_no_other(line: str) -> None:
    facts, findings = parse_facts(f"{line}\npci 0000:5e:00.0 numa 1\n", "facts")
    assert facts == Facts(numas={"0000:5e:00.0": NumaId(1)})
    assert [(finding.code, finding.where) for finding in findings] == [(FindingCode.FILE_BROKEN, "facts:1")]
