"""What becomes of members whose rank 0 publishes no address: who it is, whether it can, and from when on it counts as missing."""

from typing import Any

import pytest

from tests import pods
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile import Fate, Member, Suspect, read_member
from webhook.core.reconcile.complaint import Complaint
from webhook.core.reconcile.jobs import publication
from webhook.core.reconcile.rank_zero import (
    AGAIN_SECONDS,
    MISSING_SECONDS,
    UNATTACHED_SECONDS,
    Ruling,
    Survey,
)
from webhook.core.workloads import TrainingPod, recognise

NAME = "bert-master-0.bert"


def member(name: str = "w-1", role: str = "worker", job: str = "j-1", **more: Any) -> Member:
    annotations = {names.WAITS_FOR: "master-addr", **more.pop("annotations", {})}
    found = read_member(pods.member_pod(name, role, job, annotations=annotations, **more))
    assert found is not None
    return found


def placed(name: str, *, bound: bool = True) -> Object:
    """Give the whole pod of a member."""
    metadata = {"name": name, "uid": f"uid-{name}", "labels": {names.JOB: "j-1"}}
    spec = {"nodeName": "node-7"} if bound else {}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def rule(suspect: Suspect, *others: Object, seconds: float | None = 40) -> Ruling:
    """Decide about a suspect that has been seen on its node for so long, among other pods of its namespace; None: on none yet."""
    survey = Survey([suspect])
    for pod in (placed(suspect.member.name, bound=seconds is not None), *others):
        survey.add(pod)
    return survey.rule(suspect, seconds or 0)


def uninjected(**labels: str) -> tuple[Object, str]:
    """Give a PyTorchJob's master as its operator creates it, and the job's key."""
    found = pods.load("pods/kubeflow-pytorchjob-0.yaml")
    found["metadata"]["labels"] |= labels
    found["metadata"].pop("deletionTimestamp", None)
    found["status"] = {"phase": "Running"}
    part = recognise(found)
    assert isinstance(part, TrainingPod)
    assert part.rendezvous is not None
    assert part.rendezvous.role == "master"
    return found, part.rendezvous.job


def told(ruling: Ruling) -> Complaint:
    assert ruling.complaint is not None
    return ruling.complaint


def test_a_rank_zero_that_was_not_injected_ends_the_wait_at_once_with_the_cause() -> None:
    master, job = uninjected()
    found = rule(Suspect(member(job=job), None), pods.plain(), master, seconds=1)
    assert told(found) == ("RankZeroNotInjected", found.fate.cause)
    assert found.fate.cause == (
        f"rank 0 of job {job}, pod {master['metadata']['name']}, was created before its namespace was labelled, or while the webhook "
        "was not called or only observed, and publishes no address: restart the job"
    )


