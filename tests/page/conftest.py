"""Fixtures for tests of the page in a real Chromium.

Each test's `page` fails it for what must never happen: a script error, a breach of the
Content-Security-Policy, or a request to anything but the server.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.installed import not_installed
from tests.page.served import ServedPage
from tests.sockets.server import ROOT
from tests.tiers import mark_tier

FOLDER = Path(__file__).parent
PROFILES = ROOT / "webhook/demo/profiles.yaml"
NETWORKS = ROOT / "webhook/demo/networks.yaml"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
expect.set_options(timeout=60_000)  # a busy machine is no fault
WATCH_POLICY = """
window.breaches = [];
addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI, sourceFile }) =>
  window.breaches.push(`${effectiveDirective} ${blockedURI} ${sourceFile}`));
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "page")


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, but fail under CI=true, where nothing may go untested."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Run the Chromium of this machine."""
    if reason := not_installed("test-page"):
        unavailable(reason)
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path)
        yield running
        running.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """Serve the page beside the demo's cluster, for all tests that do not change it."""
    log = tmp_path_factory.mktemp("page") / "log"
    with ServedPage(log, PROFILES, NETWORKS, FOLDER / "objects.yaml") as running:
        yield running


@pytest.fixture
def url(served: ServedPage) -> str:
    """Give the address that `page` opens; a test may override it by another server's."""
    return served.url


@pytest.fixture
def context_options() -> dict[str, Any]:
    """Give what a test wants of its browser context."""
    return {}


@pytest.fixture
def context(browser: Browser, context_options: dict[str, Any]) -> Iterator[BrowserContext]:
    """Give a browser without cookies, cache or history."""
    made = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **context_options})
    made.set_default_timeout(60_000)
    made.add_init_script(WATCH_POLICY)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, url: str) -> Iterator[Page]:
    """Open the page, and wait until it knows what the server knows."""
    with watched(context, f"{url}/", url) as opened:
        yield opened
        assert opened.evaluate("sessionStorage.length") == 0
        assert opened.evaluate("indexedDB.databases()") == []


@contextmanager
def watched(context: BrowserContext, address: str, origin: str) -> Iterator[Page]:
    """Open the address; at the end no script failed, nothing was kept or sent elsewhere."""
    opened = context.new_page()
    faults: list[str] = []
    requested: list[str] = []
    opened.on("pageerror", lambda error: faults.append(f"error: {error}"))
    opened.on("request", lambda request: requested.append(request.url))
    opened.on(
        "console",
        lambda message: (
            faults.append(message.text) if is_fault(message.type, message.text) else None
        ),
    )
    opened.goto(address)
    opened.locator("#server.live").wait_for()
    yield opened
    faults += opened.evaluate("window.breaches")
    assert faults == []
    assert [asked for asked in requested if not asked.startswith(f"{origin}/")] == []
    assert context.cookies() == []
    assert opened.evaluate("localStorage.length") == 0


def is_fault(kind: str, text: str) -> bool:
    """Tell a message of the console that nobody should cause; it has other answers too."""
    return kind in ("error", "warning") and not text.startswith("Failed to load resource")
