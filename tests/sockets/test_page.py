"""The page's port over HTTP: who is answered, and what browsers may do with the answers."""

from __future__ import annotations

import pytest

from tests.sockets.server import Server
from webhook.serve.page.guard import HEADERS

pytestmark = pytest.mark.sockets

POD = b"{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_shows_browsers_the_page(server: Server) -> None:
    reply = server.plain("GET", "/", headers=BROWSER)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert reply.headers["vary"] == "Accept"
    assert reply.body.startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/page/main.js", "text/javascript; charset=utf-8"),
        ("/page/style.css", "text/css; charset=utf-8"),
        ("/page/icon.svg", "image/svg+xml"),
        ("/page/samples/torchx.yaml", "text/plain; charset=utf-8"),
        ("/page/demo/torchx-pods.yaml", "text/plain; charset=utf-8"),
    ],
)
def test_serves_the_files_of_the_page(server: Server, path: str, content_type: str) -> None:
    reply = server.get(path, "dryRun")
    assert (reply.status, reply.headers["content-type"]) == (200, content_type)
    assert reply.body


@pytest.mark.parametrize(
    "path", ["/page/", "/page/__init__.py", "/page/../run.py", "/page/%2e%2e/run.py", "/page/etc/passwd"]
)
def test_serves_no_other_file(server: Server, path: str) -> None:
    assert server.get(path, "dryRun").status == 404


def test_tells_what_it_knows(server: Server) -> None:
    reply = server.get("/state", "dryRun")
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    document = reply.json()
    assert [profile["name"] for profile in document["profiles"]] == ["two-rails"]
    assert [network["name"] for network in document["networks"]] == ["rail-0", "rail-1"]
    assert {namespace["profile"] for namespace in document["namespaces"]} == {"two-rails"}
    assert document["problems"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/", None, 200),
        ("GET", "/page/main.js", None, 200),
        ("GET", "/state", None, 200),
        ("POST", "/dry-run", POD, 200),
        ("POST", "/dry-run", b"a: [", 400),
        ("GET", "/dry-run", None, 405),
        ("GET", "/elsewhere", None, 404),
    ],
)
def test_binds_browsers_in_every_answer(
    server: Server, method: str, path: str, body: bytes | None, status: int
) -> None:
    reply = server.plain(method, path, body)
    assert reply.status == status
    assert {name: reply.headers.get(name.lower()) for name in HEADERS} == HEADERS
    assert "set-cookie" not in reply.headers
    assert not any(name.startswith("access-control-") for name in reply.headers)


OTHERS = [
    pytest.param({"Sec-Fetch-Site": "cross-site"}, id="another site"),
    pytest.param({"Sec-Fetch-Site": "same-site"}, id="another port"),
    pytest.param({"Origin": "https://evil.example"}, id="another origin"),
    pytest.param({"Origin": "null"}, id="a sandboxed frame"),
    pytest.param({"Origin": "http://localhost:1"}, id="another port's origin"),
    pytest.param({"Origin": "http://[::1"}, id="no origin"),
]


@pytest.mark.parametrize("headers", OTHERS)
@pytest.mark.parametrize(("method", "path"), [("POST", "/dry-run"), ("GET", "/state"), ("GET", "/page/main.js")])
def test_answers_no_page_of_another_origin(server: Server, method: str, path: str, headers: dict[str, str]) -> None:
    reply = server.plain(method, path, POD, {"Host": "localhost:8081", "Content-Type": "text/plain", **headers})
    assert reply.status == 403
    assert "another origin" in reply.json()["message"]


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no browser"),
        pytest.param({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8081"}, id="the page"),
        pytest.param({"Sec-Fetch-Site": "none"}, id="typed by a person"),
    ],
)
def test_answers_its_own_page_and_tools(server: Server, headers: dict[str, str]) -> None:
    assert server.plain("POST", "/dry-run", POD, {"Host": "localhost:8081", **headers}).status == 200


def test_may_be_opened_by_a_link(server: Server) -> None:
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert server.plain("GET", "/", headers=headers).status == 200
    assert server.plain("GET", "/state", headers=headers).status == 403
