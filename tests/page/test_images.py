"""Take the pictures of the page that `make page-images` puts into docs/images."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import webhook.page
from tests import ROOT

from .actions import judge

SAMPLES = Path(webhook.page.__file__).parent / "samples"
LARGEST_BYTES = 150_000


def take(page: Page, name: str) -> None:
    """Take a picture of the window, small enough for a document."""
    folder = ROOT / "build/screenshots/docs"
    folder.mkdir(parents=True, exist_ok=True)
    content = page.screenshot(path=folder / f"{name}.png", animations="disabled", caret="hide")
    assert len(content) < LARGEST_BYTES


class TestWide:
    """On a desk, in both colour schemes."""

    @pytest.fixture(params=["light", "dark"])
    def scheme(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def context_options(self, scheme: str) -> dict[str, Any]:
        return {"color_scheme": scheme, "viewport": {"width": 1280, "height": 560}}

    def test_shows_what_would_be_added(self, page: Page, scheme: str) -> None:
        judge(page, (SAMPLES / "pytorchjob.yaml").read_text())
        expect(page.get_by_label("Workloads")).to_contain_text("default/rdma-net-ipam")
        page.evaluate("scrollTo(0, 0)")
        take(page, f"page-{scheme}")


class TestDenial:
    """A pod that could never start."""

    @pytest.fixture
    def context_options(self) -> dict[str, Any]:
        return {"viewport": {"width": 1280, "height": 700}}

    def test_shows_why_a_pod_is_denied(self, page: Page) -> None:
        judge(page, (SAMPLES / "refused.yaml").read_text())
        expect(page.locator(".callout.denied").first).to_be_visible()
        take(page, "page-denial")
