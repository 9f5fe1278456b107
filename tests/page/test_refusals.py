"""What the page says where the server refuses, is slow, ends early or is gone."""

from collections.abc import Iterator
from pathlib import Path

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


class TestOwnServer:
    """A server that ends."""

    @pytest.fixture
    def own(self, tmp_path: Path) -> Iterator[ServedPage]:
        with ServedPage(tmp_path / "log", PROFILES, NETWORKS) as running:
            yield running

    @pytest.fixture
    def url(self, own: ServedPage) -> str:
        return own.url

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
