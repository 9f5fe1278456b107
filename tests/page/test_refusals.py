"""What the page says where the server refuses, is slow, ends early or is gone."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.page.served import ServedPage

from .actions import POD, ask, headline, judge, paste
from .conftest import NETWORKS, PROFILES


def test_says_that_a_manifest_is_too_large(page: Page) -> None:
    ask(page, "#" * (4 << 20))
    expect(page.get_by_role("alert")).to_contain_text(
        "The manifest of 4.2 MB is larger than the page takes"
    )


REFUSALS = [
    (503, '{"message": "too many requests are waiting; ask"}', "too many requests are waiting"),
    (500, "<h1>no JSON</h1>", "The server answered 500"),
    (429, "", "The server answered 429 Too Many Requests"),
    (500, '{"kind": "Status"}', "The server answered 500"),
]


def test_says_what_the_server_refuses(page: Page) -> None:
    answers = iter(REFUSALS)

    def refuse(route: Route) -> None:
        status, body, _ = next(answers)
        route.fulfill(status=status, body=body)

    page.route("**/dry-run?*", refuse)
    for _, _, message in REFUSALS:
        ask(page, POD)
        expect(page.get_by_role("alert")).to_contain_text(message)
        expect(page.get_by_role("button", name="Dry run")).to_be_enabled()


def test_says_that_an_answer_is_long_in_coming(page: Page) -> None:
    page.clock.install()
    page.route("**/dry-run?*", lambda route: None)
    page.route("**/state", lambda route: None)
    ask(page, POD)
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#waiting")).to_have_text("")
    page.clock.run_for(10_000)
    expect(page.locator("#waiting")).to_contain_text("No answer for 10 seconds")
    expect(page.locator("#server")).to_have_text("no answer yet")
    page.unroute("**/dry-run?*")
    page.locator("#judge").click()
    expect(page.locator("#results h2")).to_have_text("1 pod, left as it is")
    expect(page.locator("#waiting")).to_have_text("")


def test_forgets_an_answer_that_comes_too_late(page: Page) -> None:
    held: list[Route] = []
    page.route("**/dry-run?*", lambda route: held.append(route) if not held else route.continue_())
    ask(page, POD)
    judge(page, "---\n".join([POD, POD]))
    assert headline(page) == "2 pods, all left as it is"
    held[0].abort()
    expect(page.get_by_role("alert")).to_have_text("")


def test_an_error_of_drawing_is_not_one_of_the_server(context: BrowserContext, url: str) -> None:
    page = context.new_page()
    failed: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.route("**/state", lambda route: route.fulfill(json={"version": "1", "problems": []}))
    page.goto(url)
    expect(page.locator("#server")).to_have_text("this page failed: reload it")
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#server")).to_have_text("this page failed: reload it")
    assert failed


def test_asks_anew(page: Page) -> None:
    with page.expect_response("**/state") as answer:
        page.get_by_role("button", name="Refresh").click()
    assert answer.value.headers["cache-control"] == "no-store"


class TestServerThatDies:
    """Behind a server whose answers to dry runs end before they are whole."""

    @pytest.fixture
    def url(self, served: ServedPage) -> Iterator[str]:
        class Cut(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reply = served.plain("GET", self.path, headers={"Accept": self.headers["Accept"]})
                self.wfile.write(b"HTTP/1.0 200 OK\r\n")
                self.wfile.write(
                    "".join(
                        f"{name}: {value}\r\n" for name, value in reply.headers.items()
                    ).encode()
                )
                self.wfile.write(b"\r\n" + reply.body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Length: 1000\r\n\r\n{"pods": [')

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Cut) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()

    def test_says_that_an_answer_ended_early(self, page: Page) -> None:
        ask(page, POD)
        expect(page.get_by_role("alert")).to_contain_text("The server's answer ended early")
        expect(page.get_by_role("button", name="Dry run")).to_be_enabled()


class TestOwnServer:
    """Tests with a server of their own: one that ends, one with a thousand namespaces."""

    @pytest.fixture
    def own(self, tmp_path: Path) -> Iterator[ServedPage]:
        objects = tmp_path / "many.json"
        labels = {"fabric-injector.io/profile": "rdma-shared"}
        spaces = [
            {
                "kind": "Namespace",
                "metadata": {"name": f"team-{number:04}", "labels": labels if number % 2 else {}},
            }
            for number in range(1000)
        ]
        objects.write_text(json.dumps({"kind": "List", "items": spaces}))
        with ServedPage(tmp_path / "log", PROFILES, NETWORKS, objects) as running:
            yield running

    @pytest.fixture
    def url(self, own: ServedPage) -> str:
        return own.url

    def test_lists_a_thousand_namespaces(self, page: Page) -> None:
        assert page.locator("#known-namespaces option").count() == 1004

    def test_says_that_the_server_is_gone(self, page: Page, own: ServedPage) -> None:
        paste(page, POD)
        own.process.terminate()
        own.process.wait(20)
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_role("alert")).to_contain_text(
            "The server does not answer. Is fabric-injector page still running"
        )
        expect(page.locator("#server")).to_have_text("server gone")
        assert page.get_by_label("Manifest", exact=True).input_value() == POD
