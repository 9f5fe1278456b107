"""Know what each account must be allowed, and say what it lacks or has too much of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.core.wording import listed
from webhook.diagnose.check.needs import Role, deployments
from webhook.diagnose.common import APPLY
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import PROBE_SECONDS, Snapshot, Unread, at_once
from webhook.kube.catalogue import POLICIES, POLICY_BINDINGS
from webhook.kube.reader import whole

PRIVILEGES_LACKING = Code(
    "privileges/privileges-lacking",
    "The account may not do what it needs.",
    f"apply the RBAC manifests again: {APPLY}",
)
PRIVILEGES_EXCESSIVE = Code(
    "privileges/privileges-excessive",
    "The account may do dangerous things that it does not need.",
    "remove the role binding that grants them beside the shipped ones",
)
POLICIES_MISSING = Code(
    "privileges/policies-missing",
    "An admission policy of the manifests is missing, so tenants or stolen tokens may do more.",
    f"apply the manifests again: {APPLY}",
)
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_ADMISSION = "admissionregistration.k8s.io"


class Access(NamedTuple):
    """Name what an account may do; *resource* as ``pods/status``; *namespace* empty: in all."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{f' {self.name}' if self.name else ''}{where}"

    def attributes(self) -> Object:
        """Return the resourceAttributes of an access review."""
        resource, _, subresource = self.resource.partition("/")
        found = {**self._asdict(), "resource": resource, "subresource": subresource}
        return {key: value for key, value in found.items() if value}


def needed(
    role: Role,
    namespace: str,
    configuration: str = names.WEBHOOK_CONFIGURATION,
    *,
    keeps_certificates: bool = True,
) -> list[Access]:
    """Return what the account of *role* cannot do without, as the manifests grant it."""
    given = {"mutatingwebhookconfigurations": configuration}
    return [
        Access(
            verb, group, resource, namespace if place == "own" else "", given.get(resource, name)
        )
        for group, resource, place, name, verbs in _NEEDED[role]
        if keeps_certificates or role == "webhook" or resource not in _OF_CERTIFICATES
        for verb in verbs.split()
    ]


_OF_CERTIFICATES = ("mutatingwebhookconfigurations", "secrets")
"""What only a controller that keeps the certificates touches."""
_NEEDED: Mapping[Role, tuple[tuple[str, str, str, str, str], ...]] = {
    "webhook": (
        ("", "namespaces", "", "", "get list watch"),
        ("fabric-injector.io", "fabricprofiles", "", "", "get list watch"),
        ("k8s.cni.cncf.io", "network-attachment-definitions", "", "", "get list watch"),
        (_ADMISSION, "mutatingwebhookconfigurations", "", names.WEBHOOK_CONFIGURATION, "get"),
    ),
    "controller": (
        ("", "namespaces", "", "", "list watch"),
        ("", "pods", "", "", "list watch"),
        ("", "pods/status", "", "", "patch"),
        ("", "events", "", "", "create patch"),
        ("fabric-injector.io", "fabricprofiles", "", "", "list watch"),
        ("fabric-injector.io", "fabricprofiles/status", "", "", "patch"),
        ("k8s.cni.cncf.io", "network-attachment-definitions", "", "", "list"),
        ("resource.k8s.io", "deviceclasses", "", "", "list"),
        ("resource.k8s.io", "resourceclaimtemplates", "", "", "list watch create patch delete"),
        ("resource.k8s.io", "resourceclaims", "", "", "list watch"),
        (_ADMISSION, "mutatingwebhookconfigurations", "", names.WEBHOOK_CONFIGURATION, "get patch"),
        ("coordination.k8s.io", "leases", "own", "fabric-injector", "get update"),
        ("", "secrets", "own", names.TLS_SECRET, "get update patch"),
        ("coordination.k8s.io", "leases", "own", "", "create"),
        ("", "secrets", "own", "", "create"),
    ),
}

EXCESSIVE = (
    Access("create", "", "pods"),
    Access("patch", "", "pods"),
    Access("list", "", "secrets"),
    Access("patch", "fabric-injector.io", "fabricprofiles"),
    Access("patch", _ADMISSION, "mutatingwebhookconfigurations"),
    Access("patch", _ADMISSION, "validatingwebhookconfigurations"),
)
"""What neither account needs, and what would make a stolen token of it dangerous."""
_POLICIES = "addresses anti-affinity ca-bundle claim-templates copies created events priority"
SHIPPED_POLICIES = frozenset(f"fabric-injector-{name}" for name in _POLICIES.split())
"""The ValidatingAdmissionPolicies of the manifests."""


def check_accounts(snapshot: Snapshot) -> Iterator[Finding]:
    """Ask for each access that both accounts need or should lack, and judge them by it."""
    ours = deployments(snapshot)
    keeps = all(each.keeps_certificates for each in ours)
    own = snapshot.system_namespace
    for role, name in {each.role: each.account for each in ours}.items():
        need = needed(role, own, snapshot.configuration, keeps_certificates=keeps)
        asked = [*need, *EXCESSIVE]
        answers = at_once([partial(_may, snapshot, each, name) for each in asked])
        may = {access for access, answer in zip(asked, answers, strict=True) if answer}
        missing = [each for each in need if each not in may]
        surplus = [each for each in EXCESSIVE if each in may]
        subject = f"ServiceAccount {name}"
        if missing:
            action = f"{PRIVILEGES_LACKING.action}; its role is in rbac-{role}.yaml"
            message = f"may not {listed(map(str, missing))}"
            yield PRIVILEGES_LACKING.fail(subject, message, action)
        if surplus:
            message = f"may {listed(map(str, surplus))}, which it does not need"
            yield PRIVILEGES_EXCESSIVE.warn(subject, message)
        if not missing and not surplus:
            message = f"may do all {len(need)} things that it needs, and nothing dangerous besides"
            yield ok("privileges", subject, message)


def _may(snapshot: Snapshot, access: Access, account: str) -> bool:
    """Ask by a review, which is answered and not stored."""
    own, accounts = snapshot.system_namespace, "system:serviceaccounts"
    spec = {
        "resourceAttributes": access.attributes(),
        "user": f"system:serviceaccount:{own}:{account}",
        "groups": [accounts, f"{accounts}:{own}", "system:authenticated"],
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    try:
        response = snapshot.connection.request("POST", REVIEWS, body=body, timeout=PROBE_SECONDS)
        status = response.json().get("status") if response.status == 201 else None
    except Unavailable as error:
        raise Unread("privileges", f"cannot be asked for: {error}") from None
    if not isinstance(status, dict):
        raise Unread("privileges", f"cannot be asked for: {response.problem}")
    return status.get("allowed") is True


def check_policies(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether the admission policies of the manifests are in force."""
    classes = {each.priority_class for each in deployments(snapshot)}
    policies = {each["metadata"]["name"] for each in snapshot.list_all(POLICIES, whole)}
    bindings = snapshot.list_all(POLICY_BINDINGS, whole)
    there = policies & {(each.get("spec") or {}).get("policyName") for each in bindings}
    of_class = set() if "fabric-injector" in classes else {"fabric-injector-priority"}
    subject = "ValidatingAdmissionPolicies"
    if missing := sorted(SHIPPED_POLICIES - there - of_class):
        yield POLICIES_MISSING.warn(subject, f"lack {listed(missing)}, or its binding")
