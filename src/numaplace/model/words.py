"""Counts and amounts as every sentence and table writes them."""


def counted(count: int, noun: str) -> str:
    """`1 Pod`, `2 Pods`, `1,523 nodes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size_text(size_bytes: int) -> str:
    """Bytes in the largest binary unit that leaves a short number: `2Mi`, `1.5Ti`."""
    value, unit = float(size_bytes), ""
    for unit in ("", "Ki", "Mi", "Gi", "Ti", "Pi"):
        if value < 1024 or unit == "Pi":
            break
        value /= 1024
    return f"{value:.4g}{unit}"
