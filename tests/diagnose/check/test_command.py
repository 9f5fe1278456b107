"""``fabric-injector check`` on a cluster that is there: whose namespace -n is, where the installation is, and what is printed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.diagnose.check.test_hostile import installed, invoke
from tests.diagnose.hostile import HostileConnection
from webhook.cli import check
from webhook.core import names
from webhook.diagnose.codes import Code
from webhook.diagnose.collect.system_namespace import find_system_namespace
from webhook.diagnose.finding import Finding, grouped

DEPLOYMENTS = "/apis/apps/v1/deployments"
CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{names.WEBHOOK_CONFIGURATION}"


def told(connection: HostileConnection, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(invoke(connection, "-o", "json", *arguments).stdout)
    return found


def with_namespaces(connection: HostileConnection, *spaces: str) -> HostileConnection:
    """Let our Deployments be in these namespaces."""
    shipped = connection.objects["/apis/apps/v1/namespaces/fabric-injector/deployments"]
    found = []
    for space in spaces:
        for each in copy.deepcopy(shipped):
            each["metadata"]["namespace"] = space
            found.append(each)
    connection.objects[DEPLOYMENTS] = found
    return connection


def with_service(connection: HostileConnection, namespace: str) -> HostileConnection:
    client = {"service": {"namespace": namespace, "name": "s"}}
    metadata = {"name": names.WEBHOOK_CONFIGURATION}
    connection.objects[CONFIGURATION] = {
        "metadata": metadata,
        "webhooks": [{"name": "a", "clientConfig": client}],
    }
    return connection


def test_finds_the_namespace_of_the_installation() -> None:
    found = (
        find_system_namespace(connection, names.WEBHOOK_CONFIGURATION)
        for connection in (
            installed(),
            with_namespaces(installed(), "rdma-system"),
            with_service(installed(), "called"),
            with_service(with_namespaces(installed(), "rdma-system"), "called"),
            with_service(with_namespaces(installed(), "called", "another"), "called"),
            with_namespaces(installed(), "b", "a"),
        )
    )
    assert list(found) == ["fabric-injector", "rdma-system", "called", "rdma-system", "called", "a"]


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
    assert [(each["level"], each["code"]) for each in found] == [
        ("warn", str(Code.NAMESPACES_UNLABELLED))
    ]


def test_a_namespace_that_does_not_exist_is_a_wrong_command() -> None:
    result = invoke(installed(), "-n", "absent")
    assert (result.exit_code, "there is no namespace of this name" in result.output) == (2, True)


def test_the_installations_own_namespace_means_the_whole_as_in_an_earlier_version() -> None:
    result = invoke(installed(), "-n", "fabric-injector", "-o", "json")
    assert "needs no -n" in result.stderr
    assert json.loads(result.stdout)["namespace"] is None


def test_a_variable_names_the_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_INJECTOR_CHECK_SYSTEM_NAMESPACE", "rdma-system")
    assert told(installed())["systemNamespace"] == "rdma-system"


def test_names_the_cluster_first_and_counts_in_words() -> None:
    lines = invoke(installed()).stdout.splitlines()
    assert (
        lines[0]
        == "cluster: server http://127.0.0.1:9 of test; installation in namespace fabric-injector"
    )
    assert " failures, " in lines[-2]


def test_names_last_the_codes_of_what_is_wrong() -> None:
    wrong = [each["code"] for each in told(installed())["findings"] if each["level"] != "ok"]
    last = invoke(installed()).stdout.splitlines()[-1]
    assert wrong
    assert (
        last
        == f"codes: {', '.join(dict.fromkeys(wrong))}; for details: fabric-injector explain --code CODE"
    )


def test_equal_findings_of_several_subjects_are_one_line() -> None:
    found = [Finding("warn", Code.UNREAD, name, "cannot be read") for name in ("a", "b", "c")]
    other = Finding("warn", Code.UNREAD, "d", "is another")
    assert grouped([found[0], other, *found[1:]]) == [
        Finding("warn", Code.UNREAD, "each of 3 (a, b, c)", "cannot be read"),
        other,
    ]


def test_ctrl_c_is_no_failure_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "_look", interrupted)
    result = invoke(installed(), "--wait")
    assert (result.exit_code, result.output) == (130, "\n"), "1 would say that something failed"


@pytest.mark.parametrize("seconds", ["nan", "soon"])
def test_a_wait_has_an_end(seconds: str) -> None:
    result = invoke(installed(), f"--wait={seconds}")
    assert (result.exit_code, "Invalid value for '--wait'" in result.output) == (2, True)


def test_a_note_is_told_once_however_often_it_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    failing, well = [Finding("fail", Code.UNREAD, "a", "x")], [Finding("ok", Code.UNREAD, "a", "y")]
    answers = [failing, failing, well]
    monkeypatch.setattr(check, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(check, "_look", lambda *_: answers.pop(0))
    result = invoke(installed(), "--wait", "-n", "fabric-injector")
    assert (result.exit_code, result.stderr.count("needs no -n")) == (0, 1)


def test_waits_until_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    failing, well = [Finding("fail", Code.UNREAD, "a", "x")], [Finding("ok", Code.UNREAD, "a", "y")]
    answers = [failing, failing, well]
    monkeypatch.setattr(check, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(check, "_look", lambda *_: answers.pop(0))
    assert invoke(installed(), "--wait").exit_code == 0
    assert answers == []


def test_a_wait_that_is_over_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_look", lambda *_: [Finding("fail", Code.UNREAD, "a", "x")])
    assert invoke(installed(), "--wait", "0.05").exit_code == 1
