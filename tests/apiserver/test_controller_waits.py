"""Nobody waits for what will not come: what becomes of members whose rank 0 publishes nothing, on a real API server."""

from collections.abc import Iterator

import pytest

from tests.cluster.controller import leading_controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import NETWORK, Job
from tests.waiting import wait_until
from webhook.core import names

MOST_SECONDS = 120
"""A rank 0 counts as missing after 30 s."""
World = dict[str, Job]
"""One job of each kind, by its name."""


def waiting(job: Job, name: str = "train-1", **annotations: str) -> None:
    """Create a member as the webhook leaves it, and put it on a node, where its wait step runs."""
    marks = {
        names.RENDEZVOUS_NETWORK: f"{NETWORK}@net1/any",
        names.WAITS_FOR: "master-addr",
        names.MASTER_NAME: f"{job.master}.{job.name}",
        **{f"{names.PREFIX}{key}": value for key, value in annotations.items()},
    }
    job.create_pod(name, annotations=marks)
    job.bind(name)
    job.attach(name, "10.1.0.2")


def left_alone(job: Job) -> None:
    """Create rank 0 as a pod with an accelerator that the webhook has left alone."""
    job.create_pod(job.master, limits={"nvidia.com/gpu": "8"}, labels={}, annotations={})


def annotation(job: Job, key: str, name: str = "train-1") -> str | None:
    pod = job.api.expect("GET", f"/api/v1/namespaces/{job.namespace}/pods/{name}")
    found: str | None = (pod["metadata"].get("annotations") or {}).get(key)
    return found


def events(job: Job) -> dict[str, str]:
    listed = job.api.expect("GET", f"/api/v1/namespaces/{job.namespace}/events")["items"]
    return {event["reason"]: event["message"] for event in listed}


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane,
    webhook_command: list[str],
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    kinds = ("alone", "late", "fails", "queued", "unattached", "sound")
    jobs = {kind: Job(control_plane.api, namespace("shared")) for kind in kinds}
    queued, unattached, sound = jobs["queued"], jobs["unattached"], jobs["sound"]
    folder = tmp_path_factory.mktemp("controller")
    with leading_controller(control_plane, folder, webhook_command, namespace()):
        left_alone(jobs["alone"])
        queued.create_pod(queued.master)
        unattached.create_pod(unattached.master)
        unattached.bind(unattached.master)
        unattached.annotate(unattached.master, {names.NETWORK_STATUS: '[{"name": "cbr0"}]'})
        sound.create_pod(sound.master)
        sound.bind(sound.master)
        sound.attach(sound.master, "10.1.0.1")
        for kind in kinds:
            waiting(jobs[kind], **({"unreachable": "fail"} if kind == "fails" else {}))
        wait_until(
            lambda: annotation(unattached, names.WAIT_ENDS), "an end of waiting", MOST_SECONDS
        )
        until_told(jobs["late"], names.MASTER_ADDR, "MeetsByName")
        until_told(jobs["fails"], names.WAIT_ENDS, "RankZeroMissing")
        until_told(jobs["alone"], names.WAIT_ENDS, "RankZeroNotInjected")
        sound.wait_until_told("10.1.0.1")
        yield jobs


def until_told(job: Job, key: str, reason: str) -> None:
    """Wait for the annotation and the Event, which are written by two threads."""
    wait_until(lambda: annotation(job, key), f"{key} of {reason}", MOST_SECONDS)
    wait_until(lambda: reason in events(job), f"Event {reason}", MOST_SECONDS)


def test_a_rank_zero_that_was_left_alone_ends_the_wait_with_the_cause(world: World) -> None:
    job = world["alone"]
    cause = annotation(job, names.WAIT_ENDS)
    assert cause is not None
    assert f"pod {job.master}, is left alone" in cause
    assert events(job)["RankZeroNotInjected"] == cause
    assert annotation(job, names.MASTER_ADDR) is None


def test_once_it_is_created_anew_the_cause_is_gone_and_its_address_is_told(world: World) -> None:
    job = world["alone"]
    job.delete(job.master)
    job.create_pod(job.master)
    wait_until(lambda: annotation(job, names.WAIT_ENDS) == "", "the end of the cause")
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    assert annotation(job, names.WAIT_ENDS) == ""


def test_a_rank_zero_that_multus_did_not_attach_ends_every_wait(world: World) -> None:
    job = world["unattached"]
    wait_until(
        lambda: annotation(job, names.WAIT_ENDS, job.master),
        "the end of its own wait",
        MOST_SECONDS,
    )
    for name in ("train-1", job.master):
        assert f"was not attached to {NETWORK}@net1" in (
            annotation(job, names.WAIT_ENDS, name) or ""
        )


def test_a_rank_zero_without_a_pod_is_told_by_its_name_until_it_has_an_address(
    world: World,
) -> None:
    job = world["late"]
    assert job.told()["train-1"][:2] == ("train-0.train", "train-0.train")
    assert "meet on the pod network" in events(job)["MeetsByName"]
    job.create_pod(job.master)
    job.bind(job.master)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")


def test_where_the_profile_says_so_a_rank_zero_without_a_pod_ends_the_wait(world: World) -> None:
    cause = annotation(world["fails"], names.WAIT_ENDS)
    assert cause is not None
    assert "has no live pod 30 s after its member train-1" in cause
    assert events(world["fails"])["RankZeroMissing"] == cause
    assert annotation(world["fails"], names.MASTER_ADDR) is None


def test_a_rank_zero_that_is_not_bound_yet_is_waited_for(world: World) -> None:
    assert annotation(world["queued"], names.WAIT_ENDS) is None
    assert annotation(world["queued"], names.MASTER_ADDR) is None
    assert events(world["queued"]) == {}


def test_a_sound_job_is_told_nothing_else(world: World) -> None:
    assert world["sound"].told()["train-1"].master == "10.1.0.1"
    assert annotation(world["sound"], names.WAIT_ENDS) is None
