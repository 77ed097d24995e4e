"""A server of another user, on another port of 127.0.0.1: a browser sends it the viewer's cookie, and it gets
no further with that."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from playwright.sync_api import BrowserContext, expect
from tests.browser import viewer_browser
from tests.contracts.worker_client import Worker
from tests.harness import workers


@contextmanager
def strangers_server() -> Iterator[tuple[int, list[str]]]:
    """Its port, and the cookies it was sent. Its page tries to read what the viewer stores."""
    cookies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<title>stranger</title>")

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, cookies
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def asked(worker: Worker, method: str, path: str, cookie: str, **headers: str) -> int:
    """As a program asks that has the cookie: Origin and the like are just headers to it."""
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
    own = {"Origin": f"http://127.0.0.1:{worker.port}", "Sec-Fetch-Site": "same-origin", "Cookie": cookie}
    body = (
        json.dumps({"changes": {"CLAUDE_MEM_BASE_URL": "http://127.0.0.1:9"}}) if method == "POST" else None
    )
    try:
        connection.request(method, path, body, own | {"Content-Type": "application/json"} | headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_server_on_another_port_that_is_sent_the_cookie_cannot_use_it(
    context: BrowserContext, quiet: Worker
) -> None:
    sight = viewer_browser.look(context, quiet)
    assert "key=" not in sight.page.url
    stored = str(sight.page.evaluate("localStorage.getItem('claude-mem-key')"))
    with strangers_server() as (port, cookies):
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        sent = next(each for each in cookies if f"claude_mem_{quiet.port}=" in each)  # it was sent
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        assert page.evaluate("document.cookie") == ""
        reached = page.evaluate(
            "(address) => fetch(address, { credentials: 'include' }).then((it) => it.status, () => 0)",
            f"http://127.0.0.1:{quiet.port}/api/prompts",
        )
        assert reached == 0
    assert asked(quiet, "GET", "/api/prompts", sent) == 401
    assert asked(quiet, "GET", "/stream", sent) == 401
    assert asked(quiet, "POST", "/api/settings", sent) == 401
    # The cookie is good: with what the page alone has, it opens the door; but no address is changed by it.
    key = {"X-Claude-Mem-Key": stored}
    assert asked(quiet, "GET", "/api/prompts", sent, **key) == 200
    assert asked(quiet, "POST", "/api/settings", sent, **key) == 403
    sight.page.reload()
    expect(sight.page.get_by_role("heading", level=1)).to_be_visible()
    assert sight.all_that_went_wrong() == []


def test_a_link_to_a_memory_leads_there_after_signing_in(context: BrowserContext, quiet: Worker) -> None:
    link = f"{quiet.post('/api/signin')['link']}#/settings"
    page = context.new_page()
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
    assert page.url == f"http://127.0.0.1:{quiet.port}/#/settings"
