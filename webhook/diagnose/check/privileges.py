"""Know what each account must be allowed, and say what it lacks or has too much of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.deployments import Role
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import listed

_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

Answer = Literal["yes", "no", "unknown"]


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

POLICIES: Mapping[str, str] = {
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


def check_account(
    role: Role, account: str, lacking: Mapping[Access, Answer], excess: Mapping[Access, Answer]
) -> Iterator[Finding]:
    """Judge an account by what it was told of each access that it needs (*lacking*), and of each that it should not have."""
    subject = f"ServiceAccount {account}"
    missing = [str(access) for access, answer in lacking.items() if answer == "no"]
    surplus = [str(access) for access, answer in excess.items() if answer == "yes"]
    unknown = [
        access for access, answer in (*lacking.items(), *excess.items()) if answer == "unknown"
    ]
    if missing:
        action = f"{Code.PRIVILEGES_LACKING.action}; its role is that of rbac-{role}.yaml of the manifests"
        yield Finding(
            "fail", Code.PRIVILEGES_LACKING, subject, f"may not {listed(missing)}", action
        )
    if surplus:
        message = f"may {listed(surplus)}, which it does not need"
        yield Finding("warn", Code.PRIVILEGES_EXCESSIVE, subject, message)
    if unknown:
        message = (
            "could not look: what it may do is told only to who may create subjectaccessreviews"
        )
        yield Finding("warn", Code.PRIVILEGES_UNKNOWN, subject, message)
    elif not missing and not surplus:
        message = f"may do all {len(lacking)} things that it needs, and nothing dangerous besides"
        yield Finding("ok", Code.PRIVILEGES_RIGHT, subject, message)


def check_installer(answers: Mapping[Access, Answer]) -> Finding:
    """Say before installation whether the caller may install."""
    missing = [str(access) for access, answer in answers.items() if answer != "yes"]
    if missing:
        return Finding("warn", Code.INSTALLER_LACKING, "you", f"may not {listed(missing)}")
    return Finding(
        "ok",
        Code.INSTALLER_READY,
        "you",
        f"may do all {len(answers)} things that installation takes",
    )


def check_policies(
    policies: set[str], bindings: set[str], priority_classes: Collection[str]
) -> Finding:
    """Say whether the policies of the manifests are in force; all are names, *priority_classes* those of our pods."""
    wanted = [
        name
        for name in POLICIES
        if name != _OF_PRIORITY_CLASS or PRIORITY_CLASS in priority_classes
    ]
    missing = [name for name in wanted if name not in policies or name not in bindings]
    subject = "ValidatingAdmissionPolicies"
    if missing:
        message = f"{listed(missing)} missing, or not bound: {'; '.join(POLICIES[name] for name in missing)}"
        return Finding("warn", Code.POLICIES_MISSING, subject, message)
    return Finding("ok", Code.POLICIES_BOUND, subject, f"{listed(wanted)} are bound")
