"""What must not harm the page: scripts in manifests, letters that do not show or pile up."""

import json
from typing import Any

from playwright.sync_api import Page, expect

from .actions import TRAINING, ask, judge, pod

SCRIPT = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
MARKUP = f'"\'>{SCRIPT}<a href="javascript:alert(1)">x</a>{{{{constructor}}}}'


PLACES: dict[str, dict[str, Any]] = {
    "name": pod(name=MARKUP),
    "namespace": pod(namespace=MARKUP),
    "annotation": pod(annotations={MARKUP: MARKUP}),
    "denied": pod(annotations={"k8s.v1.cni.cncf.io/networks": MARKUP}),
    "profile": pod(labels={"fabric-injector.io/profile": MARKUP}),
    "key": {**TRAINING, "spec": {**TRAINING["spec"], MARKUP: MARKUP}},
    "container": {**TRAINING, "spec": {"containers": [{"name": MARKUP, "image": MARKUP}]}},
    "kind": {"apiVersion": "v1", "kind": MARKUP, "metadata": {"name": MARKUP}},
}


def test_shows_markup_as_text(page: Page) -> None:
    for place, manifest in PLACES.items():
        judge(page, json.dumps(manifest))
        seen = page.locator("#results").inner_text()
        for tab in page.locator("#results").get_by_role("tab").all():
            tab.click()
            seen += page.locator("#results").inner_text()
        assert page.locator("#results").locator("img, script, a, iframe, object").count() == 0, (
            place
        )
        assert "<img src=x onerror=" in seen, place
        assert "owned" not in page.title(), place


def test_shows_markup_in_a_fault_as_text(page: Page) -> None:
    ask(page, f"a: b: '{SCRIPT}'")
    expect(page.get_by_role("alert")).to_contain_text("line 1")
    assert page.locator("#problem *").count() == 0


def test_shows_letters_that_would_reorder_a_line_as_what_they_are(page: Page) -> None:
    trainer = {"name": "e\u202ef", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    manifest = {
        **pod(name="a\u202eb", annotations={"x": "c\u202ed"}),
        "spec": {"containers": [{"name": "c"}, trainer]},
    }
    card = judge(page, json.dumps(manifest)).first
    assert "\u202e" not in card.inner_text()
    for tab in ("YAML", "JSON Patch"):
        card.get_by_role("tab", name=tab).click()
        assert "\u202e" not in card.inner_text()
        expect(card.get_by_role("tabpanel")).to_contain_text("\\u202e", ignore_case=True)


def test_holds_letters_that_pile_up_within_their_card(page: Page) -> None:
    judge(page, json.dumps(pod(name="Z" + "\u0310\u0311\u0312" * 1000)))
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
