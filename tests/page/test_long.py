"""Manifests and answers too long to be shown at once."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from .actions import POD, headline, judge, pod


def test_shows_a_large_manifest_in_parts(page: Page) -> None:
    annotations = {f"key-{number}": "v" * 90 for number in range(9_000)}
    card = judge(page, json.dumps(pod(annotations=annotations), indent=1)).first
    card.get_by_role("tab", name="YAML").click()
    panel = card.get_by_role("tabpanel")
    assert panel.locator(".line").count() == 400
    panel.get_by_role("button", name="Show all").click()
    page.wait_for_function(
        "() => document.querySelectorAll('[role=tabpanel]:not([hidden]) .line').length > 9000"
    )
    expect(panel.locator(".line").nth(400)).to_be_focused()


def test_cuts_a_line_that_is_longer_than_a_screen(page: Page) -> None:
    card = judge(page, json.dumps(pod(annotations={"key": "v" * 1_900_000}))).first
    card.get_by_role("tab", name="YAML").click()
    expect(card.locator(".cut:visible").first).to_contain_text("more characters")


def test_takes_a_large_paste(page: Page) -> None:
    """By the keyboard, as a person does, with the real clipboard."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = POD + "# a line of a comment that says nothing\n" * 50_000
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    area = page.get_by_label("Manifest", exact=True)
    area.focus()
    area.press("Control+V")
    expect(page.locator("#long")).to_have_text(
        re.compile(r"^2.0 MB in 50,005 lines: .* judged in full")
    )
    expect(area).to_have_attribute("readonly", "")
    area.press("Control+Enter")
    expect(page.locator("#results h2")).to_have_text("1 pod, left as it is")


def from_clipboard(page: Page, text: str) -> None:
    page.get_by_label("Manifest", exact=True).evaluate(
        """(area, text) => {
            const pasted = new DataTransfer();
            pasted.setData("text/plain", text);
            const how = { clipboardData: pasted, bubbles: true, cancelable: true };
            area.dispatchEvent(new ClipboardEvent("paste", how));
        }""",
        text,
    )


def test_takes_a_short_paste_in_place_of_a_text_that_is_too_long_to_edit(page: Page) -> None:
    from_clipboard(page, "# a comment\n" * 40_000)
    expect(page.locator("#long")).not_to_have_text("")
    from_clipboard(page, POD)
    expect(page.get_by_label("Manifest", exact=True)).to_have_value(POD)
    expect(page.get_by_label("Manifest", exact=True)).to_be_editable()
    expect(page.locator("#long")).to_have_text("")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" + "1," * 400_000 + "a: b: c]", id="within its line"),
        pytest.param(f"# {'x' * 400_000}\na: b: c]", id="below a long line"),
        pytest.param(f"# {'x' * 3000}\n" * 300 + "a: b: c]", id="below many"),
        pytest.param(f"# {'x' * 60}\n" * 5000 + "a: b: c]", id="in the last line"),
    ],
)
def test_shows_a_fault_wherever_it_is(page: Page, text: str) -> None:
    from_clipboard(page, text)
    page.locator("#judge").click()
    expect(page.get_by_role("alert")).to_contain_text("line")
    area = page.get_by_label("Manifest", exact=True)
    assert (
        area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == ": c]"
    )
    expect(page.locator(".gutter .fault")).to_have_count(1)


def test_shows_a_thousand_pods(page: Page) -> None:
    judge(page, "---\n".join(POD.replace("name: p", f"name: p-{number}") for number in range(1000)))
    assert headline(page) == "1,000 pods, all left as it is"
    assert page.locator("#results .card").count() == 50
    page.get_by_role("button", name="Show all 1,000 pods").click()
    expect(page.locator("#results .card")).to_have_count(1000)
    last = page.locator("#results .card").last
    last.get_by_role("button", expanded=False).click()
    expect(last.locator(".decisions")).to_be_visible()
