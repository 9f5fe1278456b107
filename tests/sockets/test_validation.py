"""Validation over real TLS and HTTP: answers, log lines, metrics, and that admission notices none of it."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.core.validation.worlds import review as asked_about
from tests.sockets.server import Reply, Server, admit, ask
from tests.sockets.test_admission import metric
from tests.waiting import wait_until
from tests.worlds import namespace
from webhook.core.model import Object

pytestmark = pytest.mark.sockets
JSON = {"Content-Type": "application/json"}
REQUESTS = "fabric_injector_validation_requests_total"


@pytest.fixture
def client(server: Server, authority: Path) -> Iterator[http.client.HTTPSConnection]:
    connection = server.client(authority)
    yield connection
    connection.close()


def validate(client: http.client.HTTPSConnection, body: bytes, **headers: str) -> Reply:
    """Ask as the API server does."""
    return ask(client, "POST", "/validate?timeout=2s", body, JSON | headers)


def profile(spec: Any, name: str = "fabric") -> Object:
    return {"metadata": {"name": name}, "spec": spec}


def response(reply: Reply) -> Any:
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    answer = reply.json()
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["uid"]
    assert "patch" not in answer["response"]
    return answer["response"]


def checked(client: http.client.HTTPSConnection, body: bytes) -> Any:
    """Ask until the content of the profile was looked at: on a busy machine the process for it may take too long."""
    found: list[Any] = []

    def ask_again() -> bool:
        found[:] = [response(validate(client, body))]
        return "was not checked" not in str(found[0].get("warnings"))

    wait_until(ask_again, "the profile to be checked", 60)
    return found[0]


def test_warns_of_a_label_logs_and_counts_it(server: Server, client: http.client.HTTPSConnection) -> None:
    before = metric(server, REQUESTS, entry="namespaces", decision="warned")
    told = response(
        validate(client, asked_about("namespaces", "CREATE", namespace(profile="two-rail"), uid="one-label"))
    )
    assert told["allowed"] is True
    (warning,) = told["warnings"]
    assert "did you mean two-rails?" in warning
    (line,) = [line for line in server.lines("validation warned: ") if line["uid"] == "one-label"]
    assert warning in line["message"]
    assert (line["entry"], line["operation"], line["name"], line["decision"]) == (
        "namespaces",
        "CREATE",
        "train",
        "warned",
    )
    assert metric(server, REQUESTS, entry="namespaces", decision="warned") == before + 1
    assert metric(server, "fabric_injector_admission_requests_total") == 0


def test_reads_a_profile_in_a_process_of_its_own(server: Server, client: http.client.HTTPSConnection) -> None:
    rails = {"networks": [{"network": "rails/rail-0"}, {"network": "rails/rail-9"}]}
    told = checked(client, asked_about("fabricprofiles", "CREATE", profile(rails)))
    assert (told["allowed"], told["warnings"]) == (
        True,
        ["FabricProfile fabric: network rails/rail-9 does not exist: its pods are denied until then"],
    )
    wrong = {"networks": [{"network": "rails/rail-0", "resource": "rdma/a,rdma/a"}]}
    told = checked(client, asked_about("fabricprofiles", "UPDATE", profile(wrong), profile(rails)))
    assert told["allowed"] is False
    assert "spec.networks[0].resource: " in told["status"]["message"]
    assert "pydantic" not in Path(f"/proc/{server.process.pid}/maps").read_text()


def test_lets_go_of_an_object_where_the_profiles_are_a_files(client: http.client.HTTPSConnection) -> None:
    body = asked_about("fabricprofiles", "DELETE", None, profile({}, "two-rails"))
    assert response(validate(client, body))["allowed"] is True


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("GET", None, {}, 405),
        ("POST", b"{}", {}, 400),
        ("POST", b"[" * 100_000, {}, 400),
        ("POST", b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ("POST", b"x" * (5 << 20), {}, 413),
    ],
)
def test_refuses_what_is_no_review(
    client: http.client.HTTPSConnection, method: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    assert ask(client, method, "/validate", body, JSON | headers).status == status


def test_a_large_namespace_does_no_harm(
    server: Server, client: http.client.HTTPSConnection, authority: Path, review: bytes
) -> None:
    before = namespace(profile="two-rails")
    before["metadata"]["annotations"] = {"note": "x" * 1_400_000}
    after = namespace(profile="two-rail")
    after["metadata"]["annotations"] = before["metadata"]["annotations"]
    (warning,) = response(validate(client, asked_about("namespaces", "UPDATE", after, before)))["warnings"]
    assert "did you mean two-rails?" in warning
    crowded = namespace(profile="two-rails")
    crowded["metadata"]["labels"] |= {f"a.example.com/{number}": "" for number in range(100_000)}
    assert validate(client, asked_about("namespaces", "CREATE", crowded)).status in (200, 400)
    with closing(server.client(authority)) as other:
        assert admit(other, review).status == 200
    assert server.peak_megabytes() < 200


def test_admission_waits_for_no_validation(server: Server, authority: Path, review: bytes) -> None:
    """Each profile takes a process of its own, one at a time."""
    body = asked_about("fabricprofiles", "CREATE", profile({}))

    def one(_: int) -> int:
        with closing(server.client(authority, timeout=60)) as client:
            return validate(client, body).status

    with ThreadPoolExecutor(12) as clients, closing(server.client(authority)) as pods:
        validations = [clients.submit(one, number) for number in range(12)]
        while not any(each.done() for each in validations):
            assert admit(pods, review).status == 200
        assert not all(each.done() for each in validations), "they were asked for beside the pods"
        statuses = [each.result() for each in validations]
    assert set(statuses) <= {200, 503}, "what comes too late for the API server is refused, and let in by it"
    assert 200 in statuses
