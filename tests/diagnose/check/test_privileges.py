"""What ``check`` says of privileges, and that it knows those that are shipped."""

from collections.abc import Iterator

import pytest
import yaml

from tests import ROOT
from tests.diagnose.check.findings import brief
from webhook.diagnose.check.deployments import Role
from webhook.diagnose.check.privileges import (
    EXCESSIVE,
    POLICIES,
    Access,
    Answer,
    check_account,
    check_installer,
    check_policies,
    needed,
    to_install,
)

BASE = ROOT / "manifests/base"


def granted(role: Role) -> Iterator[Access]:
    """Give what the shipped roles allow, one by one."""
    for obj in yaml.safe_load_all((BASE / f"rbac-{role}.yaml").read_text()):
        for rule in obj.get("rules") or ():
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in rule.get("resourceNames") or [""]:
                        for verb in rule["verbs"]:
                            yield Access(
                                verb, group, resource, obj["metadata"].get("namespace", ""), name
                            )


@pytest.mark.parametrize("role", ["webhook", "controller"])
def test_needs_what_is_shipped_and_no_more(role: Role) -> None:
    assert sorted(needed(role, "fabric-injector")) == sorted(granted(role))
    assert not set(EXCESSIVE[role]) & set(granted(role))


def test_needs_less_where_somebody_else_keeps_the_certificates() -> None:
    """As manifests/components/cert-manager takes it away."""
    every, fewer = (needed("controller", "ns", keeps_certificates=keeps) for keeps in (True, False))
    assert {access.resource for access in set(every) - set(fewer)} == {
        "mutatingwebhookconfigurations",
        "secrets",
    }
    assert needed("webhook", "ns", keeps_certificates=False) == needed("webhook", "ns")


def test_knows_the_shipped_policies() -> None:
    objects = [obj for file in BASE.glob("*.yaml") for obj in yaml.safe_load_all(file.read_text())]
    named = {
        obj["metadata"]["name"] for obj in objects if obj["kind"] == "ValidatingAdmissionPolicy"
    }
    assert named == set(POLICIES)
    assert {
        obj["spec"]["policyName"] for obj in objects if obj["kind"].endswith("PolicyBinding")
    } == named


def plural(kind: str) -> str:
    if kind.endswith("y"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def test_asks_for_the_kinds_that_are_installed() -> None:
    """Who may create all that the manifests hold may install."""
    kinds = {
        plural(obj["kind"].lower())
        for path in BASE.glob("*.yaml")
        for obj in yaml.safe_load_all(path.read_text())
        if obj["kind"] != "Kustomization"
    }
    assert kinds <= {access.resource for access in to_install("ns") if access.verb == "create"}


def test_writes_an_access() -> None:
    access = Access("patch", "", "pods/status", "ns", "a")
    assert str(access) == "patch pods/status a in namespace ns"
    assert access.attributes() == {
        "verb": "patch",
        "resource": "pods",
        "subresource": "status",
        "namespace": "ns",
        "name": "a",
    }


GET, PATCH = Access("get", "", "pods"), Access("patch", "", "pods")


@pytest.mark.parametrize(
    ("wanted", "more", "expected"),
    [
        (
            "yes",
            "no",
            [
                "ok ServiceAccount a: may do all 1 things that it needs, and nothing dangerous besides"
            ],
        ),
        ("no", "no", ["fail ServiceAccount a: may not get pods"]),
        ("yes", "yes", ["warn ServiceAccount a: may patch pods, which it does not need"]),
        (
            "unknown",
            "unknown",
            [
                "warn ServiceAccount a: could not look: what it may do is told only to who may create subjectaccessreviews",
            ],
        ),
    ],
)
def test_judges_an_account(wanted: Answer, more: Answer, expected: list[str]) -> None:
    assert brief(check_account("webhook", "a", {GET: wanted}, {PATCH: more})) == expected


def test_judges_the_caller() -> None:
    assert brief([check_installer({GET: "yes", PATCH: "yes"})]) == [
        "ok you: may do all 2 things that installation takes"
    ]
    assert brief([check_installer({GET: "yes", PATCH: "no"})]) == ["warn you: may not patch pods"]


def test_judges_the_policies() -> None:
    every, own = set(POLICIES), ("fabric-injector",)
    assert brief([check_policies(every, every, own)])[0].startswith("ok ")
    for lacking, told in POLICIES.items():
        (line,) = brief([check_policies(every, every - {lacking}, own)])
        assert line == f"warn ValidatingAdmissionPolicies: {lacking} missing, or not bound: {told}"


def test_wants_no_policy_of_a_priority_class_that_our_pods_do_not_have() -> None:
    every = set(POLICIES) - {"fabric-injector-priority"}
    assert brief([check_policies(every, every, ("system-cluster-critical",))])[0].startswith("ok ")
    assert brief([check_policies(every, every, ("fabric-injector",))])[0].startswith("warn ")
