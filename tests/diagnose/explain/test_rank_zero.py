"""Why rank 0's address is published to nobody: what is said of a rank 0 that its members wait for in vain."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import PROFILES, Scene, ago
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.explanation import explain

APART = PROFILES + "  apart: {rendezvous: {enabled: false}}"


def waiting() -> Scene:
    """Return a job whose workers wait for rank 0's address."""
    scene = Scene()
    for pod in scene.workers:
        scene.wait(pod, ago(minutes=17))
    return scene


def without_injection(scene: Scene, **labels: str) -> Object:
    pod = scene.created(0)
    pod["metadata"]["labels"] |= {f"{names.PREFIX}{key}": value for key, value in labels.items()}
    scene.bind(pod)
    scene.pods["bert-master-0"] = pod
    return pod


def opted_out(scene: Scene) -> None:
    without_injection(scene, profile="none")


def made_again_meanwhile(scene: Scene) -> None:
    without_injection(scene)["metadata"]["creationTimestamp"] = ago(minutes=5)


def of_a_profile_that_is_gone(scene: Scene) -> None:
    without_injection(scene, profile="gone")


def after_the_label_was_removed(scene: Scene) -> None:
    scene.labels.clear()
    without_injection(scene)


def while_the_namespace_observes(scene: Scene) -> None:
    scene.labels[names.MODE] = "observe"
    without_injection(scene)


def profiles_unread(scene: Scene) -> None:
    without_injection(scene)
    scene.changes = {"profiles": None}


def of_a_profile_without_rendezvous(scene: Scene) -> None:
    scene.profiles = parse_profiles(APART)
    pod = without_injection(scene, profile="apart")
    scene.pods["bert-master-0"] = scene.admitted(pod)


def on_the_network_of_its_node(scene: Scene) -> None:
    pod = without_injection(scene)
    pod["spec"]["hostNetwork"] = True
    scene.pods["bert-master-0"] = scene.admitted(pod)


def of_a_profile_without_rendezvous_and_profiles_unread(scene: Scene) -> None:
    of_a_profile_without_rendezvous(scene)
    scene.changes = {"profiles": None}


def its_label_was_removed(scene: Scene) -> None:
    del scene.master["metadata"]["labels"][names.JOB]


def its_annotation_was_removed(scene: Scene) -> None:
    del scene.master["metadata"]["annotations"][names.RENDEZVOUS_NETWORK]


ALIKE = "give all pods of the job the same labels and networks, then restart it"
LACKS = "lacks label fabric-injector.io/job or annotation fabric-injector.io/rendezvous-network, which injection sets"


@pytest.mark.parametrize(
    ("break_", "why", "action"),
    [
        (opted_out, "not injected: label fabric-injector.io/profile is none", ALIKE),
        (
            made_again_meanwhile,
            "was created without injection, though older pods of the job were injected (the webhook was not called, or only observed); "
            "today it would get profile shared",
            "see fabric-injector check, which tells whether the webhook is called; then restart the job",
        ),
        (
            of_a_profile_that_is_gone,
            "nothing was injected, and today it would be denied: label fabric-injector.io/profile: no profile is named 'gone'; "
            "use one of: shared",
            "correct that, then restart the job",
        ),
        (
            after_the_label_was_removed,
            "not injected: neither the pod nor namespace research carries the label fabric-injector.io/profile",
            "kubectl label namespace research fabric-injector.io/profile=PROFILE, then restart the job",
        ),
        (
            while_the_namespace_observes,
            "nothing was injected: label fabric-injector.io/mode of namespace research only observes; "
            "without it profile shared would inject networks, devices, ipc-lock, shared-memory, rendezvous, environment",
            Code.NAMESPACE_OBSERVES.action,
        ),
        (
            profiles_unread,
            "nothing was injected, and why is unknown",
            Code.NOT_INJECTED_UNKNOWN.action,
        ),
        (
            of_a_profile_without_rendezvous,
            "not injected: rendezvous: profile apart says rendezvous: {enabled: false}",
            ALIKE,
        ),
        (
            of_a_profile_without_rendezvous_and_profiles_unread,
            "not injected: rendezvous: profile apart says rendezvous: {enabled: false}",
            ALIKE,
        ),
        (
            on_the_network_of_its_node,
            "not injected: rendezvous: the pod uses the node's network: Multus gives it no secondary address",
            ALIKE,
        ),
        (its_label_was_removed, LACKS, ALIKE),
        (its_annotation_was_removed, LACKS, ALIKE),
    ],
)
def test_says_why_nobody_is_told_of_rank_zero(
    break_: Callable[[Scene], object], why: str, action: str
) -> None:
    scene = waiting()
    break_(scene)
    first = findings(scene)[0]
    assert (first.level, first.subject) == ("fail", "pod bert-master-0 (rank 0)")
    assert first.message == f"{why}; it publishes no address"
    assert first.action == action
    assert findings(scene, "members") == []
    told = [each for each in explain(scene.reading).findings if each.subject == first.subject]
    assert sum("not injected: rendezvous:" in each.message for each in told) <= 1, "said once"


def test_a_rank_zero_without_injection_that_nobody_waits_for() -> None:
    scene = Scene(0)
    scene.profiles = parse_profiles(APART)
    scene.labels[names.PROFILE] = "apart"
    scene.pods = {
        "bert-worker-0": scene.admitted(scene.created(1)),
        "bert-master-0": scene.created(0),
    }
    assert texts(findings(scene, "injection"))[0] == (
        "fail pod bert-master-0 (rank 0): was created before its namespace was labelled, or while the webhook was not "
        "called or only observed; today it would get profile apart"
    )
