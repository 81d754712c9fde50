"""Files and functions keep the size at which one can be read in one go, and every file says why it exists."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorded import ROOT

SOURCE = ROOT / "src" / "numaplace"
FILE_LINES = 400
HEAD_LINES = 6
FUNCTION_LINES = 60  # one screen; a table or a parser that reads straight down needs most of it
USUAL_FUNCTION_LINES = 30
USUAL_SHARE = 0.9

MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(module: Path) -> str:
    return str(module.relative_to(SOURCE))


def functions_of(module: Path) -> Iterator[tuple[str, int]]:
    """Name and number of lines of each function, without its docstring and decorators."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            head = node.body[0]
            if ast.get_docstring(node) is not None:
                lines -= (head.end_lineno or head.lineno) - head.lineno + 1
            yield f"{name_of(module)}:{node.lineno} {node.name}", lines


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_module_says_why_it_exists(module: Path) -> None:
    head = ast.get_docstring(ast.parse(module.read_text()))
    assert head, "a module begins with a docstring: why it exists, who calls it, what it leaves to others"
    written = [line for line in head.splitlines() if line.strip()]
    assert len(written) <= HEAD_LINES, (
        f"a head is at most {HEAD_LINES} lines; longer texts belong into docs/explanation"
    )


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_file_is_read_in_one_go(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= FILE_LINES


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_function_fits_on_a_screen(module: Path) -> None:
    assert [(name, lines) for name, lines in functions_of(module) if lines > FUNCTION_LINES] == []


def test_nine_functions_in_ten_are_short() -> None:
    sizes = sorted((lines, name) for module in MODULES for name, lines in functions_of(module))
    long = [f"{lines:3} {name}" for lines, name in sizes if lines > USUAL_FUNCTION_LINES]
    assert len(long) <= (1 - USUAL_SHARE) * len(sizes), "\n".join(long)
