"""Look at the claims of profiles: their DeviceClasses, their templates, and what quotas and Kueue make of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from webhook.core.claim_templates import template_name, template_spec
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.model import Object
from webhook.core.profiles import Profile, Profiles
from webhook.diagnose.check.quotas import Quota, check_quota
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed

MOST_OF_A_CLAIM = 32
"""What a quota counts for allocationMode: All. Source: kubernetes pkg/quota/v1/evaluator/core/resource_claims.go."""
_QUOTA = ".deviceclass.resource.k8s.io/devices"


class KueueMappings(NamedTuple):
    """Hold for which DeviceClasses Kueue's configuration names a resource; *is_known* False: that cannot be read."""

    classes: frozenset[str] = frozenset()
    is_known: bool = False


def needed_templates(
    profiles: Profiles, users: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], Object]:
    """Return what each template that the controller is to keep says, by namespace and name."""
    return {
        (namespace, template_name(claim)): template_spec(claim)
        for profile, namespaces in _with_claims(profiles, users)
        for namespace in namespaces
        for claim in profile.claims
    }


def check_claims(
    profiles: Profiles, users: Mapping[str, Sequence[str]], offers: DeviceOffers
) -> Iterator[Finding]:
    """Say which DeviceClasses of claims are missing, and where the cluster can give no claim at all."""
    known = None if offers.classes is None else {each.name for each in offers.classes}
    found: list[str] = []
    for profile, _ in _with_claims(profiles, users):
        subject = f"profile {profile.name}"
        if profiles.claims_problem:
            yield Finding(
                "warn",
                Code.CLAIMS_UNSERVED,
                subject,
                f"no pod gets its claims: {profiles.claims_problem}",
            )
            continue
        for claim in profile.claims if known is not None else ():
            for name in dict.fromkeys(request.device_class_name for request in claim.requests):
                if known is not None and name not in known:
                    message = f"names DeviceClass {name}, which does not exist: pods that get the claim stay Pending"
                    yield Finding(
                        "fail", Code.DEVICE_CLASS_MISSING, f"{subject}: claim {claim.name}", message
                    )
                else:
                    found.append(name)
    if found:
        names = list(dict.fromkeys(found))
        message = f"{'is' if len(names) == 1 else 'are'} there, for the claims of profiles"
        yield Finding("ok", Code.DEVICE_CLASSES_FOUND, f"{_classes(names)}", message)


def check_templates(
    needed: Mapping[tuple[str, str], Object], there: Mapping[tuple[str, str], Any]
) -> Iterator[Finding]:
    """Compare the templates that are to be kept with those that are *there*: of each that was asked for its spec, None for none."""
    right = 0
    for key, spec in there.items():
        subject = f"ResourceClaimTemplate {'/'.join(key)}"
        if spec is None:
            action = "the controller makes it within seconds; where it does not, look at its log"
            message = "is not there: pods that name it stay Pending"
            yield Finding("warn", Code.CLAIM_TEMPLATE_MISSING, subject, message, action)
        elif spec != needed[key]:
            message = "has another content than the profile says: pods get other devices"
            yield Finding("fail", Code.CLAIM_TEMPLATE_FOREIGN, subject, message)
        else:
            right += 1
    if right:
        message = f"{counted(right, 'template')} of claims as the profiles say"
        if unseen := len(needed) - len(there):
            message += f"; {unseen} more were not looked at"
        yield Finding("ok", Code.CLAIM_TEMPLATES_KEPT, "ResourceClaimTemplates", message)


def check_claim_quotas(
    quotas: Iterable[Quota], profiles: Profiles, users: Mapping[str, Sequence[str]]
) -> Iterator[Finding]:
    """Say which quotas of labelled namespaces refuse the claims; one that does not name a class lets pods take all there are."""
    amounts: dict[str, dict[str, Fraction]] = {}
    for profile, namespaces in _with_claims(profiles, users):
        for namespace in namespaces:
            counted_here = amounts.setdefault(namespace, {})
            for claim in profile.claims:
                for request in claim.requests:
                    number = (
                        MOST_OF_A_CLAIM if request.allocation_mode == "All" else request.count or 1
                    )
                    key = request.device_class_name + _QUOTA
                    counted_here[key] = counted_here.get(key, Fraction(0)) + number
    for quota in quotas:
        for key, amount in amounts.get(quota.namespace, {}).items():
            if key in quota.hard:
                yield check_quota(quota, key, amount)


def check_kueue_claims(
    local_queues: Iterable[Object],
    mappings: KueueMappings,
    profiles: Profiles,
    users: Mapping[str, Sequence[str]],
) -> Iterator[Finding]:
    """Say what Kueue makes of claims in the namespaces that have its queues.

    A workload whose DeviceClass no mapping names is inadmissible. The webhook adds claims to pods, which Kueue sees of plain pods and
    pod groups alone; those of Jobs it takes from their templates. Source: kueue pkg/dra/claims.go, issues 10504 and 13842.
    """
    queued = {(local.get("metadata") or {}).get("namespace") for local in local_queues}
    for profile, namespaces in _with_claims(profiles, users):
        here = [namespace for namespace in namespaces if namespace in queued]
        classes = dict.fromkeys(
            request.device_class_name for claim in profile.claims for request in claim.requests
        )
        unmapped = (
            [name for name in classes if name not in mappings.classes] if mappings.is_known else []
        )
        if not here:
            continue
        where = f"in {listed(here)} Kueue counts the claims of plain pods and pod groups, not those of Jobs, whose templates have none"
        if unmapped:
            message = (
                f"{where}; its configuration maps no resource to {_classes(unmapped)}: with its gate for DRA on such pods are "
                "never admitted, else their claims are not counted"
            )
            yield Finding("warn", Code.KUEUE_CLAIMS_UNMAPPED, f"profile {profile.name}", message)
        else:
            which = (
                ""
                if mappings.is_known
                else "; whether its configuration maps the DeviceClasses cannot be read"
            )
            message = f"{where}, and may count a template that several pods name less often than they do{which}"
            yield Finding("ok", Code.KUEUE_CLAIMS_COUNTED, f"profile {profile.name}", message)


def _with_claims(
    profiles: Profiles, users: Mapping[str, Sequence[str]]
) -> Iterator[tuple[Profile, Sequence[str]]]:
    """Yield the profiles that give claims, with the namespaces whose pods may have them."""
    for name, profile in profiles.profiles.items():
        if profile.claims:
            yield (
                profile,
                [namespace for namespace in users.get(name, ()) if profile.is_for(namespace)],
            )


def _classes(names: Sequence[str]) -> str:
    return f"{'DeviceClass' if len(names) == 1 else 'DeviceClasses'} {listed(names)}"
