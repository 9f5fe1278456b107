"""What becomes of members whose rank 0 publishes no address: who it is, and whether it can."""

from typing import Any

import pytest

from tests import pods
from tests.tables import read, table
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile import Fate, Member, Suspect, read_member
from webhook.core.reconcile.complaint import UNCALLED, Complaint
from webhook.core.reconcile.jobs import publication
from webhook.core.reconcile.rank_zero import (
    BEHIND_SECONDS,
    UNATTACHED_SECONDS,
    Ruling,
    Survey,
)
from webhook.core.workloads import TrainingPod, recognise

ROWS = read(__file__, "rank_zero.yaml")
NAME = "bert-master-0.bert"
BY_NAME = Fate(by_name=True)
GPUS = {"limits": {"nvidia.com/gpu": "8"}}
FAILS = {names.UNREACHABLE: names.UNREACHABLE_FAIL}
NOT_ATTACHED = {names.NETWORK_STATUS: "[]"}


def member(name: str = "w-1", role: str = "worker", job: str = "j-1", **more: Any) -> Member:
    annotations = {names.WAITS_FOR: "master-addr", **more.pop("annotations", {})}
    found = read_member(pods.member_pod(name, role, job, annotations=annotations, **more))
    assert found is not None
    return found


def placed(name: str, *, bound: bool = True, gpus: bool = False) -> Object:
    """Give the whole pod of a member."""
    metadata = {"name": name, "uid": f"uid-{name}", "labels": {names.JOB: "j-1"}}
    containers = [pods.minimal_container() | ({"resources": GPUS} if gpus else {})]
    spec = {"containers": containers, **({"nodeName": "node-7"} if bound else {})}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def rule(suspect: Suspect, *others: Object, seconds: float = 40, bound: bool = True) -> Ruling:
    """Decide about a suspect that has been seen on its node for so long, among other pods."""
    survey = Survey([suspect])
    for pod in (placed(suspect.member.name, bound=bound), *others):
        survey.add(pod)
    return survey.rule(suspect, seconds)


def uninjected() -> tuple[Object, str]:
    """Give a PyTorchJob's master as its operator creates it, and the job's key."""
    found = pods.load("pods/kubeflow-pytorchjob-0.yaml")
    found["metadata"].pop("deletionTimestamp", None)
    found["status"] = {"phase": "Running"}
    part = recognise(found)
    assert isinstance(part, TrainingPod)
    assert part.rendezvous is not None
    assert part.rendezvous.role == "master"
    return found, part.rendezvous.job


def driver(gpus: bool = False, metadata: Object | None = None, **spec: Any) -> Object:
    """Give a pod that no system marks."""
    found = pods.minimal_pod(metadata={"name": "bert-master-0", **(metadata or {})})
    found["spec"] |= spec
    if gpus:
        found["spec"]["containers"][0]["resources"] = GPUS
    return found


def complaint(ruling: Ruling) -> Complaint:
    assert ruling.complaint is not None
    return ruling.complaint


def test_a_rank_zero_that_was_not_injected_ends_the_wait_at_once_with_the_cause() -> None:
    master, job = uninjected()
    found = rule(Suspect(member(job=job), None), pods.plain(), master, seconds=1)
    assert complaint(found) == ("RankZeroNotInjected", found.fate.cause)
    assert found.fate.cause == (
        f"rank 0 of job {job}, pod {master['metadata']['name']}, {UNCALLED}, and publishes no "
        "address: restart the job"
    )


@table("row", ROWS["without our label"])
def test_a_rank_zero_without_our_label_is_known_by_the_name_that_the_members_were_told(
    row: Object,
) -> None:
    pod, name, told = driver(**row["pod"]), row["name"], row["told"]
    found = rule(Suspect(member(), None, name), pod)
    if "no live pod" in told:
        assert told in complaint(found).message
    elif told == "MeetsByName":
        assert found.fate == BY_NAME
        assert complaint(found) == (
            told,
            "rank 0 of job j-1, pod bert-master-0, publishes no address: members that wait get the "
            "name bert-master-0.bert and meet on the pod network",
        )
        assert rule(Suspect(member(annotations=FAILS), None, name), pod).fate.cause
    else:
        then = f"give it the {names.PROFILE} of the job's other pods, or give all pods of the job"
        assert f"{told}, and publishes no address: {then}" in found.fate.cause