@pytest.mark.parametrize("hostname", [None, "bert-master-0"])
def test_a_rank_zero_that_is_left_alone_is_known_by_the_name_that_the_members_were_told(
    hostname: str | None,
) -> None:
    alone = pods.minimal_pod(
        metadata={"name": "bert-master-0" if hostname is None else "bert-master-0-x7"}
    )
    alone["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    if hostname:
        alone["spec"] |= {"hostname": hostname, "subdomain": "bert"}
    found = rule(
        Suspect(member(), None, NAME),
        pods.minimal_pod(metadata={"name": "other"}),
        alone,
        seconds=1,
    )
    assert (
        "is left alone, since nothing tells that it trains, and publishes no address: "
        in found.fate.cause
    )
    assert rule(Suspect(member(), None, "other.bert"), alone).fate == Fate(by_name=True)


def test_a_host_name_below_another_service_is_of_another_job() -> None:
    stranger = pods.minimal_pod(
        metadata={"name": "b-m-0", "labels": {names.PROFILE: names.PROFILE_NONE}}
    )
    stranger["spec"] |= {"hostname": "master", "subdomain": "b"}
    assert rule(Suspect(member(), None, "master.a"), stranger, seconds=12).fate == Fate()


def test_a_rank_zero_that_needs_no_interface_of_the_fabric_is_met_by_its_name() -> None:
    """A driver without an accelerator hosts the store and is no rank of NCCL; one that has the networks meets on either."""
    driver = pods.minimal_pod(metadata={"name": "bert-master-0"})
    attached = {names.STATUS: "{}", names.NETWORKS: "default/rdma-net"}
    for rank_zero in (
        driver,
        pods.minimal_pod(metadata={"name": "bert-master-0", "annotations": attached}),
    ):
        found = rule(Suspect(member(), None, NAME), rank_zero, seconds=1)
        assert found.fate == Fate(by_name=True)
        assert told(found) == (
            "MeetsByName",
            "rank 0 of job j-1, pod bert-master-0, publishes no address: members that wait get the name bert-master-0.bert and meet on "
            "the pod network",
        )
    failing = member(annotations={names.UNREACHABLE: "fail"})
    assert rule(Suspect(failing, None, NAME), driver, seconds=1).fate.cause


@pytest.mark.parametrize("accelerators", ["", "worker", "both"])
def test_a_rank_zero_from_before_the_label_ends_the_wait_unless_only_the_others_have_accelerators(
    accelerators: str,
) -> None:
    """Without accelerators all are ranks of gloo. Beside members with accelerators it may be a driver that no profile is for."""
    master, job = uninjected()
    worker = placed("w-1")
    for pod in (master, worker):
        pod["spec"]["containers"] = pod["spec"].get("containers") or [pods.minimal_container()]
        asks = accelerators == "both" or (accelerators == "worker" and pod is worker)
        pod["spec"]["containers"][0]["resources"] = (
            {"limits": {"nvidia.com/gpu": "8"}} if asks else {}
        )
    survey = Survey([Suspect(member(job=job), None, NAME)])
    survey.add(master)
    survey.add(worker)
    found = survey.rule(Suspect(member(job=job), None, NAME), 12)
    assert told(found).reason == (
        "MeetsByName" if accelerators == "worker" else "RankZeroNotInjected"
    )
    assert (found.fate == Fate(by_name=True)) is (accelerators == "worker")
    assert "publishes no address: " in told(found).message


def test_a_rank_zero_that_the_watch_has_not_shown_yet_is_not_missing() -> None:
    zero = placed("bert-master-0")
    zero["metadata"]["labels"][names.RENDEZVOUS] = "master"
    assert rule(
        Suspect(member(annotations={names.UNREACHABLE: "fail"}), None, NAME), zero
    ) == Ruling(again=5.0)


@pytest.mark.parametrize(
    ("change", "why", "then"),
    [
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T09:59:59Z"}},
            "was created before its namespace was labelled, or while the webhook was not called or only observed",
            "restart the job",
            id="older-than-the-member",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T10:00:00Z"}},
            "before its namespace was labelled, or while the webhook was not called or only observed",
            "restart the job",
            id="of-the-same-second",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "2026-01-01T10:00:01Z"}},
            "though older pods of the job were injected (the webhook was not called, or only observed)",
            "see fabric-injector check",
            id="created-again-while-the-webhook-was-down",
        ),
        pytest.param(
            {"metadata": {"annotations": {names.STATUS: '{"profile": "ethernet"}'}}},
            f"was injected without a rendezvous, as its annotation {names.STATUS} tells",
            "give it the profile and the network of the job's other pods",
            id="of-a-profile-without-rendezvous",
        ),
        pytest.param(
            {"spec": {"hostNetwork": True}},
            "uses the node's network, where Multus attaches nothing",
            "take hostNetwork off it",
            id="on-the-nodes-network",
        ),
        pytest.param(
            {"labels": {names.PROFILE: "none"}},
            f"carries label {names.PROFILE}: none",
            "give all pods of the job that label, or none",
            id="left-alone-on-purpose",
        ),
    ],
)
def test_says_why_a_rank_zero_was_not_injected(change: Object, why: str, then: str) -> None:
    master, job = uninjected()
    master["metadata"]["labels"] |= change.get("labels", {})
    master["metadata"] |= change.get("metadata", {})
    master["spec"] |= change.get("spec", {})
    waiting = member(job=job)._replace(created="2026-01-01T10:00:00Z")
    cause = rule(Suspect(waiting, None), master).fate.cause
    assert why in cause
    assert then in cause
    assert "\n" not in cause


def test_other_pods_are_not_taken_for_rank_zero() -> None:
    master, job = uninjected()
    worker = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    terminating = {
        **master,
        "metadata": {**master["metadata"], "deletionTimestamp": "2026-01-01T11:59:59Z"},
    }
    finished = {**master, "status": {"phase": "Succeeded"}}
    injected, _ = uninjected(**{names.JOB: "another"})
    suspect = Suspect(member(job=job), None, NAME)
    assert rule(suspect, worker, terminating, finished, injected).fate == Fate(by_name=True)
    assert rule(Suspect(member(job="another"), None, "other-0"), master).fate == Fate(by_name=True)


def test_a_rank_zero_without_a_pod_is_replaced_by_its_name_30_s_after_the_member_was_bound() -> (
    None
):
    suspect = Suspect(member(), None, NAME)
    assert rule(suspect, seconds=None) == Ruling()
    assert rule(suspect, seconds=20) == Ruling(again=MISSING_SECONDS - 20)
    found = rule(suspect, seconds=30)
    assert (found.fate, told(found).reason) == (Fate(by_name=True), "MeetsByName")
    assert (
        "members that wait get the name bert-master-0.bert and meet on the pod network"
        in told(found).message
    )


def test_where_the_profile_says_so_the_wait_ends_for_a_rank_zero_without_a_pod() -> None:
    fails = member(annotations={names.UNREACHABLE: "fail"})
    assert rule(Suspect(fails, None, NAME), seconds=29).fate == Fate()
    found = rule(Suspect(fails, None, NAME))
    assert told(found) == ("RankZeroMissing", found.fate.cause)
    assert (
        "bert-master-0, has no live pod 30 s after its member w-1 was put on a node"
        in found.fate.cause
    )
    assert "unreachable: fail" in found.fate.cause


