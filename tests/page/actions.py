"""Do what people do on the page."""

from typing import Any

from playwright.sync_api import Locator, Page

from tests.sockets.server import ROOT

TORCHX = (ROOT / "tests/fixtures/torchx/volcano-ddp-2x1.yaml").read_text()
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
TRAINING: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"fabric-injector.io/profile": "rdma-shared"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def pod(**changes: Any) -> dict[str, Any]:
    """Return a pod that is injected; *changes* go into its metadata."""
    return {**TRAINING, "metadata": {**TRAINING["metadata"], **changes}}


def paste(page: Page, text: str) -> None:
    """Put text into the editor at once: to type a long one would take Chromium minutes."""
    page.get_by_label("Manifest", exact=True).evaluate(
        """(area, text) => {
            area.value = text;
            area.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        text,
    )


def ask(page: Page, text: str = TORCHX, namespace: str = "research", profile: str = "") -> None:
    """Paste, choose, and press the button; give no heed to the answer."""
    paste(page, text)
    page.get_by_label("Namespace", exact=True).fill(namespace)
    page.get_by_label("Profile", exact=True).select_option(profile)
    page.locator("#judge").click()


def judge(
    page: Page, text: str = TORCHX, namespace: str = "research", profile: str = ""
) -> Locator:
    """Ask, and wait for the answer; return its cards."""
    before = page.locator("#results h2").element_handles()
    ask(page, text, namespace, profile)
    page.wait_for_function(
        "old => { const now = document.querySelector('#results h2'); return now && now !== old }",
        arg=before[0] if before else None,
    )
    return page.locator("#results .card")


def headline(page: Page) -> str:
    return page.locator("#results h2").inner_text()