@table("gpus", {"none": (), "the worker": ("w-1",), "both": ("w-1", "master")})
def test_a_rank_zero_from_before_the_label_ends_the_wait_unless_only_the_others_have_accelerators(
    gpus: tuple[str, ...],
) -> None:
    """Without accelerators all are ranks of gloo. Beside members with some it may be a driver."""
    master, job = uninjected()
    master["spec"]["containers"][0]["resources"] = GPUS if "master" in gpus else {}
    suspect = Suspect(member(job=job), None, NAME)
    survey = Survey([suspect])
    survey.add(master)
    survey.add(placed("w-1", gpus="w-1" in gpus))
    found = survey.rule(suspect, 12)
    by_name = gpus == ("w-1",)
    assert complaint(found).reason == ("MeetsByName" if by_name else "RankZeroNotInjected")
    assert (found.fate == BY_NAME) is by_name


def test_a_rank_zero_that_the_watch_has_not_shown_yet_is_not_missing() -> None:
    zero = placed("bert-master-0")
    zero["metadata"]["labels"][names.RENDEZVOUS] = "master"
    suspect = Suspect(member(annotations=FAILS), None, NAME)
    assert rule(suspect, zero) == Ruling(again=BEHIND_SECONDS)


@table("row", ROWS["not injected"])
def test_says_why_a_rank_zero_was_not_injected(row: Object) -> None:
    master, job = uninjected()
    metadata = row.get("metadata", {})
    labels = master["metadata"]["labels"] | metadata.get("labels", {})
    master["metadata"] |= metadata | {"labels": labels}
    master["spec"] |= row.get("spec", {})
    waiting = member(job=job)._replace(created="2026-01-01T10:00:00Z")
    cause = rule(Suspect(waiting, None), master).fate.cause
    assert row["why"] in cause
    assert f": {row['then']}" in cause
    assert "\n" not in cause


def test_other_pods_are_not_taken_for_rank_zero() -> None:
    master, job = uninjected()
    ending = master["metadata"] | {"deletionTimestamp": "2026-01-01T11:59:59Z"}
    injected = master["metadata"] | {"labels": {**master["metadata"]["labels"], names.JOB: "x"}}
    others = (
        pods.load("pods/kubeflow-pytorchjob-1.yaml"),
        {**master, "metadata": ending},
        {**master, "status": {"phase": "Succeeded"}},
        {**master, "metadata": injected},
    )
    assert rule(Suspect(member(job=job), None, NAME), *others).fate == BY_NAME
    assert rule(Suspect(member(job="another"), None, "other-0"), master).fate == BY_NAME


@table("row", ROWS["missing"])
def test_a_rank_zero_without_a_pod_is_missing_30_s_after_a_member_was_bound(row: Object) -> None:
    annotations = FAILS if "fails" in row else {}
    suspect = Suspect(member(annotations=annotations), None, row["name"])
    found = rule(suspect, seconds=row["seconds"])
    assert rule(suspect, seconds=row["seconds"], bound=False) == Ruling()
    if "again" in row:
        assert found == Ruling(again=row["again"])
        return
    assert row["told"] in complaint(found).message
    owner = "look at the Events of the job's owner, and at the quota and policies"
    assert (owner in complaint(found).message) == (complaint(found).reason != "MeetsByName")
    fate = Fate(complaint(found).message) if annotations else Fate(by_name=bool(row["name"]))
    reason = "MeetsByName" if fate.by_name else "RankZeroMissing"
    assert (found.fate, complaint(found).reason) == (fate, reason)


def test_a_rank_zero_that_is_not_bound_yet_is_waited_for() -> None:
    suspect = Suspect(member(address="10.0.0.2"), member("m", "master"), NAME)
    assert not suspect.is_stuck
    assert rule(suspect, placed("m", bound=False), seconds=3600) == Ruling()


