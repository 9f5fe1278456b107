"""Where ``check`` tries to have the webhook called, and what it asks about accounts."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.profiles import profiles
from webhook.core import names
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.check.privileges import Access
from webhook.diagnose.collect.probes import may, try_to_reach
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.credentials import Credentials

SHIPPED = ROOT / "manifests/base/mutating-webhook-configuration.yaml"
PROFILES = profiles("{shared: {}, theirs: {allowedNamespaces: [z]}}")
PROXY = "/api/v1/namespaces/fabric-injector/services/https:fabric-injector:443/proxy/mutate"


class Scripted(Connection):
    """Answers all requests with one status and body, and keeps them."""

    def __init__(self, status: int, body: dict[str, Any] | None = None) -> None:
        super().__init__(Credentials("test", "http://127.0.0.1:9"))
        self.sent: list[tuple[str, str, Any, Any]] = []
        self._status, self._body = status, body or {}

    def request(self, method: str, path: str, **options: Any) -> Response:
        self.sent.append((method, path, options.get("query"), options.get("body")))
        if self._status >= 500:
            raise RequestFailed("unavailable", self._status)
        return Response(f"{method} {path}", self._status, {}, json.dumps(self._body).encode())


def space(name: str, profile: str = "shared", **labels: str) -> LabelledNamespace:
    return LabelledNamespace(name, {names.PROFILE: profile, **labels})


def tried(connection: Scripted, *namespaces: LabelledNamespace) -> list[str]:
    try_to_reach(connection, yaml.safe_load(SHIPPED.read_text()), namespaces, PROFILES)
    return [
        path.removeprefix("/api/v1/namespaces/").removesuffix("/pods")
        for _, path, _, _ in connection.sent
    ]


def test_sends_dry_runs_only() -> None:
    connection = Scripted(403, {"message": "no"})
    tried(connection, space("a"), space("b"))
    writes = [(method, query) for method, _, query, _ in connection.sent if method != "GET"]
    assert writes == [("POST", {"dryRun": "All"})] * 2


def test_stops_at_the_first_answer_that_tells() -> None:
    injected = {"metadata": {"annotations": {names.STATUS: "{}"}}}
    assert tried(Scripted(201, injected), space("a"), space("b")) == ["a"]


def test_tries_three_namespaces_and_the_proxy() -> None:
    many = [space(name) for name in "abcdef"]
    assert tried(Scripted(403), *many) == ["a", "b", "c", PROXY.removeprefix("/api/v1/namespaces/")]


def test_goes_where_a_pod_would_be_injected() -> None:
    """Never where the configuration does not reach, nor with a profile that is unknown or not allowed; rather where nothing refuses."""
    spaces = [
        space("kube-system"),
        space("fabric-injector"),
        space("gone", "gone"),
        space("theirs", "theirs"),
        space("out", "none"),
        space("watched", **{names.MODE: "observe"}),
        space("strict", **{names.POD_SECURITY_ENFORCE: "restricted"}),
        space("z", "theirs"),
    ]
    assert tried(Scripted(403), *spaces)[:-1] == ["z", "strict", "watched"]


def test_asks_about_an_account() -> None:
    connection = Scripted(201, {"status": {"allowed": True}})
    assert may(connection, Access("get", "", "pods"), "system:serviceaccount:ns:name") == "yes"
    ((_, path, _, body),) = connection.sent
    assert path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert body["spec"] == {
        "user": "system:serviceaccount:ns:name",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        "resourceAttributes": {"verb": "get", "resource": "pods"},
    }


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (201, {"status": {"allowed": True}}, "yes"),
        (201, {"status": {"allowed": False}}, "no"),
        (201, {}, "no"),
        (403, {"message": "no"}, "unknown"),
        (503, {}, "unknown"),
    ],
)
def test_knows_an_answer_from_none(status: int, body: dict[str, Any], expected: str) -> None:
    assert may(Scripted(status, body), Access("get", "", "pods")) == expected
