"""What must not harm the page: scripts in manifests, sizes, a server that is gone or refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.sockets.server import Server

from .actions import ask, headline, judge, paste
from .conftest import NETWORKS, PROFILES

SCRIPT = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
MARKUP = f'"\'>{SCRIPT}<a href="javascript:alert(1)">x</a>{{{{constructor}}}}'
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


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod(name=MARKUP), id="name"),
        pytest.param(pod(namespace=MARKUP), id="namespace"),
        pytest.param(pod(annotations={MARKUP: MARKUP}), id="annotation"),
        pytest.param(pod(annotations={"k8s.v1.cni.cncf.io/networks": MARKUP}), id="denied"),
        pytest.param(pod(labels={"fabric-injector.io/profile": MARKUP}), id="profile"),
        pytest.param({**TRAINING, "spec": {**TRAINING["spec"], MARKUP: MARKUP}}, id="key"),
        pytest.param({**TRAINING, "spec": {"containers": [{"name": MARKUP, "image": MARKUP}]}}, id="container"),
        pytest.param({"apiVersion": "v1", "kind": MARKUP, "metadata": {"name": MARKUP}}, id="kind"),
    ],
)
def test_shows_markup_as_text(page: Page, manifest: dict[str, Any]) -> None:
    judge(page, json.dumps(manifest))
    seen = page.locator("#results").inner_text()
    for tab in page.locator("#results").get_by_role("tab").all():
        tab.click()
        seen += page.locator("#results").inner_text()
    assert page.locator("#results").locator("img, script, a, iframe, object").count() == 0
    assert "<img src=x onerror=" in seen
    assert "owned" not in page.title()


def test_shows_markup_in_a_fault_as_text(page: Page) -> None:
    ask(page, f"a: b: '{SCRIPT}'")
    expect(page.get_by_role("alert")).to_contain_text("line 1")
    assert page.locator("#problem *").count() == 0


def test_shows_letters_that_would_reorder_a_line_as_what_they_are(page: Page) -> None:
    trainer = {"name": "e\u202ef", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    manifest = {**pod(name="a\u202eb", annotations={"x": "c\u202ed"}), "spec": {"containers": [{"name": "c"}, trainer]}}
    card = judge(page, json.dumps(manifest)).first
    assert "\u202e" not in card.inner_text()
    for tab in ("YAML", "JSON Patch"):
        card.get_by_role("tab", name=tab).click()
        assert "\u202e" not in card.inner_text()
        expect(card.get_by_role("tabpanel")).to_contain_text("\\u202e")


def test_holds_letters_that_pile_up_within_their_card(page: Page) -> None:
    judge(page, json.dumps(pod(name="Z" + "\u0310\u0311\u0312" * 1000)))
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_shows_a_large_manifest_in_parts(page: Page) -> None:
    annotations = {f"key-{number}": "v" * 90 for number in range(9_000)}
    card = judge(page, json.dumps(pod(annotations=annotations), indent=1)).first
    card.get_by_role("tab", name="YAML").click()
    panel = card.get_by_role("tabpanel")
    assert panel.locator(".line").count() == 400
    panel.get_by_role("button", name="Show all").click()
    page.wait_for_function(
        "() => document.querySelectorAll('#results [role=tabpanel]:not([hidden]) .line').length > 9000"
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
    expect(page.locator("#long")).to_have_text(re.compile(r"^2.0 MB in 50,005 lines: .* judged in full"))
    expect(area).to_have_attribute("readonly", "")
    area.press("Control+Enter")
    expect(page.locator("#results h2")).to_have_text("1 pod, left as it is")


def from_clipboard(page: Page, text: str) -> None:
    page.get_by_label("Manifest", exact=True).evaluate(
        """(area, text) => {
            const pasted = new DataTransfer();
            pasted.setData("text/plain", text);
            area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: pasted, bubbles: true, cancelable: true }));
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


def test_shows_a_fault_in_a_part_of_a_large_paste(page: Page) -> None:
    from_clipboard(page, "# a line of a comment that says nothing\n" * 30_000 + "a: b: c\n" + "# more\n" * 30_000)
    page.locator("#judge").click()
    expect(page.get_by_role("alert")).to_contain_text("line 30001, column 5")
    expect(page.locator(".gutter .fault")).to_have_text("30001")
    page.get_by_role("button", name="Start over").click()
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
    assert area.evaluate("area => area.value.slice(area.selectionStart, area.selectionEnd)") == ": c]"
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


def test_says_that_a_manifest_is_too_large(page: Page) -> None:
    ask(page, "#" * (4 << 20))
    expect(page.get_by_role("alert")).to_contain_text("The manifest of 4.2 MB is larger than the server takes")


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (503, '{"message": "too many requests are waiting; ask again"}', "too many requests are waiting"),
        (500, "<h1>no JSON</h1>", "The server answered 500"),
        (429, "", "The server answered 429 Too Many Requests"),
        (500, '{"kind": "Status"}', "The server answered 500"),
    ],
)
def test_says_what_the_server_refuses(page: Page, status: int, body: str, message: str) -> None:
    page.route("**/dry-run?*", lambda route: route.fulfill(status=status, body=body))
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


class TestServerThatDies:
    """Behind a server whose answers to dry runs end before they are whole."""

    @pytest.fixture
    def url(self, served: Server) -> Iterator[str]:
        class Cut(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                reply = served.plain("GET", self.path, headers={"Accept": self.headers["Accept"]})
                self.wfile.write(b"HTTP/1.0 200 OK\r\n")
                self.wfile.write("".join(f"{name}: {value}\r\n" for name, value in reply.headers.items()).encode())
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
    def own(self, tmp_path: Path) -> Iterator[Server]:
        objects = tmp_path / "many.json"
        labels = {"fabric-injector.io/profile": "rdma-shared"}
        spaces = [
            {"kind": "Namespace", "metadata": {"name": f"team-{number:04}", "labels": labels if number % 2 else {}}}
            for number in range(1000)
        ]
        objects.write_text(json.dumps({"kind": "List", "items": spaces}))
        with Server(tmp_path / "log", "--profiles", PROFILES, "--objects", NETWORKS, "--objects", objects) as running:
            yield running

    @pytest.fixture
    def url(self, own: Server) -> str:
        return own.addresses["dryRun"]

    def test_lists_a_thousand_namespaces(self, page: Page) -> None:
        assert page.locator("#known-namespaces option").count() == 1003
        page.get_by_role("link", name="Namespaces").click()
        rows = page.locator("#namespaces tbody tr")
        assert rows.count() == 100
        page.get_by_label("Filter namespaces").fill("team-0777")
        expect(rows).to_have_count(1)
        expect(page.locator("#namespaces").get_by_role("status")).to_have_text("1 namespace of 1,003")

    def test_says_that_the_server_is_gone(self, page: Page, own: Server) -> None:
        paste(page, POD)
        own.process.terminate()
        own.process.wait(20)
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_role("alert")).to_contain_text("The server does not answer. Is kubectl port-forward")
        expect(page.locator("#server")).to_have_text("server gone")
        assert page.get_by_label("Manifest", exact=True).input_value() == POD
