"""Events on a real API server, with the privileges that the controller ships with."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.cluster import objects
from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT as CONTROLLER
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.waiting import wait_until
from webhook.control.events import REPEAT_SECONDS, EventRecorder, PodRef
from webhook.kube.connection import Connection


class Recorder(EventRecorder):
    """A process' recorder, whose clock can be put forward."""

    def __init__(self, connection: Connection) -> None:
        self.ahead = 0.0
        clock = lambda: time.monotonic() + self.ahead  # noqa: E731
        super().__init__(connection, lambda: True, host="controller-1", monotonic=clock)
        self.start()


@pytest.fixture
def recorder(installed: ControlPlane) -> Iterator[Callable[[], Recorder]]:
    """Give a function that starts a recorder."""
    token = installed.service_account_token(*CONTROLLER)
    with installed.connection(token) as connection, ExitStack() as stack:

        def begin() -> Recorder:
            begun = Recorder(connection)
            stack.callback(begun.stop)
            return begun

        yield begin


@pytest.fixture
def pod(api: Client, namespace: NamespaceFactory) -> PodRef:
    """Give a pod in a namespace of its own."""
    metadata = api.create(objects.pod("bert-0"), namespace()).json["metadata"]
    return PodRef(metadata["namespace"], metadata["name"], metadata["uid"])


def told(api: Client, pod: PodRef) -> list[tuple[str, str]]:
    """Give reason and message of all Events about the pod, as kubectl describe finds them."""
    selector = f"involvedObject.uid={pod.uid},involvedObject.kind=Pod,type=Warning"
    items = api.expect(
        "GET", f"/api/v1/namespaces/{pod.namespace}/events?fieldSelector={selector}"
    )["items"]
    return [(item["reason"], item["message"]) for item in items]


def test_keeps_one_event_over_time_and_processes(
    installed: ControlPlane, api: Client, pod: PodRef, recorder: Callable[[], Recorder]
) -> None:
    """It is created, found by its pod, and renewed by the process that made it and by the next."""
    first = recorder()
    first.record(pod, "NoSecondaryAddress", "first")
    wait_until(lambda: told(api, pod) == [("NoSecondaryAddress", "first")], "the Event")
    first.ahead = REPEAT_SECONDS
    first.record(pod, "NoSecondaryAddress", "second")
    wait_until(lambda: told(api, pod) == [("NoSecondaryAddress", "second")], "its renewal")
    recorder().record(pod, "NoSecondaryAddress", "third")
    wait_until(lambda: told(api, pod) == [("NoSecondaryAddress", "third")], "the next process")
    described = installed.kubectl("describe", "pod", pod.name, "-n", pod.namespace).stdout
    assert "third" in described
    assert "fabric-injector" in described.split("Events:")[1]


def test_creates_what_was_deleted_and_what_is_long(
    api: Client, pod: PodRef, recorder: Callable[[], Recorder]
) -> None:
    """The API server takes the longest message and the longest name, and forgets Events after an hour."""
    process = recorder()
    process.record(pod, "UnexpectedInterface", "ü" * 5000)
    wait_until(lambda: told(api, pod), "the Event")
    assert told(api, pod)[0][1] == "ü" * 510 + "…"
    api.expect("DELETE", f"/api/v1/namespaces/{pod.namespace}/events")
    process.ahead = REPEAT_SECONDS
    process.record(pod, "UnexpectedInterface", "short")
    wait_until(lambda: [message for _, message in told(api, pod)] == ["short"], "the new Event")
    long = PodRef(pod.namespace, "a" * 235 + "." + "b" * 17, "of-a-long-name")
    process.record(long, "UnexpectedInterface", "x")
    wait_until(lambda: told(api, long), "the Event of the long name")
