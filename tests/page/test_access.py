"""The page for everybody: axe-core, keyboard alone, both colour schemes, a phone's width."""

import itertools
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from .actions import TORCHX, ask, judge

WIDTHS = (390, 768, 1280)
INJECTED = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels: {fabric-injector.io/profile: rdma-shared}
  annotations: {k8s.v1.cni.cncf.io/networks: rails/rail-0}
spec:
  containers:
  - name: c
    image: i
    securityContext: {runAsUser: 1}
    env: [{name: NCCL_SOCKET_IFNAME, value: eth0}]
"""
DENIED = INJECTED.replace("rails/rail-0", "rails/rail-9")
MIXED = "---\n".join(
    [INJECTED, DENIED, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n", "a: b"]
)
"""Every colour of an answer, in few lines: axe-core measures the contrast of each."""


def look(page: Page) -> None:
    """Let axe-core look for faults on each width of WIDTHS, in light and dark; nothing is wider."""
    before = page.viewport_size
    for width, scheme in itertools.product(WIDTHS, ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
        assert [(fault["id"], [node["html"] for node in fault["nodes"]]) for fault in found] == []
    page.emulate_media(color_scheme="light")
    if before:
        page.set_viewport_size(before)


def test_can_be_used_by_everybody(page: Page) -> None:
    look(page)
    judge(page, MIXED)
    for toggle in page.get_by_role("button", expanded=False).all()[::-1]:
        toggle.click()
    for part in page.locator(".idle summary").all()[::-1]:
        part.click()
    look(page)
    for tab in ("YAML", "JSON Patch"):
        page.locator("#results .card").first.get_by_role("tab", name=tab).click()
        look(page)
    judge(page, INJECTED, namespace="trial")
    look(page)
    judge(page, TORCHX, namespace="default")
    look(page)
    ask(page, "a: b: c")
    expect(page.get_by_role("alert")).to_contain_text("line 1, column 5")
    look(page)


class TestForcedColours:
    """Where the system gives all colours: what is chosen must not be told by colour alone."""

    @pytest.fixture
    def context_options(self) -> dict[str, Any]:
        return {"forced_colors": "active"}

    def test_marks_what_is_chosen_by_an_outline(self, page: Page) -> None:
        judge(page, MIXED).first.get_by_role("button", expanded=False).click()
        outline = "element => getComputedStyle(element).outlineStyle"
        for mark in (".filter[aria-pressed={}]", "[role=tab][aria-selected={}]"):
            assert page.locator(mark.format("true")).first.evaluate(outline) == "solid"
            assert page.locator(mark.format("false")).first.evaluate(outline) == "none"
        assert page.locator("nav a[aria-current]").evaluate(outline) == "solid"


class TestPaper:
    """Printed from a dark screen."""

    @pytest.fixture
    def context_options(self) -> dict[str, Any]:
        return {"color_scheme": "dark"}

    def test_holds_the_answer_alone_in_dark_ink(self, page: Page) -> None:
        judge(page, MIXED)
        page.emulate_media(media="print")
        expect(page.locator("#form")).to_be_hidden()
        expect(page.locator("#results .code").first).to_be_visible()
        assert (
            page.locator("#results h2").evaluate("element => getComputedStyle(element).color")
            == "rgb(28, 34, 38)"
        )


class TestKeyboard:
    """Without a mouse."""

    def test_reaches_everything_in_the_order_of_the_screen(self, page: Page) -> None:
        judge(page)
        page.locator(".skip").focus()
        reached = []
        while True:
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):  # behind the last
                break
            name, outline = page.evaluate(
                """() => {
                    const { id, innerText } = document.activeElement;
                    const { outlineStyle } = getComputedStyle(document.activeElement);
                    return [(id || innerText || "").split("\\n")[0].trim(), outlineStyle];
                }"""
            )
            reached.append(name)
            # the frame of the manifest shows its focus, and so does the label of the files
            assert outline != "none" or name in ("manifest", "files")
        assert reached[0] == "Dry run"
        wanted = ["refresh", "namespace", "profile", "files", "manifest", "judge", "clear"]
        assert [name for name in reached if name in wanted] == wanted
        assert [
            name
            for name in reached[reached.index("clear") :]
            if "-tab-" in name or "-panel-" in name
        ] == [
            *("tabs-1-tab-0", "tabs-1-panel-0"),
        ]

    def test_moves_between_tabs_by_arrow_keys(self, page: Page) -> None:
        card = judge(page).first
        card.get_by_role("tab", name="Diff").focus()
        page.keyboard.press("ArrowRight")
        expect(card.get_by_role("tab", name="YAML")).to_be_focused()
        expect(card.get_by_role("tab", name="YAML")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("End")
        expect(card.get_by_role("tab", name="JSON Patch")).to_be_focused()
        page.keyboard.press("ArrowRight")
        expect(card.get_by_role("tab", name="Diff")).to_be_focused()

    def test_says_what_came_out(self, page: Page) -> None:
        judge(page)
        expect(page.locator("#said")).to_have_text("2 pods, all injected. 0 objects without pods.")

    def test_skips_to_the_content(self, page: Page) -> None:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        expect(page.locator("#dry-run")).to_be_visible()
