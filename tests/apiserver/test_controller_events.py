"""What the controller tells the owners of pods that wait in vain: it takes a minute until it tells anything."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests import pods
from tests.waiting import wait_until
from webhook.core import names
from webhook.core.reconcile.member import read_member

from .client import Client
from .conftest import NamespaceFactory
from .controller import Controller
from .controlplane import ControlPlane
from .jobs import Job, as_sent, write_profiles
from .webhook import Webhook


class World(NamedTuple):
    """One job of each fault, and one without, a minute after they were created."""

    controller: Controller
    silent: Job
    queued: Job
    elsewhere: Job
    broken: Job
    older: Job
    sound: Job


@pytest.fixture(scope="module")
def webhook_profiles(api: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_profiles(api, tmp_path_factory.mktemp("profiles"))


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane,
    webhook: Webhook,
    webhook_command: list[str],
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    silent, queued, elsewhere, broken, sound = (
        Job(control_plane.api, namespace()) for _ in range(5)
    )
    for job in (silent, queued, elsewhere, broken, sound):
        job.create(2)
        job.label_namespace()
    for job in (silent, elsewhere, broken, sound):
        job.bind(job.master)
    elsewhere.attach(elsewhere.master, "10.1.0.1", interface="net2")
    broken.annotate(
        broken.master, {names.NETWORK_STATUS: '[{"name": "default/rdma-net", "ips": ["10.1.0.x"]}]'}
    )
    sound.attach(sound.master, "10.1.0.1")
    older = _labelled_while_it_runs(control_plane, namespace())
    folder = tmp_path_factory.mktemp("controller")
    with Controller(control_plane, folder, webhook_command, namespace()) as controller:
        controller.wait_until_leading()
        for job in (silent, elsewhere, broken, older):
            wait_until(lambda job=job: bool(reasons(job)), f"the Event in {job.namespace}", 120)  # type: ignore[misc]
        yield World(controller, silent, queued, elsewhere, broken, older, sound)
    assert "Traceback" not in controller.output()


def _labelled_while_it_runs(control_plane: ControlPlane, namespace: str) -> Job:
    """Create rank 0 of a PyTorchJob, then label its namespace, then create a worker, which gets its network."""
    job = Job(control_plane.api, namespace, "bert-master")
    path = f"/api/v1/namespaces/{namespace}/pods"
    for number, name in enumerate(("bert-master-0", "bert-worker-0")):
        pod = as_sent(pods.load(f"pods/kubeflow-pytorchjob-{number}.yaml"))
        created = control_plane.api.expect("POST", path, pod)
        assert (names.JOB in created["metadata"]["labels"]) == (name == "bert-worker-0")
        job.bind(name)
        patch = {"metadata": {"labels": {names.PROFILE: "shared"}}}
        control_plane.api.expect("PATCH", f"/api/v1/namespaces/{namespace}", patch)
        wait_until(
            lambda: _is_injected(control_plane.api, namespace),
            "the label to count",
            30,
            interval=0.05,
        )
    job.key = created["metadata"]["labels"][names.JOB]
    job.attach("bert-worker-0", "10.1.0.2")
    return job


def _is_injected(api: Client, namespace: str) -> bool:
    pod = as_sent(pods.load("pods/kubeflow-pytorchjob-1.yaml"), name="probe")
    return names.JOB in api.create(pod, namespace, dry_run=True).json["metadata"]["labels"]


def events(job: Job) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = job.api.expect(
        "GET", f"/api/v1/namespaces/{job.namespace}/events"
    )["items"]
    return found


def reasons(job: Job) -> list[str]:
    return [event["reason"] for event in events(job)]


def test_a_pod_without_a_secondary_address_is_told_to_its_owner(world: World) -> None:
    [event] = events(world.silent)
    pod = world.silent.api.expect(
        "GET", f"/api/v1/namespaces/{world.silent.namespace}/pods/{world.silent.master}"
    )
    assert (event["type"], event["reason"]) == ("Warning", "NoSecondaryAddress")
    assert event["involvedObject"]["name"] == world.silent.master
    assert event["involvedObject"]["uid"] == pod["metadata"]["uid"]
    assert event["source"]["component"] == "fabric-injector"
    assert "has been on node node-1 for" in event["message"]
    assert "is missing" in event["message"]


def test_pods_that_wait_for_their_gang_are_no_fault(world: World) -> None:
    assert events(world.queued) == []


def test_a_sound_job_is_told_nothing(world: World) -> None:
    assert events(world.sound) == []


def test_an_interface_other_than_the_promised_one_is_told_and_its_address_published(
    world: World,
) -> None:
    [event] = events(world.elsewhere)
    assert event["reason"] == "UnexpectedInterface"
    assert "on interface net2" in event["message"]
    world.elsewhere.wait_until_told("10.1.0.1")


def test_a_network_status_that_holds_no_address_is_told_with_what_it_holds(world: World) -> None:
    [event] = events(world.broken)
    assert event["reason"] == "NetworkStatusUnusable"
    assert "'10.1.0.x', which is not an IP address" in event["message"]
    assert {told.master for told in world.broken.told().values()} == {None}


def test_a_rank_zero_that_was_created_before_its_namespace_was_labelled_is_told_on_a_member(
    world: World,
) -> None:
    [event] = events(world.older)
    assert event["reason"] == "RankZeroNotInjected"
    assert event["involvedObject"]["name"] == "bert-worker-0"
    assert "pod bert-master-0, was created before its namespace was labelled" in event["message"]
    assert "restart the job" in event["message"]


def test_the_metrics_tell_who_waits_what_was_published_and_who_leads(world: World) -> None:
    metric = world.controller.metric
    listed = world.silent.api.expect("GET", f"/api/v1/pods?labelSelector={names.JOB}")["items"]
    spaces = world.silent.api.expect("GET", f"/api/v1/namespaces?labelSelector={names.PROFILE}")[
        "items"
    ]
    labelled = {space["metadata"]["name"] for space in spaces}
    waiting = [pod for pod in listed if pod["metadata"]["namespace"] in labelled and _waits(pod)]
    assert len(waiting) >= 7
    wait_until(
        lambda: metric("fabric_injector_pods_waiting") == len(waiting),
        "the count of waiting pods",
        30,
    )
    assert metric("fabric_injector_oldest_wait_seconds") >= 60
    assert metric("fabric_injector_leader") == 1
    assert metric("fabric_injector_build_info") == 1
    published = metric("fabric_injector_addresses_published_total", result="published")
    assert published >= 4
    assert metric("fabric_injector_address_publish_delay_seconds_count") == published
    assert metric("fabric_injector_addresses_published_total", result="failed") == 0
    assert metric("fabric_injector_watch_restarts_total", resource="pods", reason="broken") == 0


def _waits(pod: dict[str, Any]) -> bool:
    """Tell of a pod of any test of this cluster whether the controller is to count it."""
    member = read_member(pod)
    is_finished = pod["status"]["phase"] in ("Succeeded", "Failed")
    leaves = pod["metadata"]["labels"].get(names.PROFILE) == names.PROFILE_NONE
    return member is not None and member.waits and not is_finished and not leaves


def test_no_log_line_holds_what_a_pod_runs(world: World) -> None:
    lines = world.controller.output().splitlines()
    assert all(json.loads(line)["level"] for line in lines if line.startswith("{"))
    assert not any("train.py" in line or "Bearer" in line for line in lines)
