"""The documents say what the code does, and lead nowhere that does not exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from claude_mem.cli.commands import COMMANDS
from claude_mem.hook import paths
from claude_mem.model import records
from claude_mem.privacy import tags
from claude_mem.settings.declarations import SETTINGS, SWITCHES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_generated_pages_are_what_the_code_says() -> None:
    said = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            assert (page.parent / target).exists(), target


def test_every_file_of_the_data_directory_is_explained() -> None:
    page = (ROOT / "docs" / "data-directory.md").read_text(encoding="utf-8")
    names = [value for name, value in vars(paths).items() if name.isupper() and isinstance(value, str)]
    for other in (paths.CLAUDE_CODE, paths.IN_PROJECT, paths.OPEN_TO_ALL):  # an agent, messages: no files
        names.remove(other)
    assert len(names) > 10
    for name in names:
        assert f"`{name}" in page, name


def test_every_setting_and_switch_is_explained() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for key in (*(setting.key for setting in SETTINGS), *SWITCHES):
        assert f"`{key}`" in page


def test_every_kind_of_record_and_every_field_of_it_is_explained() -> None:
    page = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    for kind, fields in records.FIELDS.items():
        section = page.partition(f"\n### `{kind}`\n")[2].partition("\n#")[0]
        for field in fields:
            required = field in records.REQUIRED[kind]
            assert (f"**`{field}`**" if required else f"`{field}`") in section, f"{kind}: {field}"


def test_every_command_is_explained() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"## `claude-mem {name}`" in page


def test_the_tag_a_person_writes_is_explained() -> None:
    assert f"<{tags.PRIVATE}>" in (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")


def test_the_locks_name_no_index_and_pin_every_file_by_its_hash() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text
        assert not re.search(r"^--", text, re.MULTILINE)
        pinned = re.findall(r"^[a-z0-9._-]+==\S+( \\\n    --hash=sha256:)?", text, re.MULTILINE)
        assert pinned
        assert all(pinned)


def test_the_readme_has_two_commands_of_its_own_and_no_path_of_a_machine_it_was_written_on() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^- \*\*`make (\w+)`\*\*", page, re.MULTILINE) == ["demo", "test"]
    for text in (page.read_text(encoding="utf-8") for page in PAGES):
        assert not re.search(r"/(root|work|tmp)/", text)
