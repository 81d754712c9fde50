"""What the explanations and decisions name is there: modules, functions and files."""

import re
from pkgutil import resolve_name

import pytest

from tests.recorded import ROOT

PAGES = [page for folder in ("explanation", "decisions") for page in sorted((ROOT / "docs" / folder).glob("*.md"))]
DOTTED = re.compile(r"(?<![\w/-])(?:adapters|decide|model|tools|wire)(?:\.[a-z_]+)+")
FILE = re.compile(r"`((?:adapters|decide|docs|model|tests|tools|wire)/[\w./-]+)`")


def named(pattern: re.Pattern[str]) -> list[str]:
    """Everything that the pages name in this form, each once."""
    return sorted({match[match.lastindex or 0] for page in PAGES for match in pattern.finditer(page.read_text())})


@pytest.mark.parametrize("name", named(DOTTED))
def test_a_module_or_function_is_there(name: str) -> None:
    assert resolve_name(f"numaplace.{name}") is not None  # raises where there is no such thing


@pytest.mark.parametrize("path", named(FILE))
def test_a_file_is_there(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "src/numaplace" / path).exists()
