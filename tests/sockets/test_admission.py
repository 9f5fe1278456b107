"""Admission over real TLS and HTTP: answers, wrong requests, log lines and metrics."""

import base64
import http.client
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonpatch
import pytest

from tests.sockets.server import Server, admit, ask
from tests.tables import table

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(server: Server) -> Iterator[http.client.HTTPSConnection]:
    connection = server.client()
    yield connection
    connection.close()


def test_answers_with_a_patch_that_applies(
    client: http.client.HTTPSConnection, review: bytes
) -> None:
    reply = admit(client, review)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    answer = reply.json()
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    request = json.loads(review)["request"]
    assert answer["response"]["uid"] == request["uid"]
    assert answer["response"]["allowed"] is True
    pod = jsonpatch.apply_patch(
        request["object"], base64.b64decode(answer["response"]["patch"]).decode()
    )
    assert (
        pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == "rails/rail-0,rails/rail-1"
    )


def test_logs_one_line_for_each_admission_without_variables(server: Server, review: bytes) -> None:
    asked: dict[str, Any] = json.loads(review)
    asked["request"]["uid"] = "e7f0a0a4-one-line"
    asked["request"]["dryRun"] = True
    asked["request"]["object"]["spec"]["containers"][0].setdefault("env", []).append(
        {"name": "TOKEN", "value": "s3cr3t-value"}
    )
    assert server.admit(json.dumps(asked).encode()).status == 200
    (line,) = [line for line in server.lines("injected") if line["uid"] == "e7f0a0a4-one-line"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert line["level"] == "info"
    assert (line["namespace"], line["profile"], line["decision"]) == (
        "default",
        "two-rails",
        "injected",
    )
    assert line["name"] == asked["request"]["object"]["metadata"]["name"]
    assert "networks:injected" in line["steps"]
    assert line["operations"] > 0
    assert line["milliseconds"] > 0
    assert line["dryRun"] is True
    assert "s3cr3t-value" not in server.log.read_text()


COUNTS = {
    'admission_requests_total{decision="injected",reason="injected"}': 3,
    'admission_requests_total{decision="refused",reason="malformed"}': 1,
    "admission_duration_seconds_count": 4,
    'injected_total{step="networks"}': 3,
}


def test_counts_decisions_steps_and_time(own: Server, review: bytes) -> None:
    for body in (review, review, review, b"{}"):
        own.admit(body)
    assert {name: own.metric(f"fabric_injector_{name}") for name in COUNTS} == COUNTS
    ends = 'fabric_injector_certificate_not_after_timestamp_seconds{kind="serving"}'
    assert own.metric(ends) > 1.7e9


@table(
    "method, path, body, headers, status, message",
    {
        "another method": ("GET", "/mutate", b"", {}, 405, "method"),
        "put": ("PUT", "/mutate", b"{}", JSON, 405, "method"),
        "another path": ("POST", "/", b"{}", JSON, 404, "not found"),
        "a longer path": ("POST", "/mutate/", b"{}", JSON, 404, "not found"),
        "metrics are elsewhere": ("GET", "/metrics", b"", {}, 404, "not found"),
        "no body": ("POST", "/mutate", b"", JSON, 400, "JSON"),
        "no JSON": ("POST", "/mutate", b"not json", JSON, 400, "JSON"),
        "no UTF-8": ("POST", "/mutate", b"\xff\xfe{}", JSON, 400, "JSON"),
        "nested too deeply": ("POST", "/mutate", b"[" * 200_000, JSON, 400, "JSON"),
        "no review": ("POST", "/mutate", b'{"kind":"Pod"}', JSON, 400, "AdmissionReview"),
    },
)
def test_answers_wrong_requests_and_keeps_the_connection(
    client: http.client.HTTPSConnection,
    review: bytes,
    method: str,
    path: str,
    body: bytes,
    headers: dict[str, str],
    status: int,
    message: str,
) -> None:
    reply = ask(client, method, path, body, headers)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/json")
    assert reply.json()["code"] == status
    assert message in reply.json()["message"]
    opened = client.sock
    assert admit(client, review).status == 200
    assert client.sock is opened


def test_speaks_http_1_1_whatever_is_offered(server: Server) -> None:
    with server.connect_tls() as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"
        assert connection.version() == "TLSv1.3"


def test_answers_plain_http_on_the_tls_port_with_nothing(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"HTTP/1.1 2" not in connection.recv(65536)
