"""One POST: what it returns, whom it trusts, which way it goes. (That it ends in time: the contract.)"""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness.model_script import Cut, Raw, Say, Status
from tests.harness.model_server import ModelServer

from claude_mem import http_client as wire
from claude_mem.http_client import HttpAnswer, Unreached
from claude_mem.providers import http as model_http

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")


@pytest.fixture(autouse=True)
def no_proxy_of_the_tester(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of model.example and 127.0.0.1, signed by nobody but itself."""
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    key = file.with_name("key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=model.example", "-addext",
         "subjectAltName=DNS:model.example,IP:127.0.0.1", "-keyout", str(key), "-out", str(file)],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_text(file.read_text() + key.read_text())
    return file


@pytest.fixture
def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def post(url: str, *, tls: ssl.SSLContext | None = None, body: bytes = b"{}") -> HttpAnswer | Unreached:
    return model_http.post(url, body, {"x-api-key": "k"}, deadline_s=30, tls=tls)


def test_an_answer_comes_back_as_it_was_whatever_its_status() -> None:
    with ModelServer([Status(418, {"Retry-After": "7"})]) as server:
        answer = post(f"{server.url}/v1/messages?beta=true", body=b'{"model": "m"}')
    assert isinstance(answer, HttpAnswer)
    assert (answer.status, answer.headers["retry-after"]) == (418, "7")
    request = server.requests[0]
    assert (request.path, request.body) == ("/v1/messages?beta=true", {"model": "m"})
    assert request.headers["content-type"] == "application/json"


def test_a_redirect_is_reported_and_not_followed() -> None:
    with ModelServer([Status(307, {"Location": "http://127.0.0.1:9/elsewhere"})]) as server:
        answer = post(f"{server.url}/v1/messages")
    assert isinstance(answer, HttpAnswer)
    assert answer.status == 307


def test_an_answer_without_end_is_cut_off_at_four_mebibytes() -> None:
    with ModelServer([Raw(b" " * (wire.MOST_BYTES + 1))]) as server:
        assert post(server.url) == Unreached("sent more than 4 MiB")


def test_an_answer_of_exactly_four_mebibytes_is_read() -> None:
    with ModelServer([Raw(b" " * wire.MOST_BYTES)]) as server:
        answer = post(server.url)
    assert isinstance(answer, HttpAnswer)
    assert len(answer.body) == wire.MOST_BYTES


def test_an_answer_that_breaks_off_is_no_answer() -> None:
    with ModelServer([Cut()]) as server:
        assert post(server.url) == Unreached("closed the connection before the reply was complete")


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(server_tls: ssl.SSLContext) -> None:
    with ModelServer([Say("ok")], tls=server_tls) as server:
        assert post(f"{server.url}/v1/messages") == Unreached("could not be verified (TLS)")
    assert server.requests == [], "the key would have been sent to a stranger"


def test_a_certificate_for_another_name_is_not_trusted(server_tls: ssl.SSLContext, certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=certificate)
    with ModelServer([Say("ok")], tls=server_tls) as server:
        answer = post(f"https://localhost:{server.port}/", tls=trusting)
    assert answer == Unreached("could not be verified (TLS)")


def test_a_trusted_certificate_is_talked_to(server_tls: ssl.SSLContext, certificate: Path) -> None:
    with ModelServer([Say("ok")], tls=server_tls) as server:
        answer = post(f"{server.url}/v1/messages", tls=ssl.create_default_context(cafile=certificate))
    assert isinstance(answer, HttpAnswer)
    assert answer.status == 200


def test_plain_http_goes_through_the_proxy_with_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Say("ok")]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{proxy.port}")
        answer = post("http://model.example/v1/messages")
    assert isinstance(answer, HttpAnswer)
    request = proxy.requests[0]
    assert (request.path, request.headers["host"]) == ("http://model.example/v1/messages", "model.example")
    assert "proxy-authorization" in request.headers


def test_https_goes_through_a_tunnel_that_the_proxy_cannot_read(
    monkeypatch: pytest.MonkeyPatch, server_tls: ssl.SSLContext, certificate: Path
) -> None:
    with ModelServer([Say("ok")], tls=server_tls) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@127.0.0.1:{proxy.port}")
        trusting = ssl.create_default_context(cafile=certificate)
        answer = post("https://model.example/v1/messages", tls=trusting)
    assert isinstance(answer, HttpAnswer)
    assert answer.status == 200
    tunnel, request = proxy.requests
    assert (tunnel.method, tunnel.path) == ("CONNECT", "model.example:443")
    assert "x-api-key" not in tunnel.headers
    assert request.path == "/v1/messages"
    assert "proxy-authorization" not in request.headers


def test_a_proxy_of_another_kind_is_named_as_the_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://127.0.0.1:9")
    assert post("https://model.example/") == Unreached("could not be reached through the proxy")


def test_no_proxy_names_whom_to_reach_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "127.0.0.1:3128")
    monkeypatch.setenv("NO_PROXY", "model.example,.corp")
    assert wire.proxy_for("https", "model.example") is None
    assert wire.proxy_for("https", "gateway.corp") is None
    assert wire.proxy_for("https", "api.anthropic.com") == "http://127.0.0.1:3128"
    assert wire.proxy_for("http", "api.anthropic.com") is None


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.53", "::1"])
def test_this_machine_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.corp:3128")
    assert wire.proxy_for("http", host) is None


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "http://", "http://a..b/", "model", "http://127.0.0.1:99999/"]
)
def test_an_address_that_is_none_is_a_trouble_and_no_exception(url: str) -> None:
    assert isinstance(post(url), Unreached)


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (TimeoutError(), "did not answer in time"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "could not be resolved (DNS)"),
        (ssl.SSLCertVerificationError(1, "x"), "could not be verified (TLS)"),
        (ConnectionRefusedError(), "refused the connection"),
        (ConnectionResetError(), "reset the connection"),
        (http.client.RemoteDisconnected("x"), "reset the connection"),
        (http.client.BadStatusLine("x"), "did not reply with valid HTTP"),
        (http.client.IncompleteRead(b""), "closed the connection before the reply was complete"),
        (OSError(101, "no route"), "could not be reached"),
    ],
)
def test_every_error_of_the_wire_has_a_name(error: Exception, trouble: str) -> None:
    assert wire.trouble_of(error) == trouble


def test_an_answer_does_not_show_its_body() -> None:
    assert "private" not in repr(HttpAnswer(200, {}, b"private"))


def test_nothing_heavy_is_imported_before_the_first_question() -> None:
    program = (
        "import sys, claude_mem.providers.anthropic, claude_mem.providers.openai, "
        "claude_mem.providers.claude as ours, claude_mem.providers.registry as registry\n"
        "ours.find(registry.Access())\n"
        "print([m for m in ('http.client', 'ssl', 'asyncio', 'claude_agent_sdk', 'mcp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
