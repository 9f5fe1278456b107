"""Nobody waits for what will not come: what becomes of members whose rank 0 publishes nothing, on a real API server."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from tests.cluster.controller import Controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import NETWORK, Job
from tests.waiting import wait_until
from webhook.core import names

MOST_SECONDS = 120
"""A rank 0 counts as missing after 30 s."""


class World(NamedTuple):
    """One job of each kind."""

    alone: Job
    late: Job
    fails: Job
    queued: Job
    unattached: Job
    sound: Job


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


def seconds_until(pod: dict[str, Any], key: str) -> float:
    """Return how long after it was bound a pod got an annotation, as the API server's own times tell."""
    [bound] = [
        one["lastTransitionTime"]
        for one in pod["status"]["conditions"]
        if one["type"] == "PodScheduled"
    ]
    written = [
        entry["time"]
        for entry in pod["metadata"]["managedFields"]
        if f"f:{key}" in entry["fieldsV1"].get("f:metadata", {}).get("f:annotations", {})
    ]
    return (datetime.fromisoformat(written[0]) - datetime.fromisoformat(bound)).total_seconds()


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane,
    webhook_command: list[str],
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    api = control_plane.api
    alone, late, fails, queued, unattached, sound = (
        Job(api, namespace("shared")) for _ in range(6)
    )
    folder = tmp_path_factory.mktemp("controller")
    with Controller(control_plane, folder, webhook_command, namespace()) as controller:
        controller.wait_until_leading()
        left_alone(alone)
        queued.create_pod(queued.master)
        unattached.create_pod(unattached.master)
        unattached.bind(unattached.master)
        unattached.annotate(unattached.master, {names.NETWORK_STATUS: '[{"name": "cbr0"}]'})
        sound.create_pod(sound.master)
        sound.bind(sound.master)
        sound.attach(sound.master, "10.1.0.1")
        for job in (alone, late, queued, unattached, sound):
            waiting(job)
        waiting(fails, unreachable="fail")
        wait_until(
            lambda: annotation(unattached, names.WAIT_ENDS), "the end of a wait", MOST_SECONDS
        )

        for job, key, reason in (
            (late, names.MASTER_ADDR, "MeetsByName"),
            (fails, names.WAIT_ENDS, "RankZeroMissing"),
            (alone, names.WAIT_ENDS, "RankZeroNotInjected"),
        ):  # the Event and the annotation are written by two threads
            wait_until(
                lambda job=job, key=key: annotation(job, key),  # type: ignore[misc]
                f"{key} of {reason}",
                MOST_SECONDS,
            )
            wait_until(
                lambda job=job, reason=reason: reason in events(job),  # type: ignore[misc]
                f"Event {reason}",
                MOST_SECONDS,
            )
        sound.wait_until_told("10.1.0.1")
        yield World(alone, late, fails, queued, unattached, sound)
    assert "Traceback" not in controller.output()


def test_a_rank_zero_that_was_left_alone_ends_the_wait_with_the_cause(world: World) -> None:
    job = world.alone
    cause = annotation(job, names.WAIT_ENDS)
    assert cause is not None
    assert f"pod {job.master}, is left alone" in cause
    assert events(job)["RankZeroNotInjected"] == cause
    assert annotation(job, names.MASTER_ADDR) is None


def test_once_it_is_created_anew_the_cause_is_gone_and_its_address_is_told(world: World) -> None:
    job = world.alone
    job.delete(job.master)
    job.create_pod(job.master)
    wait_until(lambda: annotation(job, names.WAIT_ENDS) == "", "the end of the cause")
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")
    assert annotation(job, names.WAIT_ENDS) == ""


def test_a_rank_zero_that_multus_did_not_attach_ends_every_wait(world: World) -> None:
    job = world.unattached
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
    job = world.late
    assert job.told()["train-1"][:2] == ("train-0.train", "train-0.train")
    assert "meet on the pod network" in events(job)["MeetsByName"]
    job.create_pod(job.master)
    job.bind(job.master)
    job.attach(job.master, "10.1.0.1")
    job.wait_until_told("10.1.0.1")


def test_where_the_profile_says_so_a_rank_zero_without_a_pod_ends_the_wait(world: World) -> None:
    cause = annotation(world.fails, names.WAIT_ENDS)
    assert cause is not None
    assert "has no live pod 30 s after its member train-1" in cause
    assert events(world.fails)["RankZeroMissing"] == cause
    assert annotation(world.fails, names.MASTER_ADDR) is None


def test_a_rank_zero_that_is_not_bound_yet_is_waited_for(world: World) -> None:
    assert annotation(world.queued, names.WAIT_ENDS) is None
    assert annotation(world.queued, names.MASTER_ADDR) is None
    assert events(world.queued) == {}


def test_a_sound_job_is_told_nothing_else(world: World) -> None:
    assert world.sound.told()["train-1"].master == "10.1.0.1"
    assert annotation(world.sound, names.WAIT_ENDS) is None


def test_a_rank_zero_counts_as_missing_after_its_time(world: World) -> None:
    """By the API server's own times."""
    path = f"/api/v1/namespaces/{world.late.namespace}/pods/train-1"
    member = world.late.api.expect("GET", path)
    assert seconds_until(member, names.MASTER_ADDR) >= 29
