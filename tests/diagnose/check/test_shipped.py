"""`check` knows what the manifests hold: privileges, policies, kinds and Deployments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pytest
import yaml

from tests import ROOT
from tests.tables import cases
from webhook.diagnose.check.needs import Role, read_deployment
from webhook.diagnose.check.privileges import EXCESSIVE, SHIPPED_POLICIES, Access, needed
from webhook.diagnose.common import selects

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
    assert not set(EXCESSIVE) & set(granted(role))


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
    assert named == SHIPPED_POLICIES
    assert {
        obj["spec"]["policyName"] for obj in objects if obj["kind"].endswith("PolicyBinding")
    } == named


@pytest.mark.parametrize("role", get_args(Role))
def test_knows_the_shipped_deployments(role: str) -> None:
    found = read_deployment(yaml.safe_load((BASE / f"deployment-{role}.yaml").read_text()))
    assert found is not None
    assert (found.role, found.account, found.wanted) == (role, f"fabric-injector-{role}", 2)


@pytest.mark.parametrize(
    ("arguments", "keeps"),
    cases("""
default | control | yes
own certificates | control --certificates=self | yes
others' certificates | control --certificates none | no
"""),
)
def test_knows_who_keeps_the_certificates(arguments: str, keeps: str) -> None:
    container = {"image": "registry/fabric-injector:0.1.0", "args": arguments.split()}
    pod = {"containers": [{"name": "proxy", "image": "envoy"}, container]}
    found = read_deployment({"metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}})
    assert found is not None
    assert found.keeps_certificates == (keeps == "yes")


def test_a_deployment_of_another_program_is_not_ours() -> None:
    for container in ({"args": ["watch"]}, {"args": ["serve"], "image": "nginx"}):
        spec = {"template": {"spec": {"containers": [container]}}}
        assert read_deployment({"metadata": {"name": "x"}, "spec": spec}) is None


@pytest.mark.parametrize(
    ("expression", "labels", "expected"),
    cases("""
one of two | {key: a, operator: In, values: ["1", "2"]} | {a: "1"} | true
none of two | {key: a, operator: In, values: ["1", "2"]} | {a: "3"} | false
in, without | {key: a, operator: In, values: ["1"]} | {} | false
not in, without | {key: a, operator: NotIn, values: ["1"]} | {} | true
not in | {key: a, operator: NotIn, values: ["1"]} | {a: "1"} | false
exists | {key: a, operator: Exists} | {a: ""} | true
exists, without | {key: a, operator: Exists} | {b: ""} | false
does not exist | {key: a, operator: DoesNotExist} | {b: ""} | true
does not exist, with | {key: a, operator: DoesNotExist} | {a: ""} | false
unknown | {key: a, operator: Gt} | {a: ""} | false
"""),
)
def test_selects_as_the_api_server(expression: str, labels: str, expected: str) -> None:
    selector = {"matchExpressions": [yaml.safe_load(expression)]}
    assert selects(selector, yaml.safe_load(labels)) is yaml.safe_load(expected)


def test_an_empty_selector_selects_all() -> None:
    every: list[object] = [None, {}, {"matchLabels": {}}, {"matchLabels": {"a": "1"}}]
    for everything in every:
        assert selects(everything, {"a": "1", "b": "2"})
