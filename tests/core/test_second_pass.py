"""A pod is reviewed again whenever another webhook changes it: what is forged too comes out as it went in, or is denied by us."""

import json
from collections import Counter
from random import Random
from typing import Any

import jsonpatch
import pytest

from tests import hostile, pods
from tests.hostile import forged, large
from webhook.core import names
from webhook.core.errors import MalformedReview
from webhook.core.model import Object, Reason
from webhook.core.pod_check import check_pod
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, decide

PROFILES = hostile.PROFILES
WORLD = hostile.world()
WORKER = "pods/kubeflow-pytorchjob-1.yaml"


def twice(pod: Object, space: str = "plain", using: Profiles = PROFILES) -> Verdict:
    """Decide about a pod, and about what becomes of it, which is to stay so."""
    before = json.dumps(pod)
    verdict = decide(pod, space, using, WORLD)
    assert json.dumps(pod) == before
    assert jsonpatch.apply_patch(pod, json.loads(json.dumps(verdict.operations))) == verdict.pod
    if is_copy(verdict):  # what was taken away may have hidden something
        verdict = decide(json.loads(json.dumps(verdict.pod)), space, using, WORLD)
    if verdict.allowed:
        again = decide(json.loads(json.dumps(verdict.pod)), space, using, WORLD)
        assert (again.allowed, again.operations, again.message) == (True, [], "")
        assert (again.job, again.role) == (verdict.job, verdict.role)
    return verdict


def is_copy(verdict: Verdict) -> bool:
    return Reason.STALE_MANIFEST in {each.reason for each in verdict.decisions}


def worker(**container: Any) -> Object:
    """Return a pod that waits for rank 0, with further fields of its container."""
    pod = pods.load(WORKER)
    pod["spec"]["containers"][0].update(container)
    return pod


@pytest.mark.parametrize("seed", range(4))
def test_no_forged_pod_comes_out_otherwise_the_second_time(seed: int) -> None:
    random = Random(seed)
    samples = [pods.load(name) for name in pods.all_names()]
    samples += [
        large.rich(name)
        for name in (WORKER, "pods/kubeflow-pytorchjob-0.yaml", "pods/jobset-1.yaml")
    ]
    spaces = list(hostile.SPACES)
    kinds: Counter[str] = Counter()
    for _ in range(300):
        pod = random.choice(samples)
        if (
            random.random() < 0.2
        ):  # a manifest saved from a pod that was injected, perhaps elsewhere
            pod = decide(pod, random.choice(spaces), PROFILES, WORLD).pod
        pod = forged.forged(pod, random, random.randint(1, 5))
        try:
            check_pod(pod)
        except MalformedReview:
            kinds["malformed"] += 1
        else:
            verdict = twice(pod, random.choice(spaces))
            kinds[
                "denied" if not verdict.allowed else "changed" if verdict.operations else "same"
            ] += 1
    assert min(kinds[kind] for kind in ("changed", "same", "denied")) > 3, kinds


def test_a_mount_of_the_users_own_beside_ours_is_seen_at_once() -> None:
    pod = decide(worker(), "own", PROFILES, WORLD).pod
    pod = decide(pod, "full", PROFILES, WORLD).pod
    pod["spec"]["containers"][0]["volumeMounts"].append(
        {"name": "data", "mountPath": names.NCCL_CONF_PATH}
    )
    decisions = [each for each in twice(pod, "full").decisions if each.step == "nccl-conf"]
    assert [each.reason for each in decisions] == [Reason.USER_VALUE]


def test_a_first_pod_that_is_called_localhost_and_by_name_keeps_both() -> None:
    pod = pods.load("pods/jobset-0.yaml")
    for marks in (
        pod["metadata"]["labels"],
        pod["metadata"]["annotations"],
    ):  # of two roles, none of which is said to lead
        marks["jobset.sigs.k8s.io/global-replicas"] = "5"
        del marks["jobset.sigs.k8s.io/coordinator"]
    env = pods.drop_env(pod, "MASTER_ADDR")["spec"]["containers"][0]["env"]
    env += [
        {"name": "MASTER_ADDR", "value": "ddp-workers-0-0.ddp"},
        {"name": "PET_MASTER_ADDR", "value": "localhost"},
    ]
    verdict = twice(pod)
    assert verdict.pod["spec"]["containers"][0]["env"][: len(env)] == env


def test_a_copy_comes_out_the_same_once_nothing_is_taken_away_from_it() -> None:
    """A second MASTER_ADDR, which hid the first, is published to nobody: without it the first one names rank 0."""
    pod = pods.load("pods/indexed-job-1.yaml")
    source = {"fieldRef": {"fieldPath": f"metadata.annotations['{names.WAIT_ENDS}']"}}
    pod["spec"]["containers"][0]["env"].append({"name": "MASTER_ADDR", "valueFrom": source})
    assert is_copy(decide(pod, "plain", PROFILES, WORLD))
    assert twice(pod).role == "worker"
    pod = pods.load("pods/indexed-job-0.yaml")
    pod["spec"]["containers"][0]["env"] = [{"name": "PET_MASTER_ADDR", "valueFrom": source}]
    for space in hostile.SPACES:
        twice(pod, space)
