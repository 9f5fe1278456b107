"""When a waiting pod is looked at, with how many requests, and that nothing keeps the others from their turn."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import pods
from tests.fake_apiserver import PODS, FakeApiServer, status
from webhook.control import inspector
from webhook.control.events import PodRef
from webhook.control.inspector import AGAIN_SECONDS, MOST_REQUESTS, Inspector
from webhook.core import names
from webhook.core.reconcile import Member, read_member
from webhook.core.reconcile.complaint import about_address
from webhook.core.workloads import TrainingPod, recognise
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

START = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
SIBLINGS = "/api/v1/namespaces/ml/pods"


class World:
    """An inspector whose clock only the test moves, and the pods that wait."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.seconds = 0.0
        self.leads = True
        self.suspects: list[tuple[Member, bool]] = []
        self.told: list[tuple[str, str]] = []
        self.inspector = Inspector(
            Connection(Credentials("test", server.url)),
            self,
            suspects=lambda: self.suspects,
            may_write=lambda: self.leads,
            monotonic=lambda: 1000.0 + self.seconds,
            now=lambda: START + timedelta(seconds=self.seconds),
        )

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        assert message
        self.told.append((pod.name, reason))

    def wait(self, name: str, *, bound: bool = True, has_master: bool = True, **more: Any) -> None:
        """Put a pod there that has existed for *age* seconds and lacks an address."""
        created = (START - timedelta(seconds=more.pop("age", 0.0))).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = more.pop("status", "")
        pod = pods.member_pod(
            name,
            job=more.pop("job", "j-1"),
            annotations={names.NETWORK_STATUS: status} if status else {},
            uid=f"u-{name}",
            creationTimestamp=created,
        )
        pod["metadata"]["labels"] |= more.pop("labels", {})
        spec = {"nodeName": "n-1"} if bound else {}
        self.server.put(PODS, spec=spec, status={"phase": "Pending"}, **pod["metadata"])
        member = read_member(pod)
        assert member is not None
        self.suspects.append((member, has_master))

    def after(self, seconds: float) -> list[tuple[str, str]]:
        """Let time go by, do one round, and give what was told in it."""
        self.seconds += seconds
        self.told.clear()
        self.inspector.inspect()
        return list(self.told)

    def looked_at(self) -> list[str]:
        return [request.path.rpartition("/")[2] for request in self.server.asked("get") if request.path != SIBLINGS]

    def listed(self) -> list[dict[str, str]]:
        return [request.query for request in self.server.requests if request.path == SIBLINGS]


@pytest.fixture
def world() -> Iterator[World]:
    with FakeApiServer() as server:
        yield World(server)


def test_asks_a_minute_after_a_pod_was_created_and_no_more_often_than_needed(world: World) -> None:
    world.wait("w-1")
    assert world.after(0) == []
    assert world.after(59) == []
    assert world.looked_at() == []
    assert world.after(2) == [("w-1", "NoSecondaryAddress")]
    assert world.after(AGAIN_SECONDS - 5) == []
    assert world.looked_at() == ["w-1"]
    assert world.after(10) == [("w-1", "NoSecondaryAddress")]


def test_a_new_leader_asks_at_once_about_a_pod_that_has_long_waited(world: World) -> None:
    world.wait("w-1", age=300)
    assert world.after(0) == [("w-1", "NoSecondaryAddress")]


def test_a_pod_that_is_not_bound_is_looked_at_once_a_minute(world: World) -> None:
    world.wait("w-1", bound=False, age=300)
    for _ in range(12):
        assert world.after(30) == []
    assert len(world.looked_at()) == 6


def test_asks_nothing_where_network_status_tells_it_all(world: World) -> None:
    world.wait("w-1", status="{")
    assert world.after(0) == [("w-1", "NetworkStatusUnusable")]
    assert world.server.requests == []


def test_does_nothing_without_the_lease(world: World) -> None:
    world.wait("w-1", age=300)
    world.leads = False
    assert world.after(600) == []
    assert world.server.requests == []


def test_every_pod_gets_its_turn_however_many_wait_for_their_gang(world: World) -> None:
    for number in range(MOST_REQUESTS * 30):
        world.wait(f"queued-{number}", bound=False, age=300)
    world.wait("stuck", age=300)
    told = [one for _ in range(40) for one in world.after(5)]
    assert told == [("stuck", "NoSecondaryAddress")]
    assert len(world.looked_at()) == 40 * MOST_REQUESTS


def test_a_pod_that_cannot_be_looked_at_is_tried_again_in_the_next_round(world: World) -> None:
    world.wait("w-1", age=300)
    world.server.misbehave("get", f"{SIBLINGS}/w-1", status(503, "later"))
    assert world.after(0) == []
    assert world.after(5) == [("w-1", "NoSecondaryAddress")]


def test_a_pod_that_is_gone_is_no_fault(world: World) -> None:
    world.wait("w-1", age=300)
    world.server.delete(PODS, "w-1", "ml")
    assert world.after(0) == []


def test_a_pod_that_breaks_the_inspection_does_not_keep_others_from_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = about_address

    def broken(member: Member, *arguments: Any) -> Any:
        if member.name == "bad":
            raise ZeroDivisionError
        return honest(member, *arguments)

    monkeypatch.setattr(inspector, "about_address", broken)
    world.wait("bad", age=300)
    world.wait("w-1", age=299)
    with pytest.raises(ZeroDivisionError):
        world.after(0)
    assert world.after(5) == [("w-1", "NoSecondaryAddress")]


def uninjected_rank_zero() -> tuple[dict[str, Any], str]:
    found = pods.load("pods/kubeflow-pytorchjob-0.yaml")
    part = recognise(found)
    assert isinstance(part, TrainingPod)
    assert part.rendezvous is not None
    return {**found, "status": {"phase": "Running"}}, part.rendezvous.job


ADDRESS = '[{"name":"default/rdma-net","interface":"net1","ips":["10.0.0.2"]}]'


def test_the_pods_of_a_job_without_rank_zero_are_listed_once_for_all_its_members(world: World) -> None:
    master, job = uninjected_rank_zero()
    siblings = [{"items": [], "metadata": {"continue": "next"}}, {"items": [master]}]
    for page in siblings:
        world.server.misbehave("get", SIBLINGS, lambda exchange, page=page: exchange.answer(200, page))  # type: ignore[misc]
    for number in range(30):
        labels = {"training.kubeflow.org/job-name": "bert"}
        world.wait(f"w-{number}", job=job, has_master=False, age=300, status=ADDRESS, labels=labels)
    assert world.after(0) == [("w-0", "RankZeroNotInjected")]
    assert world.after(5) == []
    assert [query.get("continue") for query in world.listed()] == [None, "next"]
    assert {query["labelSelector"] for query in world.listed()} == {"training.kubeflow.org/job-name=bert"}


def test_a_list_that_failed_is_asked_for_again(world: World) -> None:
    master, job = uninjected_rank_zero()
    world.server.misbehave("get", SIBLINGS, status(503, "later"))
    world.server.misbehave("get", SIBLINGS, lambda exchange: exchange.answer(200, {"items": [master]}))
    world.wait("w-1", job=job, has_master=False, age=300, status=ADDRESS)
    assert world.after(0) == []
    assert world.after(5) == [("w-1", "RankZeroNotInjected")]


def test_a_member_with_an_address_and_a_rank_zero_costs_no_request(world: World) -> None:
    world.wait("w-1", age=300, status=ADDRESS)
    assert world.after(600) == []
    assert world.server.requests == []