def test_where_nobody_knows_the_name_the_wait_goes_on_and_the_owner_is_told() -> None:
    found = rule(Suspect(member(), None))
    assert (found.fate, told(found).reason, found.again) == (
        Fate(),
        "RankZeroMissing",
        AGAIN_SECONDS,
    )


def test_a_rank_zero_that_is_not_bound_yet_is_waited_for() -> None:
    zero = member("m", "master")
    suspect = Suspect(member(address="10.0.0.2"), zero, NAME)
    assert not suspect.is_stuck
    assert rule(suspect, placed("m", bound=False), seconds=3600) == Ruling()


@pytest.mark.parametrize(
    ("status", "network", "cause"),
    [
        (
            "{",
            "default/rdma-net@net1/any",
            "has no address on default/rdma-net@net1: is not a list of networks",
        ),
        (
            '[{"name":"default/rdma-net","interface":"net1","ips":["fe80::1"]}]',
            "default/rdma-net@net1/any",
            "has no address on default/rdma-net@net1: ",
        ),
        (
            '[{"name":"cbr0"}]',
            "default/rdma-net@net1/any",
            "was not attached to default/rdma-net@net1",
        ),
        ("", "", f"carries no annotation {names.RENDEZVOUS_NETWORK}"),
    ],
    ids=["unreadable", "no-usable-address", "not-attached", "without-our-annotation"],
)
def test_a_rank_zero_whose_network_gives_no_address_ends_every_wait(
    status: str, network: str, cause: str
) -> None:
    zero = member(
        "m", "master", network=network, annotations={names.NETWORK_STATUS: status} if status else {}
    )
    worker = Suspect(member(address="10.0.0.2"), zero, NAME)
    survey = Survey([worker, Suspect(zero, zero)])
    for pod in (placed("w-1"), placed("m")):
        survey.add(pod)
    assert worker.is_stuck
    assert survey.rule(worker, 40).fate.cause.startswith(f"rank 0 of job j-1, pod m, {cause}")
    if network:
        assert survey.rule(Suspect(zero, zero), 40) == survey.rule(worker, 40)


@pytest.mark.parametrize("role", ["master", "worker"])
def test_a_pod_that_waits_for_an_address_of_its_own_and_was_given_none_waits_no_longer(
    role: str,
) -> None:
    """Rank 0 of a job that meets by its name waits for its own address alone."""
    annotations = {names.WAITS_FOR: "local-addr", names.NETWORK_STATUS: "[]"}
    alone = member("m", role, annotations=annotations)
    zero = alone if role == "master" else member("z", "master", address="10.0.0.1")
    suspect = Suspect(alone, zero)
    assert suspect.is_stuck
    assert rule(suspect, placed("m"), seconds=5) == Ruling(again=UNATTACHED_SECONDS - 5)
    cause = rule(suspect, placed("m"), seconds=20).fate.cause
    who = "rank 0" if role == "master" else "a member"
    assert cause.startswith(f"{who} of job j-1, pod m, was not attached to default/rdma-net@net1")
    lacking = publication(alone, "" if role == "master" else "10.0.0.1", Fate(cause))
    assert lacking is not None
    assert lacking.annotations[names.WAIT_ENDS] == cause
    both = member("m", role, annotations=annotations | {names.WAITS_FOR: "master-addr,local-addr"})
    assert (
        "was not attached"
        in rule(Suspect(both, both if role == "master" else zero), placed("m")).fate.cause
    )
    given = member("m", role, address="10.0.0.2", annotations={names.WAITS_FOR: "local-addr"})
    assert rule(Suspect(given, zero), placed("m")) == Ruling()


def test_a_rank_zero_that_has_just_been_bound_may_yet_be_attached() -> None:
    zero = member("m", "master", annotations={names.NETWORK_STATUS: "[]"})
    survey = Survey([Suspect(member(), zero), Suspect(zero, zero)])
    survey.add(placed("w-1"))
    survey.add(placed("m"))
    assert survey.rule(Suspect(member(), zero), 10) == Ruling(again=UNATTACHED_SECONDS - 10)


def test_a_rank_zero_with_an_address_is_as_it_should_be() -> None:
    assert rule(Suspect(member(), member("m", "master", address="10.0.0.1"), NAME)) == Ruling()


@pytest.mark.parametrize(
    ("waits_for", "address", "stuck"),
    [
        ("master-addr", "10.0.0.2", True),
        ("master-addr", "", False),
        ("", "10.0.0.2", False),
        ("local-addr", "", False),
    ],
)
def test_stuck_is_who_waits_for_rank_zero_in_a_sandbox_that_is_made(
    waits_for: str, address: str, stuck: bool
) -> None:
    suspect = Suspect(member(address=address, annotations={names.WAITS_FOR: waits_for}), None)
    assert suspect.is_stuck is stuck
