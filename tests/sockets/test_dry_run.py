"""Dry runs over HTTP on the loopback port."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.sockets.server import Server

pytestmark = pytest.mark.sockets

MANIFEST = (Path(__file__).parents[1] / "fixtures/torchx/volcano-ddp-2x1.yaml").read_bytes()


def test_judges_a_manifest(server: Server) -> None:
    reply = server.plain("POST", "/dry-run?namespace=default", MANIFEST, {"Content-Type": "application/yaml"})
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    pods = reply.json()["pods"]
    assert {pod["rendezvous"] for pod in pods} == {"master", "worker"}
    assert all(pod["allowed"] and pod["patch"] for pod in pods)


def test_judges_json(server: Server) -> None:
    body = json.dumps(next(yaml.safe_load_all(MANIFEST)), default=str).encode()
    reply = server.plain("POST", "/dry-run", body, {"Content-Type": "application/json"})
    assert reply.status == 200
    assert reply.json()["pods"]


@pytest.mark.parametrize(
    ("output", "content_type", "beginning"),
    [
        ("json", "application/json", b'{\n  "pods": ['),
        ("patch", "application/json", b"["),
        ("diff", "text/plain; charset=utf-8", b""),
        ("pod", "application/yaml", b"# "),
    ],
)
def test_writes(server: Server, output: str, content_type: str, beginning: bytes) -> None:
    reply = server.plain("POST", f"/dry-run?output={output}&profile=two-rails", MANIFEST)
    assert (reply.status, reply.headers["content-type"]) == (200, content_type)
    assert reply.body.startswith(beginning)
    assert b"rails/rail-0" in reply.body


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "message"),
    [
        pytest.param("/dry-run", b"a: [", {}, 400, "line 2, column 1", id="broken YAML"),
        pytest.param("/dry-run", b"\xff", {}, 400, "not UTF-8", id="no text"),
        pytest.param("/dry-run", b"", {}, 400, "expected a manifest, found nothing", id="nothing"),
        pytest.param("/dry-run", b"# a comment\n---\n", {}, 400, "found nothing", id="nothing but comments"),
        pytest.param("/dry-run?ns=x", b"a: b", {}, 400, "use namespace, output, profile", id="parameter"),
        pytest.param(
            "/dry-run",
            b"apiVersion: v1kind: Pod",
            {"Content-Type": "application/x-www-form-urlencoded"},
            400,
            "line 1, column 19: not valid YAML: mapping values are not allowed in this context; the body is one line: curl's -d joins",
            id="joined lines",
        ),
        pytest.param("/dry-run?output=xml", b"a: b", {}, 400, "choose one of json, diff, patch, pod", id="output"),
        pytest.param(
            "/dry-run", b"<a/>", {"Content-Type": "application/xml"}, 415, "application/xml", id="content type"
        ),
        pytest.param("/dry-run", b"#" * (3 << 20) + b"#", {}, 413, "too large", id="size"),
        pytest.param("/elsewhere", b"a: b", {}, 404, "not found", id="path"),
    ],
)
def test_refuses(server: Server, path: str, body: bytes, headers: dict[str, str], status: int, message: str) -> None:
    reply = server.plain("POST", path, body, headers)
    assert reply.status == status
    assert message in reply.json()["message"]


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8081", "LOCALHOST", "127.0.0.1", "127.8.8.8:1", "[::1]:8081", "[::1]"]
)
def test_answers_loopback_names(server: Server, host: str) -> None:
    assert server.plain("GET", "/", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8081",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::]",
        ":8081",
        "",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/dry-run"), ("GET", "/elsewhere")])
def test_answers_no_other_name(server: Server, host: str, method: str, path: str) -> None:
    reply = server.plain(method, path, MANIFEST, {"Host": host})
    assert reply.status == 421


def test_says_how_to_use_it(server: Server) -> None:
    reply = server.get("/", "dryRun")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert "curl --data-binary @job.yaml" in reply.body.decode()


def test_is_not_measured_as_an_admission(server: Server) -> None:
    server.plain("POST", "/dry-run", MANIFEST)
    server.plain("POST", "/dry-run", b"a: [")
    assert "fabric_injector_admission_requests_total{" not in server.get("/metrics").body.decode()
