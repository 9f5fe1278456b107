"""Build networks, profiles and plans: a plain one, with the one thing changed that a test is about; carry out a step of it."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jsonpatch

from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.model import Decision, Namespace, NetworkDefinition, Object, Outcome, Reason
from webhook.core.networks import Attachment
from webhook.core.plan import Plan
from webhook.core.podspec import containers, is_host_network
from webhook.core.profiles import Profile
from webhook.core.workloads.training_pod import TrainingPod

Step = Callable[[Draft, Plan], Iterable[Decision]]


def network(name: str = "default/rail-0", **tweaks: Any) -> NetworkDefinition:
    """Return a network with IPAM and nothing else; *name* is ``namespace/name``."""
    namespace, _, short = name.partition("/")
    return NetworkDefinition(namespace, short, **{"has_ipam": True, **tweaks})


def attachment(
    name: str = "default/rail-0",
    interface: str = "net1",
    *,
    default: bool = False,
    resource: str = "",
    **tweaks: Any,
) -> Attachment:
    """Return an attachment of ``network(name, **tweaks)`` that counts one of *resource*."""
    resources = ((resource, 1),) if resource else ()
    return Attachment(network(name, **tweaks), interface, resources, added=True, default=default)


def profile(
    env: Mapping[str, str] | None = None,
    resources: Mapping[str, Any] | None = None,
    **tweaks: Any,
) -> Profile:
    """Return the profile that an empty spec gives, with *tweaks*; *env* and *resources* are of its container."""
    container: Object = tweaks.pop("container", {})
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    if resources:
        container["resources"] = {"limits": dict(resources)}
    return Profile(**{"name": "rdma", "container": container, **tweaks})


_PLAIN = profile()


def plan(
    pod: Object,
    *attachments: Attachment,
    profile: Profile = _PLAIN,
    container: int = 0,
    labels: Mapping[str, str] | None = None,
    training_pod: TrainingPod | None = None,
    **tweaks: Any,
) -> Plan:
    """Return the plan of *pod* in namespace ``research`` with *labels*; its rendezvous network is the first that is not the default."""
    meeting = next((one for one in attachments if one.network.has_ipam and not one.default), None)
    fields: dict[str, Any] = {
        "profile": profile,
        "namespace": Namespace("research", labels or {}),
        "pod_name": "train-0",
        "container": container,
        "container_name": containers(pod)[container]["name"],
        "host_network": is_host_network(pod),
        "attachments": attachments,
        "rendezvous_network": meeting,
        "training_pod": training_pod,
    }
    return Plan(**{**fields, **tweaks})


def carry_out(step: Step, pod: Object, plan_of_pod: Plan) -> tuple[Object, list[Decision]]:
    """Return what *step* makes of *pod*, and its decisions, having checked what every step promises.

    The input is untouched, the operations lead from it to the result, a second pass changes nothing, and whatever is told, a
    denial too, is told in the step's own name.
    """
    before = json.dumps(pod)
    draft = Draft(pod)
    name = vars(sys.modules[step.__module__])["STEP"].name
    try:
        decisions = list(step(draft, plan_of_pod))
    except Denied as denied:
        assert denied.step == name  # noqa: PT017  # raised again for the test
        raise
    assert json.dumps(pod) == before, "the input is touched"
    operations = json.loads(json.dumps(draft.operations))
    assert jsonpatch.apply_patch(json.loads(before), operations) == draft.pod
    again = Draft(json.loads(json.dumps(draft.pod)))
    repeated = list(step(again, plan_of_pod))
    assert again.operations == []
    assert again.pod == draft.pod
    assert not [one for one in repeated if one.outcome is Outcome.INJECTED]
    assert {one.step for one in (*decisions, *repeated)} <= {name}
    for one in (*decisions, *repeated):
        assert one.reason in Reason
        assert one.message.isprintable(), one.message
        assert not one.message.endswith("."), one.message
    return draft.pod, decisions


def outcomes(decisions: Iterable[Decision]) -> list[tuple[Outcome, Reason]]:
    """Return outcome and reason of each decision."""
    return [(one.outcome, one.reason) for one in decisions]


def message(decisions: Iterable[Decision], outcome: Outcome) -> str:
    """Return the message of the one decision with this outcome."""
    [found] = [one.message for one in decisions if one.outcome is outcome]
    return found


def volume_at(pod: Object, path: str, container: int = 0) -> Object:
    """Return the volume that the container mounts at exactly *path*."""
    [name] = [
        one["name"]
        for one in pod["spec"]["containers"][container]["volumeMounts"]
        if one["mountPath"] == path
    ]
    [volume] = [one for one in pod["spec"]["volumes"] if one["name"] == name]
    return dict(volume)


def environment(pod: Object, container: int = 0) -> dict[str, str]:
    """Return each variable as text; a published one as ``@master-addr``."""
    found = {}
    for entry in pod["spec"]["containers"][container].get("env") or []:
        path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        assert not ("value" in entry and "valueFrom" in entry)
        found[entry["name"]] = (
            f"@{path.split('/')[1][:-2]}" if names.PREFIX in path else entry.get("value", "?")
        )
    return found
