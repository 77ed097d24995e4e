"""Real coding agents in throwaway homes, without any network but the loopback where the system permits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.agents.two_sessions import TwoSessions, play
from tests.harness import loopback
from tests.harness.agent_clients.clients import CLIENTS, Client

pytest.register_assert_rewrite("tests.e2e.agents.agent_suite")


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest) -> Client:
    """The agent of this file, installed: afterwards there is no network. A file is about one agent."""
    name: str = request.module.AGENT
    return CLIENTS[name].prepare()


@pytest.fixture(autouse=True, scope="module")
def only_the_loopback(request: pytest.FixtureRequest, client: Client) -> Iterator[None]:
    with loopback.only_the_loopback() as refused:
        if refused:
            loopback.report(request, refused)
        yield


@pytest.fixture(scope="module")
def played(
    client: Client, only_the_loopback: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TwoSessions]:
    yield from play(tmp_path_factory.mktemp(client.name), client)
