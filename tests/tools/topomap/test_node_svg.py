"""The picture: well-formed, nothing overlaps or sticks out, every part is there once."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import pytest

from numaplace.model.cpuset import CpuSet
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


def drawn(name: str) -> ET.Element:
    body = draw_node(machine(name)).body
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


def test_equal_arguments_give_equal_text() -> None:
    assert draw_node(machine("lingjun")) == draw_node(machine("lingjun"))
