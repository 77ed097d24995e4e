"""The viewer's files: small, of this house alone, and nowhere a door through which text becomes markup."""

import re
from pathlib import Path

import pytest

from claude_mem.serve.http.routes import viewer_routes

FILES = sorted(path for path in viewer_routes.FOLDER.rglob("*") if path.is_file())
DOORS = (
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "eval(",
    "new Function",
    "DOMParser",
    "createContextualFragment",
    'setAttribute("style"',
    " style=",
    "javascript:",
    "localStorage",
)
EXPORTED = re.compile(r"^export (?:async )?(?:function\*? |const |let |class )(\w+)", re.MULTILINE)
ELSEWHERE = re.compile(r"https?:(?!//www\.w3\.org/2000/svg\b)|[\"'(]//\w")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_opens_no_door_and_leads_nowhere_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    opened = [door for door in DOORS if door in text]
    stores = path.name in ("page_key.js", "replay.js")  # the page key; whether raw tool uses are shown
    assert opened == (["localStorage"] if stores else [])
    assert ELSEWHERE.findall(text) == []


def test_what_is_not_asked_for_by_any_file_is_not_there() -> None:
    said = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    for path in FILES:
        if path.name != "index.html" and path.parent.name != "pages":
            assert path.name in said, path.name


def test_every_module_that_is_imported_is_there() -> None:
    for path in FILES:
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text(encoding="utf-8")):
            assert (path.parent / name).is_file(), f"{path.name}: {name}"


def test_every_name_that_is_imported_is_exported() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for names, source in re.findall(r'^import \{([^}]*)\} from "(\.[^"]+)"', text, re.MULTILINE):
            exported = set(EXPORTED.findall((path.parent / source).read_text(encoding="utf-8")))
            wanted = {name.split(" as ")[0].strip() for name in names.split(",")} - {""}
            assert wanted <= exported, f"{path.name}: {source}"


def test_no_file_is_long() -> None:
    assert len(FILES) > 20
    assert {path.name: lines for path in FILES if (lines := len(path.read_text().splitlines())) > 270} == {}
