"""``fabric-injector check`` on a cluster that is there: where it looks, and what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.diagnose.check.cluster import answer, change, installed, invoke
from tests.diagnose.connection import HostileConnection
from webhook.cli import check
from webhook.core import names
from webhook.diagnose.check import open_snapshot
from webhook.diagnose.check.privileges import REVIEWS

CONFIGURATIONS = "mutatingwebhookconfigurations"


def told(connection: HostileConnection, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(connection, "-o", "json", *arguments).stdout)
    return found


def test_the_configuration_says_where_the_installation_is() -> None:
    elsewhere, nowhere = installed(), installed()
    service = {"clientConfig": {"service": {"namespace": "called"}}}
    change(elsewhere, {CONFIGURATIONS: {0: {"webhooks": {0: service}}}})
    change(nowhere, {CONFIGURATIONS: []})
    assert open_snapshot(elsewhere).system_namespace == "called"
    assert open_snapshot(nowhere).system_namespace == "fabric-injector"
    assert open_snapshot(elsewhere, system_namespace="given").system_namespace == "given"


def test_writes_only_what_is_not_stored() -> None:
    connection = installed()
    invoke(connection)
    reviews = {body["spec"]["user"] for path, _, body in connection.written if path == REVIEWS}
    account = "system:serviceaccount:fabric-injector:fabric-injector"
    assert reviews == {f"{account}-webhook", f"{account}-controller"}
    others = [(path, query) for path, query, _ in connection.written if path != REVIEWS]
    assert others == [("/api/v1/namespaces/research/pods", {"dryRun": "All"})]


def test_tries_three_namespaces_where_a_pod_would_be_injected() -> None:
    connection = installed()
    labels = {names.PROFILE: "shared"}
    spaces: dict[str, dict[str, str]] = {
        "kube-system": labels,
        "fabric-injector": labels,
        "gone": {names.PROFILE: "gone"},
        "out": {names.PROFILE: "none"},
        "watched": {**labels, names.MODE: "observe"},
        "strict": {**labels, names.POD_SECURITY_ENFORCE: "restricted"},
        "fine": labels,
        "fine-too": labels,
    }
    connection.objects["/api/v1/namespaces"] = [
        {"metadata": {"name": name, "labels": {**found, "kubernetes.io/metadata.name": name}}}
        for name, found in spaces.items()
    ]
    refused = {f"POST /api/v1/namespaces/{name}/pods": (403, "no") for name in spaces}
    answer(connection, refused)
    invoke(connection)
    tried = [path.split("/")[4] for path, query, _ in connection.written if query]
    assert tried == ["fine", "fine-too", "strict"]


def test_a_namespace_of_pods_is_looked_at_alone() -> None:
    connection = installed()
    connection.objects["/api/v1/namespaces/research"] = connection.objects["/api/v1/namespaces"][0]
    connection.objects["/api/v1/namespaces"].append(
        {"metadata": {"name": "team-zebra", "labels": {names.PROFILE: "gone"}}}
    )
    whole, alone = told(connection), told(connection, "-n", "research")
    assert (whole["namespace"], alone["namespace"]) == (None, "research")
    assert "team-zebra" in json.dumps(whole["findings"])
    assert "team-zebra" not in json.dumps(alone["findings"])
    assert {"deployments", "privileges", "lease"} & {
        each["topic"] for each in alone["findings"]
    } == set()
    assert "reachability" in {each["topic"] for each in alone["findings"]}


def test_a_namespace_without_the_label_is_told() -> None:
    connection = installed()
    connection.objects["/api/v1/namespaces/plain"] = {"metadata": {"name": "plain"}}
    found = [
        each
        for each in told(connection, "-n", "plain")["findings"]
        if each["subject"] == "namespace plain"
    ]
    assert [(each["level"], each["code"]) for each in found] == [("warn", "namespace-unlabelled")]


def test_the_installations_own_namespace_means_the_whole_cluster() -> None:
    assert told(installed(), "-n", "fabric-injector")["namespace"] is None


def test_prints_the_verdict_first_and_the_codes_last() -> None:
    verdict, where, *_, last = invoke(installed()).stdout.splitlines()
    wrong = [each["code"] for each in told(installed())["findings"] if each["level"] != "ok"]
    assert verdict.startswith("2 failures, ")
    assert where == (
        "cluster: server http://127.0.0.1:9 of test; installation in namespace fabric-injector"
    )
    codes = ", ".join(dict.fromkeys(wrong))
    assert last == f"codes: {codes}; for details: fabric-injector explain --code CODE"


def test_ctrl_c_is_no_failure_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check", interrupted)
    result = invoke(installed())
    assert (result.exit_code, result.output) == (130, "\n"), "1 would say that something failed"
