"""Text that any terminal can take: no control characters, and no signs that its encoding lacks."""

import codecs

_PLAINER = str.maketrans({"├": "|", "│": "|", "└": "`", "─": "-", "×": "x", "–": "-", "…": "...", "·": "-"})
_CONTROLS = {code: "?" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != ord("\n")}


def plain(text: str, encoding: str | None) -> str:
    """The text as it can be printed; what a machine's files hold must not move a cursor."""
    text = text.translate(_CONTROLS)
    try:
        is_utf = codecs.lookup(encoding or "ascii").name.startswith("utf")
    except LookupError:
        is_utf = False
    return text if is_utf else text.translate(_PLAINER).encode("ascii", "replace").decode()
