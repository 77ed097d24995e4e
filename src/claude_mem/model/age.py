"""How long something has lasted, in words."""

from __future__ import annotations


def age(seconds: float) -> str:
    """`40 s`, `3 min`, `5 h`, `12 days`."""
    seconds = max(0.0, seconds)
    for least, unit, name in ((172_800, 86_400, "days"), (7_200, 3_600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds)} s"
