"""Pods of every shape that are made to hold up the controller, beside a job of another namespace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import Controller, own_token
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import Job
from tests.hostile.large import METADATA
from tests.waiting import wait_until
from webhook.core import names

from .hostile import create

EXCESSIVE = ("annotations", "labels", "finalizers", "owners")


@pytest.fixture
def hostile(api: Client, namespace: NamespaceFactory) -> Iterator[str]:
    """Give a labelled namespace for hostile pods, which are deleted at the end: other tests share the API server."""
    name = namespace("shared")
    yield name
    path = f"/api/v1/namespaces/{name}/pods"
    api.expect("DELETE", f"{path}?gracePeriodSeconds=0")
    for pod in api.expect("GET", path)["items"]:
        api.expect("PATCH", f"{path}/{pod['metadata']['name']}", {"metadata": {"finalizers": None}})


@pytest.fixture
def controller(
    control_plane: ControlPlane,
    webhook_command: list[str],
    namespace: NamespaceFactory,
    tmp_path: Path,
) -> Iterator[Controller]:
    """A controller that has not started yet."""
    controller = Controller(control_plane, tmp_path, webhook_command, namespace())
    yield controller
    controller.stop()
    assert "Traceback" not in controller.output()


def test_hostile_pods_in_both_kinds_of_namespaces_hold_up_nobody(
    control_plane: ControlPlane,
    api: Client,
    namespace: NamespaceFactory,
    hostile: str,
    controller: Controller,
) -> None:
    own_token(control_plane)
    unlabelled = namespace()
    victim = Job(api, namespace("shared"))
    made = create(api, hostile, METADATA.values())
    assert made == len(METADATA)
    create(api, unlabelled, [METADATA["annotations"], METADATA["one value"]])
    members = victim.create(16)
    with controller:
        controller.wait_until_leading()
        victim.attach(victim.master, "10.1.0.1")
        victim.wait_until_told("10.1.0.1", members)
        assert controller.leads()
        assert controller.metric("fabric_injector_pods_excessive") == len(EXCESSIVE)
        assert controller.metric("fabric_injector_namespaces_passed_over") >= 1
        path = f"/api/v1/namespaces/{hostile}/events"

        def told() -> list[str]:
            reasons = [event["reason"] for event in api.expect("GET", path)["items"]]
            return [reason for reason in reasons if reason == "ExcessiveMetadata"]

        wait_until(told, "the Event")
        victim.attach(victim.master, "10.1.0.2")
        victim.wait_until_told("10.1.0.2", members)
        assert told() == ["ExcessiveMetadata"]
        listed = api.expect("GET", f"/api/v1/namespaces/{unlabelled}/pods")["items"]
        assert "10.66.6.6" not in [
            pod["metadata"]["annotations"].get(names.MASTER_ADDR) for pod in listed
        ]
