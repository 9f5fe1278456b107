"""Know what each account must be allowed, and say what it lacks or has too much of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.needs import Role, deployments
from webhook.diagnose.common import APPLY
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot, at_once
from webhook.diagnose.wording import listed
from webhook.kube.catalogue import POLICIES, POLICY_BINDINGS

PRIVILEGES_LACKING = Code(
    "privileges-lacking",
    "privileges",
    "The account may not do what it needs.",
    f"apply the RBAC manifests again: {APPLY}",
)
PRIVILEGES_EXCESSIVE = Code(
    "privileges-excessive",
    "privileges",
    "The account may do dangerous things that it does not need.",
    "remove the role binding that grants them beside the shipped ones",
)
INSTALLER_LACKING = Code(
    "installer-lacking",
    "privileges",
    "You may not do everything that installation takes.",
    "ask an administrator of the cluster to install it",
)
POLICIES_MISSING = Code(
    "policies-missing",
    "privileges",
    "An admission policy of the manifests is missing or not bound.",
    f"apply the manifests again: {APPLY}",
)
_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"


class Access(NamedTuple):
    """Name one thing that an account may do; *resource* as ``pods/status``; *namespace* empty: in all."""

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
        found = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
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


_ACCOUNTS: Mapping[Role, str] = {
    "webhook": "fabric-injector-webhook",
    "controller": "fabric-injector-controller",
}
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

EXCESSIVE: Mapping[Role, tuple[Access, ...]] = {
    "webhook": (
        Access("create", "", "pods"),
        Access("patch", "", "pods"),
        Access("list", "", "secrets"),
        Access("patch", _ADMISSION, "mutatingwebhookconfigurations"),
        Access("patch", _ADMISSION, "validatingwebhookconfigurations"),
    ),
    "controller": (
        Access("create", "", "pods"),
        Access("patch", "", "pods"),
        Access("list", "", "secrets"),
        Access("patch", _ADMISSION, "mutatingwebhookconfigurations"),
        Access("patch", "fabric-injector.io", "fabricprofiles"),
        Access("patch", _ADMISSION, "validatingwebhookconfigurations"),
    ),
}
"""What neither account needs, and what would make a stolen token of it dangerous."""

SHIPPED_POLICIES: Mapping[str, str] = {
    "fabric-injector-addresses": "the controller's account may change more of pods than it needs",
    "fabric-injector-anti-affinity": "a tenant's pods may keep the injector's own from every node",
    "fabric-injector-ca-bundle": "the controller's account may change more of webhook configurations than it needs",
    "fabric-injector-created": "the controller's account may create more than it needs",
    "fabric-injector-claim-templates": "the controller's account may make and remove ResourceClaimTemplates of others",
    "fabric-injector-copies": "copies of injected pods may wait for addresses that nobody publishes",
    "fabric-injector-events": "the controller's account may write and change Events of others",
    "fabric-injector-priority": "any pod may take the priority class that is kept for the injector's own",
}
"""ValidatingAdmissionPolicies that the manifests hold, each with a binding of its name, and what may happen without."""


PRIORITY_CLASS = "fabric-injector"
_OF_PRIORITY_CLASS = "fabric-injector-priority"


def to_install(namespace: str) -> list[Access]:
    """Return what the caller needs to apply the manifests."""
    cluster = (
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("", "namespaces"),
        ("scheduling.k8s.io", "priorityclasses"),
        (_RBAC, "clusterroles"),
        (_RBAC, "clusterrolebindings"),
        (_ADMISSION, "validatingadmissionpolicies"),
        (_ADMISSION, "validatingadmissionpolicybindings"),
        (_ADMISSION, "mutatingwebhookconfigurations"),
    )
    own = (
        ("", "serviceaccounts"),
        ("", "services"),
        ("", "configmaps"),
        ("apps", "deployments"),
        ("policy", "poddisruptionbudgets"),
        (_RBAC, "roles"),
        (_RBAC, "rolebindings"),
    )
    label = [Access("patch", "", "namespaces")]
    return (
        [Access("create", *each) for each in cluster]
        + [Access("create", *each, namespace) for each in own]
        + label
    )


def check_accounts(snapshot: Snapshot) -> Iterator[Finding]:
    """Judge both accounts by the API server's answer to each access that they need or should lack."""
    ours = deployments(snapshot)
    keeps = all(each.keeps_certificates for each in ours)
    accounts = dict(_ACCOUNTS) | {each.role: each.account for each in ours}
    for role, name in accounts.items():
        need = needed(
            role, snapshot.system_namespace, snapshot.configuration, keeps_certificates=keeps
        )
        missing = [each for each, may in _ask(snapshot, need, name) if not may]
        surplus = [each for each, may in _ask(snapshot, EXCESSIVE[role], name) if may]
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


def judge_installer(snapshot: Snapshot) -> Iterator[Finding]:
    """Say before installation that nothing is there, and whether the caller may install."""
    where = f"namespace {snapshot.system_namespace}"
    yield ok("installation", "fabric-injector", f"is not installed yet in {where}")
    need = to_install(snapshot.system_namespace)
    missing = [str(each) for each, may in _ask(snapshot, need) if not may]
    if missing:
        yield INSTALLER_LACKING.warn("you", f"may not {listed(missing)}")
    else:
        yield ok("privileges", "you", f"may do all {len(need)} things that installation takes")


def _ask(
    snapshot: Snapshot, accesses: Sequence[Access], account: str = ""
) -> Iterator[tuple[Access, bool]]:
    questions = [partial(snapshot.may, each.attributes(), account) for each in accesses]
    return zip(accesses, at_once(questions), strict=True)


def check_policies(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether the admission policies of the manifests are in force."""
    classes = {each.priority_class for each in deployments(snapshot)}
    there = set(snapshot.list_all(POLICIES, _name)) & set(
        snapshot.list_all(POLICY_BINDINGS, _policy)
    )
    wanted = dict(SHIPPED_POLICIES)
    if PRIORITY_CLASS not in classes:
        del wanted[_OF_PRIORITY_CLASS]
    subject = "ValidatingAdmissionPolicies"
    if missing := [name for name in wanted if name not in there]:
        consequences = "; ".join(wanted[name] for name in missing)
        yield POLICIES_MISSING.warn(
            subject, f"lack {listed(missing)}, or its binding: {consequences}"
        )
    else:
        yield ok("privileges", subject, f"{listed(wanted)} are bound")


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def _policy(obj: Object) -> str | None:
    return (obj.get("spec") or {}).get("policyName")
