from pathlib import Path

import pytest

from claude_mem.model.errors import SettingsError
from claude_mem.model.refs import TYPES
from claude_mem.observe import mode

MINE = """
description = "the care of a garden"
language = "German"
extra = "Plants by their Latin names."
record = ["what was planted"]
[skip]
minimal = ["weeds"]
normal = []
verbose = []
[types]
change = "something was altered"
[concepts]
season = "when it happens"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "garden.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_code_mode_ships_with_all_types() -> None:
    code = mode.load("code", [])
    assert {name for name, _ in code.types} == set(TYPES)
    assert all(code.skips(verbosity) for verbosity in mode.VERBOSITIES)
    assert len(code.skips("minimal")) > len(code.skips("verbose"))


def test_a_users_own_mode_is_read_whole(tmp_path: Path) -> None:
    written(tmp_path, MINE)
    garden = mode.load("garden", [tmp_path])
    assert (garden.name, garden.language, garden.extra) == (
        "garden",
        "German",
        "Plants by their Latin names.",
    )
    assert garden.types == (("change", "something was altered"),)
    assert garden.concepts == (("season", "when it happens"),)
    assert garden.record == ("what was planted",)
    assert garden.skips("minimal") == ("weeds",)


def test_a_users_mode_may_take_the_place_of_a_shipped_one(tmp_path: Path) -> None:
    written(tmp_path, MINE).rename(tmp_path / "code.toml")
    assert mode.load("code", [tmp_path]).description == "the care of a garden"


@pytest.mark.parametrize("name", ["kitchen", "../garden", "", "/etc/passwd"])
def test_an_unknown_mode_is_an_error_that_names_those_there_are(tmp_path: Path, name: str) -> None:
    written(tmp_path, MINE)
    with pytest.raises(SettingsError, match="code, garden"):
        mode.load(name, [tmp_path, tmp_path / "missing"])


@pytest.mark.parametrize(
    ("old", "new", "key", "allowed"),
    [
        ("change =", "epiphany =", "types", "bugfix, feature, refactor, change, discovery, decision"),
        ("language =", "tongue =", "tongue", "description, language"),
        ('"German"', "7", "language", "a non-empty line"),
        ("verbose = []", "", "skip", "minimal, normal, verbose"),
        ("normal = []", "normal = [1]", "skip.normal", "a non-empty line"),
        ('["what was planted"]', '"all"', "record", "a list of lines"),
        ('"when it happens"', '""', "concepts.season", "a non-empty line"),
        ('"Plants by their Latin names."', "[]", "extra", "not empty"),
        ('"the care of a garden"', '"""a\nb"""', "description", "a non-empty line"),
        ("[types]", "[types", "the file", "TOML"),
        pytest.param('"German"', "[" * 50_000, "the file", "TOML", id="endless brackets"),
        pytest.param('"German"', "9" * 5_000, "the file", "TOML", id="endless digits"),
    ],
)
def test_an_error_names_the_file_the_key_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, key: str, allowed: str
) -> None:
    assert old in MINE
    path = written(tmp_path, MINE.replace(old, new))
    with pytest.raises(SettingsError) as caught:
        mode.load("garden", [tmp_path])
    assert caught.value.key == key
    assert str(path) in str(caught.value)
    assert allowed in caught.value.allowed
