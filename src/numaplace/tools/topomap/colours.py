"""Colours that people with any colour vision tell apart, and the style sheet of the drawings.

Okabe and Ito's palette first; further holders get Paul Tol's muted one. What is free
is pale, so that holders stand out.
"""

from collections.abc import Iterable

PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442",  # Okabe and Ito
    "#332288", "#882255", "#117733", "#999933", "#aa4499", "#88ccee", "#ddcc77",  # Tol, muted
)  # fmt: skip

STYLE = """
.np text { font: 11px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2933; }
.np text.small { font-size: 9px; }
.np text.head { font-weight: 600; }
.np text.soft { fill: #52606d; }
.np .package { fill: #f4f6f8; stroke: #9aa5b1; }
.np .numa { fill: #ffffff; stroke: #52606d; }
.np .bridge { fill: none; stroke: #7b8794; stroke-dasharray: 3 2; }
.np .cpu { fill: #b6c6d8; }
.np .lines { stroke: #ffffff; fill: none; }
.np .gpu rect { fill: #0072b2; stroke: #00456b; }
.np .gpu text { fill: #ffffff; }
.np .hca rect { fill: #f3c568; stroke: #8a5f00; }
.np.held .cpu { fill: #e4e9ee; }
.np.held .gpu rect { fill: #eef2f5; stroke: #7b8794; }
.np.held .hca rect { fill: #eef2f5; stroke: #7b8794; }
.np.held .gpu text, .np.held .hca text { fill: #1f2933; }
.np .own rect { fill: var(--own) !important; }
.np .own text { fill: var(--ink) !important; }
.np .bad rect { stroke: #b00020; stroke-width: 2; stroke-dasharray: 4 2; }
.np .link { fill: none; stroke: #3e4c59; }
""".strip()


def colours_of(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label, in the order in which labels first occur; they repeat when they run out."""
    return {label: PALETTE[at % len(PALETTE)] for at, label in enumerate(dict.fromkeys(labels))}


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour `#rrggbb` (WCAG relative luminance)."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if luminance > 0.179 else "#ffffff"


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
