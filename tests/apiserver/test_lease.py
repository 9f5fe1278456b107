"""Leaders on a real API server, with the privileges that the controller ships with, in real time."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT as CONTROLLER
from tests.cluster.controlplane import ControlPlane
from tests.waiting import wait_until
from webhook.kube.connection import Connection, connect
from webhook.kube.lease import RENEW_DEADLINE_SECONDS, Leader

LEASE = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector"


class Replica:
    """A Leader whose thread can be made to stand still."""

    def __init__(self, connection: Connection, identity: str) -> None:
        self.changes: list[bool] = []
        self.stood_still_at = 0.0
        self._may_go = threading.Event()
        self._may_go.set()
        self._stopped = threading.Event()
        self.leader = Leader(
            connection,
            "fabric-injector",
            "fabric-injector",
            identity,
            on_change=self.changes.append,
            pause=self._pause,
        )

    def leads(self) -> bool:
        return self.leader.may_write()

    def stand_still(self) -> None:
        self._may_go.clear()
        wait_until(lambda: self.stood_still_at, "the thread to stand still", 10)

    def go_on(self) -> None:
        self._may_go.set()

    def stop(self) -> None:
        self._stopped.set()
        self._may_go.set()
        self.leader.stop()

    def _pause(self, seconds: float) -> None:
        if not self._may_go.is_set():
            self.stood_still_at = time.monotonic()
            self._may_go.wait()
        self._stopped.wait(seconds)


@pytest.fixture
def replica(installed: ControlPlane, api: Client) -> Iterator[Callable[[str], Replica]]:
    """Give a function that starts a replica; before the first there is no Lease."""
    api.request("DELETE", LEASE)
    path = installed.kubeconfig(
        installed.folder / "lease.kubeconfig", installed.service_account_token(*CONTROLLER)
    )
    replicas: list[Replica] = []
    connections: list[Connection] = []

    def begin(identity: str) -> Replica:
        connections.append(connect({"KUBECONFIG": str(path)}))
        replicas.append(Replica(connections[-1], identity))
        replicas[-1].leader.start()
        return replicas[-1]

    yield begin
    for replica in replicas:
        replica.stop()
    for connection in connections:
        connection.close()


def spec(api: Client) -> dict[str, Any]:
    found: dict[str, Any] = api.expect("GET", LEASE)["spec"]
    return found


def test_one_holds_and_hands_over_at_once(api: Client, replica: Callable[[str], Replica]) -> None:
    """The follower has it at its next look, and the API server keeps all that was written."""
    first = replica("first")
    wait_until(first.leads, "the first to lead")
    second = replica("second")
    time.sleep(5)
    assert first.leads()
    assert not second.leads()
    before = spec(api)
    assert (before["holderIdentity"], before["leaseDurationSeconds"]) == ("first", 15)
    assert before["acquireTime"] < before["renewTime"]
    assert "leaseTransitions" not in before or before["leaseTransitions"] == 0
    first.stop()
    assert not first.leads()
    wait_until(
        second.leads, "the second to lead", 12
    )  # a Lease that was not given back would last for 15 s
    wait_until(lambda: second.changes, "the second to be told so")
    assert (spec(api)["holderIdentity"], spec(api)["leaseTransitions"]) == ("second", 1)
    assert (first.changes, second.changes) == ([True, False], [True])
    assert not first.leader.lost.is_set()


def test_a_holder_that_stands_still_is_followed_only_after_it_may_not_write(
    replica: Callable[[str], Replica],
) -> None:
    """No renewal ends its right to write, and only then another's begins; it finds out that it has lost when it goes on.

    What a machine under load sees late is no fault: nothing here asks for more than an order.
    """
    first = replica("first")
    wait_until(first.leads, "the first to lead")
    second = replica("second")
    time.sleep(3)
    first.stand_still()
    led_until = 0.0
    while not second.leads():
        asked = time.monotonic()
        assert asked - first.stood_still_at < 60
        if first.leads():
            led_until = asked
        time.sleep(0.01)
    assert not first.leads(), "asked after the other"
    assert led_until - first.stood_still_at < RENEW_DEADLINE_SECONDS
    first.go_on()
    assert first.leader.lost.wait(20)
    assert not first.leads()
    assert second.leads()
    assert first.changes == [True, False]


def test_of_some_that_race_to_create_it_one_leads(
    api: Client, replica: Callable[[str], Replica]
) -> None:
    """The API server makes one of them the holder, whatever order they come in."""
    for turn in range(5):
        racing = [replica(f"{turn}-{number}") for number in range(4)]
        wait_until(lambda several=racing: any(one.leads() for one in several), "one to lead")  # type: ignore[misc]
        time.sleep(1)
        assert sum(one.leads() for one in racing) == 1
        for one in racing:
            one.stop()
        assert spec(api)["holderIdentity"] == ""
        api.expect("DELETE", LEASE)


def test_a_holder_without_an_api_server_loses_in_time_and_the_next_one_follows(
    control_plane: ControlPlane, replica: Callable[[str], Replica]
) -> None:
    """It stops writing after 10 s; when the API server is back, a new process waits for what it finds to run out."""
    first = replica("first")
    wait_until(first.leads, "the first to lead")
    control_plane.stop_apiserver(force=True)
    try:
        assert first.leader.lost.wait(30)
        assert not first.leads()
        second = replica("second")
        time.sleep(1)
        assert not second.leads()
    finally:
        control_plane.start_apiserver()
    wait_until(second.leads, "the second to lead", 25)
    assert first.changes == [True, False]
