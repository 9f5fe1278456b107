"""Set or remove fabric-injector's own labels and annotations; none that came is trusted."""

import json
from collections.abc import Container, Iterable

import orjson

from webhook.core import names, podspec
from webhook.core.addresses import DEFAULT
from webhook.core.claim_templates import is_ours
from webhook.core.draft import Draft
from webhook.core.injection import copies, wait
from webhook.core.injection.row import stated
from webhook.core.model import Decision, Outcome
from webhook.core.plan import Plan
from webhook.core.printable import printable
from webhook.core.workloads.endpoint import is_local

_LABELS = ("metadata", "labels")
_ANNOTATIONS = ("metadata", "annotations")


def write(draft: Draft, plan: Plan, decisions: Iterable[Decision], version: str) -> None:
    """Write what the controller, later passes and people read of this pod; remove the rest."""
    labels: dict[str, str] = {}
    annotations = {names.CONTAINER: plan.container_name}
    rendezvous = plan.rendezvous
    if rendezvous is not None and plan.rendezvous_network is not None:
        labels[names.JOB] = rendezvous.job
        labels[names.RENDEZVOUS] = rendezvous.role
        needs = [need.partition(":")[0] for need in wait.needs(draft.pod)]
        if rendezvous.rank_zero or "local-addr" in needs:  # else only devices are published
            network, family = plan.rendezvous_network, plan.profile.rendezvous.ip_family
            written = f"{network.key}@{network.interface}/{family}"
            annotations[names.RENDEZVOUS_NETWORK] = written
        if plan.profile.rendezvous.address_source != DEFAULT:
            annotations[names.ADDRESS_SOURCE] = plan.profile.rendezvous.address_source
        annotations[names.WAITS_FOR] = ",".join([path for path in wait.FIELDS if path in needs])
        if rendezvous.role == "worker" and "master-addr" in needs:
            name = copies.rank_zero_name(draft.pod, plan.trainer(draft.pod))
            if name and "$" not in name and not is_local(name):  # else no pod could publish it
                annotations[names.MASTER_NAME] = name
            if plan.profile.rendezvous.unreachable == names.UNREACHABLE_FAIL:
                annotations[names.UNREACHABLE] = names.UNREACHABLE_FAIL
    if plan.profile.claims and any(map(is_ours, draft.get("spec", "resourceClaims") or ())):
        labels[names.CLAIMS] = names.CLAIMS_REFERENCED
    earlier = podspec.annotations(draft.pod).get(names.STATUS)
    annotations[names.STATUS] = _status(plan, version, decisions, earlier)
    if labels:
        draft.set_keys(_LABELS, labels)
    draft.set_keys(_ANNOTATIONS, annotations)
    # The devices have just set or removed theirs.
    remove(draft, keep={*labels, *annotations, names.ADDED_DEVICES})
    if names.ADDRESS_SOURCE in annotations:  # what a live pod's saved manifest carries
        draft.remove_key(_ANNOTATIONS, plan.source.words.told)


def write_left_alone(draft: Draft, why: Decision) -> None:
    """Mark a pod whose devices are not certain: its user sees no warning of the webhook."""
    remove(draft, keep=(names.LEFT_ALONE,))
    draft.set_key(_LABELS, names.LEFT_ALONE, str(why.reason))
    draft.set_key(_ANNOTATIONS, names.LEFT_ALONE, printable(why.message, limit=1024))


def remove(draft: Draft, keep: Container[str] = ()) -> None:
    """Remove our own keys but those in *keep*, and the network status that a saved pod carries."""
    for path, keys in (
        (_LABELS, names.OWN_LABELS),
        (_ANNOTATIONS, names.OWN_ANNOTATIONS + names.FOREIGN_STALE_ANNOTATIONS),
    ):
        there = draft.get(*path) or ()
        for key in [key for key in keys if key in there and key not in keep]:
            draft.remove_key(path, key)


def _status(plan: Plan, version: str, decisions: Iterable[Decision], earlier: str | None) -> str:
    """Write one line of JSON for people, and for members of the job that come later.

    What an earlier pass injected, this one finds as kept: it is still told as injected.
    """
    before = _injected_earlier(earlier)
    kept = [each.step for each in decisions if each.outcome is Outcome.KEPT]
    injected = dict.fromkeys(
        each.step
        for each in decisions
        if each.outcome is Outcome.INJECTED or (each.step in kept and each.step in before)
    )
    skipped: dict[str, str] = {}
    for each in decisions:
        if each.outcome is Outcome.SKIPPED:
            skipped.setdefault(each.step, each.message)
    profile = plan.profile
    status = stated(profile=profile.name, generation=profile.generation, revision=profile.revision)
    if profile.revision:
        status["chosenBy"] = plan.chosen_by
    status["version"] = version
    status["injected"] = list(injected)
    status["kept"] = [step for step in dict.fromkeys(kept) if step not in injected]
    status["skipped"] = skipped
    try:
        return orjson.dumps(status).decode()
    except TypeError:  # lone surrogates, from a name in the pod
        return json.dumps(status, separators=(",", ":"))


def _injected_earlier(status: str | None) -> frozenset[str]:
    if not status:
        return frozenset()
    try:
        return frozenset(json.loads(status)["injected"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset()
