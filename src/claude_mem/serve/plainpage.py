"""The page somebody sees who is not signed in: what to type. No script, no style, nothing of memory."""

from __future__ import annotations

_TOLD = {
    401: ("You are not signed in.", "Type this in a terminal; it opens the viewer, signed in:"),
    403: (
        "This link opens nothing.",
        "It was used already, is more than a minute old, or came from another page. Type this for a new one:",
    ),
    421: ("This is not the address of the viewer.", "Type this in a terminal; it opens the viewer:"),
}
_OTHERWISE = ("The viewer cannot be shown.", "Try again, or type this in a terminal:")


def html(status: int) -> str:
    what, then = _TOLD.get(status, _OTHERWISE)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>claude-mem</title>\n<h1>claude-mem</h1>\n<p>{what}</p>\n<p>{then}</p>\n"
        "<pre>claude-mem open</pre>\n</html>\n"
    )