@table("row", ROWS["no address"])
def test_a_rank_zero_whose_network_gives_no_address_ends_every_wait(row: Object) -> None:
    told = {names.NETWORK_STATUS: row["status"]} if "status" in row else {}
    network = row.get("network", "default/rdma-net@net1/any")
    zero = member("m", "master", network=network, annotations=told)
    worker = Suspect(member(address="10.0.0.2"), zero, NAME)
    survey = Survey([worker, Suspect(zero, zero)])
    for pod in (placed("w-1"), placed("m")):
        survey.add(pod)
    assert worker.is_stuck
    begins = f"rank 0 of job j-1, pod m, {row['cause']}"
    assert survey.rule(worker, 40).fate.cause.startswith(begins)
    if network:
        assert survey.rule(Suspect(zero, zero), 40) == survey.rule(worker, 40)
        assert ", then delete that pod or restart the job" in survey.rule(worker, 40).fate.cause


def test_a_member_that_needs_only_rank_zeros_address_is_not_asked_for_its_own() -> None:
    waiting = member(annotations=NOT_ATTACHED)
    zero = member("m", "master", address="10.0.0.1")
    assert rule(Suspect(waiting, zero, NAME), placed("m"), seconds=3600) == Ruling()


@pytest.mark.parametrize("role", ["master", "worker"])
def test_a_pod_that_waits_for_an_address_of_its_own_and_was_given_none_waits_no_longer(
    role: str,
) -> None:
    """Rank 0 of a job that meets by its name waits for its own address only."""
    annotations = {names.WAITS_FOR: "local-addr", **NOT_ATTACHED}
    alone = member("m", role, annotations=annotations)
    zero = alone if role == "master" else member("z", "master", address="10.0.0.1")
    suspect = Suspect(alone, zero)
    assert suspect.is_stuck
    assert rule(suspect, seconds=5) == Ruling(again=UNATTACHED_SECONDS - 5)
    cause = rule(suspect, seconds=20).fate.cause
    who = "rank 0" if role == "master" else "a member"
    assert cause.startswith(f"{who} of job j-1, pod m, was not attached to default/rdma-net@net1")
    lacking = publication(alone, zero.secondary.address, Fate(cause))
    assert lacking is not None
    assert lacking.annotations[names.WAIT_ENDS] == cause
    both = member("m", role, annotations=annotations | {names.WAITS_FOR: "master-addr,local-addr"})
    found = rule(Suspect(both, both if role == "master" else zero), seconds=20)
    assert "was not attached" in found.fate.cause
    given = member("m", role, address="10.0.0.2", annotations={names.WAITS_FOR: "local-addr"})
    assert rule(Suspect(given, zero), seconds=20) == Ruling()


def test_a_rank_zero_that_has_just_been_bound_may_yet_be_attached() -> None:
    zero = member("m", "master", annotations=NOT_ATTACHED)
    suspects = [Suspect(member(), zero), Suspect(zero, zero)]
    survey = Survey(suspects)
    for pod in (placed("w-1"), placed("m")):
        survey.add(pod)
    assert survey.rule(suspects[0], 10) == Ruling(again=UNATTACHED_SECONDS - 10)


def test_a_rank_zero_with_an_address_is_as_it_should_be() -> None:
    assert rule(Suspect(member(), member("m", "master", address="10.0.0.1"), NAME)) == Ruling()


@table(
    "waits_for, address, stuck",
    {
        "rank 0": ("master-addr", "10.0.0.2", True),
        "rank 0, no sandbox yet": ("master-addr", "", False),
        "nothing": ("", "10.0.0.2", False),
        "itself": ("local-addr", "", False),
    },
)
def test_stuck_is_who_waits_for_rank_zero_in_a_sandbox_that_is_made(
    waits_for: str, address: str, stuck: bool
) -> None:
    annotations = {names.WAITS_FOR: waits_for}
    assert Suspect(member(address=address, annotations=annotations), None).is_stuck is stuck
