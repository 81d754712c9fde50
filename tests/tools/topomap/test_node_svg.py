"""The picture: well-formed, nothing overlaps or sticks out, and holders are where they hold."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from numaplace.model.cpuset import CpuSet
from numaplace.tools.topomap.colours import PALETTE, colours_of, ink_on
from numaplace.tools.topomap.holders import Holders
from numaplace.tools.topomap.machine_svg import svg_text
from numaplace.tools.topomap.node_svg import draw_node
from numaplace.wire.machine import machine
from numaplace.wire.machine_known import KNOWN

SVG = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]


def boxes(element: ET.Element, css: str, x: float = 0, y: float = 0) -> Iterator[Box]:
    """Left, top, right and bottom of every rectangle of a class, or in a group of that class."""
    shift = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", element.get("transform", ""))
    if shift:
        x, y = x + float(shift[1]), y + float(shift[2])
    for child in element:
        classes = f"{element.get('class', '')} {child.get('class', '')}".split()
        if child.tag == f"{SVG}rect" and css in classes:
            yield x, y, x + float(child.attrib["width"]), y + float(child.attrib["height"])
        yield from boxes(child, css, x, y)


def titles(element: ET.Element) -> list[str]:
    return [title.text or "" for title in element.iter(f"{SVG}title")]


def drawn(name: str, holders: Holders | None = None) -> ET.Element:
    body = draw_node(machine(name), holders).body
    return ET.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{body}</svg>')


@pytest.mark.parametrize("name", [*KNOWN, "2pkg 1gpu 1hca numa-unknown", "2pkg 1numa 8cpu", "1cpu"])
def test_a_picture_is_whole_and_holds_every_part_inside_itself(name: str) -> None:
    topology = machine(name)
    root = ET.fromstring(svg_text(topology))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    # The legend shows two chips more: an HCA that works and one that does not, and a GPU.
    legend = 1 if topology.gpus or topology.hcas else 0
    assert len(list(boxes(root, "gpu"))) == len(topology.gpus) + legend
    assert len(list(boxes(root, "hca"))) == len(topology.hcas) + 2 * legend
    for css in ("package", "numa", "bridge", "gpu", "hca"):
        for left, top, right, bottom in boxes(root, css):
            assert 0 <= left < right <= width
            assert 0 <= top < bottom <= height


@pytest.mark.parametrize("name", [*KNOWN, "64gpu 64hca pix", "4pkg nps4 256cpu amd 32gpu 32hca phb"])
@pytest.mark.parametrize("kinds", [("package",), ("gpu", "hca"), ("numa",)])
def test_parts_of_a_kind_do_not_overlap(name: str, kinds: tuple[str, ...]) -> None:
    root = drawn(name)
    placed = sorted(box for css in kinds for box in boxes(root, css))
    for at, (left, top, right, bottom) in enumerate(placed):
        for other in placed[at + 1 :]:
            apart = other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
            assert apart, (left, top, right, bottom, other)


@pytest.mark.parametrize("name", list(KNOWN))
def test_every_cpu_is_told_once(name: str) -> None:
    told = [CpuSet.parse(title.removeprefix("CPUs ")) for title in titles(drawn(name)) if title.startswith("CPUs ")]
    assert sum(map(len, told)) == len(machine(name).online)
    assert sum(cpus.bits for cpus in told) == machine(name).online.bits


def test_people_who_do_not_see_it_are_told_what_it_shows() -> None:
    root = ET.fromstring(svg_text(machine("lingjun")))
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "192 CPUs, 2 packages, 2 NUMA domains, 2 TiB, 8 GPUs, 8 HCAs"  # type: ignore[union-attr]
    description = root.find(f"{SVG}desc").text or ""  # type: ignore[union-attr]
    assert "NUMA 1 has CPUs 48-95,144-191, 1 TiB" in description
    assert "GPU 7 is on NUMA 1" in description


def test_holders_are_shown_on_what_they_hold() -> None:
    topology = machine("lingjun")
    root = drawn(
        "lingjun", Holders({0: "a<b", 1: "a<b", 96: "c"}, {topology.gpus[5].pci: "c"}, {topology.hcas[2].name: "c"})
    )
    said = titles(root)
    assert "a<b: CPUs 0-1" in said
    assert "c: CPUs 96" in said
    assert "CPUs 2-47,97-143" in said
    assert sum(title.startswith("c: GPU 5") for title in said) == 1
    assert sum(title.startswith("c: mlx5_2") for title in said) == 1
    colours = colours_of(["a<b", "c"])
    assert colours["c"] in ET.tostring(root, encoding="unicode")


def test_a_colour_that_is_given_is_used() -> None:
    body = draw_node(machine("8cpu"), Holders({0: "a"}), {"a": "#123456"}).body
    assert "#123456" in body


def test_equal_arguments_give_equal_text() -> None:
    assert draw_node(machine("lingjun")) == draw_node(machine("lingjun"))


def test_labels_keep_their_colour_in_order_and_repeat_when_they_run_out() -> None:
    labels = [f"pod-{at}" for at in range(20)]
    assert colours_of([*labels, "pod-0"])["pod-14"] == PALETTE[0]
    assert list(colours_of(labels).values())[:14] == list(PALETTE)


@pytest.mark.parametrize("colour", PALETTE)
def test_words_on_a_colour_have_enough_contrast(colour: str) -> None:
    def luminance(text: str) -> float:
        parts = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(colour), luminance(ink_on(colour))))
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG AA
