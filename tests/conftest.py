import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from tests.harness import hook_process
from tests.harness.growth import Finish

# A runner in the background may have been started with SIGINT ignored, and our children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadlines: a busy machine is not a bug. `make prove` asks for the full profile.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20, stateful_step_count=15)
hypothesis.settings.register_profile("full", deadline=None, max_examples=100, stateful_step_count=50)
hypothesis.settings.load_profile("quick")


IN_MAKE_TEST = {
    "tests/browser": "test_pages.py",
    "tests/e2e/agents": "test_codex.py",
    "tests/e2e/client": "test_hooks.py",
}
"""Of each of these folders `make test` runs one file; the rest is for `make prove`."""

LONGEST_FIRST = (
    "tests/contracts/test_stores.py",
    "tests/security/test_redaction_growth.py",
    "tests/security/test_api_fuzz.py",
    "tests/e2e/install/test_make_install.py",
    "tests/torture",
    "tests/browser/test_access.py",
    "tests/browser/test_large_store.py",
    "tests/browser/test_sign_in.py",
    "tests/browser/test_vscode_window.py",
    "tests/e2e/agents",
    "tests/e2e/client",
    "tests/e2e/test_hook_to_memory.py",
    "tests/security/test_canaries.py",
    "tests/security/test_growth.py",
    "tests/migration",
    "tests/e2e/install",
    "tests/browser",
    "tests/e2e",
    "tests/security",
    "tests/contracts",
)
"""A long file that begins last is waited for alone. So these begin first; the quick ones fill the gaps."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the hour-long torture tests too")
    parser.addoption("--slowly", choices=("page", "hands"), help="slow pages, or slow hands, in a browser")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.relative_to(config.rootpath).as_posix()
        if IN_MAKE_TEST.get(folder, item.path.name) != item.path.name:
            item.add_marker(pytest.mark.prove)
        if item.get_closest_marker("long") and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="an hour long; run with --long"))
    items.sort(key=lambda item: turn(item.path.relative_to(config.rootpath).as_posix()))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    if (postgres := sys.modules.get("tests.harness.postgres")) is None:
        return (yield)
    with postgres.made_for(fixturedef.scope):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        if (postgres := sys.modules.get("tests.harness.postgres")) is not None:
            postgres.is_over("function")
            if nextitem is None or nextitem.path != item.path:
                postgres.is_over("module")


def pytest_sessionfinish() -> None:
    if (postgres := sys.modules.get("tests.harness.postgres")) is not None:
        postgres.remove_servers()


def turn(path: str) -> int:
    """When a file's tests begin."""
    return next((at for at, part in enumerate(LONGEST_FIRST) if path.startswith(part)), len(LONGEST_FIRST))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def awake(data: Path) -> Iterator[Path]:
    """A data directory whose hook.sock somebody listens on: hooks start no worker."""
    with hook_process.listening(data):
        yield data


@pytest.fixture
def finish(capfd: pytest.CaptureFixture[str]) -> Iterator[Finish]:
    """For work that must be linear: see tests/harness/growth.py."""
    with capfd.disabled():
        stderr = os.dup(2)
    yield Finish(stderr)
    os.close(stderr)
