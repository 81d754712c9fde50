"""Text that any terminal can take: nothing that moves a cursor or turns a line around, no signs its encoding lacks."""

import codecs

_PLAINER = str.maketrans({"├": "|", "│": "|", "└": "`", "─": "-", "×": "x", "–": "-", "…": "...", "·": "-"})
_TURNING = (
    0x061C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)  # lines and directions
_CONTROLS = {code: "?" for code in (*range(0x20), *range(0x7F, 0xA0), *_TURNING) if code != ord("\n")}


def plain(text: str, encoding: str | None) -> str:
    """The text as it can be printed; what files hold must not move a cursor."""
    text = text.translate(_CONTROLS)
    try:
        is_utf = codecs.lookup(encoding or "ascii").name.startswith("utf")
    except LookupError:
        is_utf = False
    return text if is_utf else text.translate(_PLAINER).encode("ascii", "replace").decode()
