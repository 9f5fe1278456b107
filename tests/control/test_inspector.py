"""When waiting pods are looked at, with how many requests, and what follows."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests import pods
from tests.fake_apiserver import NAMESPACES, PODS, Exchange, FakeApiServer, status
from tests.tables import table
from webhook.control import inspector
from webhook.control.events import PodRef
from webhook.control.inspector import (
    FIRST_LOOK_SECONDS,
    LIST_SHARE,
    PAGE_SIZE,
    PERIOD_SECONDS,
    ROUND_SECONDS,
    Inspector,
)
from webhook.core import names
from webhook.core.reconcile import Fate, Jobs, Member, read_member
from webhook.core.reconcile.complaint import BOUND_SECONDS, about_address
from webhook.core.reconcile.member import MOST_ENTRIES
from webhook.core.workloads import TrainingPod, recognise

IN_ML = f"{NAMESPACES}/ml/pods"
ADDRESS = '[{"name":"default/rdma-net","interface":"net1","ips":["10.0.0.2"]}]'
NOT_ATTACHED = '[{"name":"cbr0"}]'


class World:
    """An inspector whose clock only the test moves, the pods, and what was told and decided."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.seconds = 0.0
        self.request_seconds = 0.0
        self.jobs = Jobs()
        self.told: list[tuple[str, str]] = []
        self.decided: dict[str, dict[str, Fate]] = {}
        self.inspector = Inspector(
            server.connection(),
            self.record,
            lambda: True,
            suspects=self.jobs.suspects,
            settle=self.settle,
            monotonic=lambda: 1000.0 + self.seconds,
        )
        honest = self.inspector._reader.pages

        def pages(*arguments: Any, **named: Any) -> Any:
            self.seconds += self.request_seconds
            return honest(*arguments, **named)

        self.inspector._reader.pages = pages  # type: ignore[method-assign]

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        assert message
        self.told.append((pod.name, reason))

    def settle(
        self, job: tuple[str, str], rank_zero: Member | None, fates: Mapping[str, Fate]
    ) -> None:
        self.decided["/".join(job)] = dict(fates)
        self.jobs.settle(job, rank_zero, fates)

    def add(
        self,
        name: str,
        *,
        bound: bool = True,
        role: str = "worker",
        job: str = "j-1",
        status: str = "",
        namespace: str = "ml",
        annotations: Mapping[str, str] | None = None,
        **metadata: Any,
    ) -> None:
        """Put a member there; *status* is its network-status."""
        told = {names.NETWORK_STATUS: status} if status else {}
        marks = {names.WAITS_FOR: "master-addr", **told, **(annotations or {})}
        uid = f"uid-{namespace}-{name}"
        metadata |= {"namespace": namespace, "uid": uid}
        pod = pods.member_pod(name, role, job, annotations=marks, **metadata)
        spec = {"nodeName": "n-1"} if bound else {}
        self.server.put(PODS, spec=spec, status={"phase": "Pending"}, **pod["metadata"])
        self.jobs.update((namespace, name), read_member(pod))

    def add_whole(self, pod: dict[str, Any]) -> None:
        """Put a pod there that carries no label of ours."""
        parts = {
            key: value
            for key, value in pod["metadata"].items()
            if key not in ("resourceVersion", "namespace")
        }
        self.server.put(
            PODS, **{**parts, "namespace": "ml"}, spec=pod["spec"], status={"phase": "Running"}
        )

    def after(self, seconds: float) -> list[tuple[str, str]]:
        """Let time go by, do one round, and give what was told in it."""
        self.seconds += seconds
        self.told.clear()
        self.inspector.turn()
        return list(self.told)

    def later(self) -> list[tuple[str, str]]:
        """Take a first round, and give what the next one tells, once all are looked at."""
        self.after(0)
        return self.after(FIRST_LOOK_SECONDS)

    def lists(self, namespace: str = "ml") -> int:
        """Count the requests for pods so far."""
        return len(self.server.asked("get", f"{NAMESPACES}/{namespace}/pods"))


@pytest.fixture
def world(server: FakeApiServer) -> World:
    return World(server)


def test_tells_of_a_pod_a_minute_after_it_was_seen_on_its_node(world: World) -> None:
    world.add("m", role="master", status=ADDRESS)
    world.add("w-1")
    assert world.later() == []
    assert world.after(BOUND_SECONDS - 1) == []
    assert world.lists() == 1
    assert world.after(1) == [("w-1", "NoSecondaryAddress")]
    assert world.lists() == 2


def test_pods_that_are_not_bound_are_looked_at_once_a_minute_by_one_list(world: World) -> None:
    for number in range(PAGE_SIZE):
        world.add(f"w-{number}", bound=False)
    for _ in range(1 + 12):
        assert world.after(30) == []
    assert world.lists() == 6


def test_what_network_status_tells_is_told_at_the_first_look(world: World) -> None:
    world.add("m", role="master", status=ADDRESS)
    world.add("w-1", status="{")
    assert world.later() == [("w-1", "NetworkStatusUnusable")]
    assert world.after(BOUND_SECONDS - 1) == []
    assert world.lists() == 1


@table("fails", {"answered": False, "refused": True})
def test_every_namespace_gets_its_turn_however_many_others_there_are(
    world: World, fails: bool
) -> None:
    """The longest due come first, and a round that lasts leaves the rest to the next one."""
    spaces = [f"queued-{number}" for number in range(30)]
    for number, space in enumerate(spaces):
        world.add("w-1", bound=False, namespace=space, job=f"j-{number}")
        if fails:
            path = f"{NAMESPACES}/{space}/pods"
            world.server.misbehave("get", path, *[status(503, "later")] * 10)
    world.after(0)
    world.add("w-1", status="{")
    world.request_seconds = 1.0
    assert world.after(FIRST_LOOK_SECONDS) == []
    assert sum(map(world.lists, spaces)) == ROUND_SECONDS
    told = [one for _ in range(4) for one in world.after(PERIOD_SECONDS)]
    assert ("w-1", "NetworkStatusUnusable") in told
    assert all(world.lists(space) >= 1 for space in spaces)


def test_who_is_stuck_is_looked_at_before_those_that_wait_for_their_gang(world: World) -> None:
    for number in range(30):
        world.add("w-1", bound=False, namespace=f"queued-{number}", job=f"j-{number}")
    world.after(0)
    world.add("w-1", status=ADDRESS, annotations={names.MASTER_NAME: "zero"})
    world.after(PERIOD_SECONDS)
    world.request_seconds = 10.0
    assert world.after(30) == [("w-1", "MeetsByName")]


def test_a_list_that_failed_is_asked_for_again_in_the_next_round(world: World) -> None:
    world.add("w-1", status="{")
    world.server.misbehave("get", IN_ML, status(503, "later"))
    assert world.later() == []
    assert world.after(PERIOD_SECONDS) == [("w-1", "NetworkStatusUnusable")]


def test_a_pod_that_cannot_be_judged_does_not_keep_others_from_it(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    honest = about_address

    def broken(member: Member, *arguments: Any) -> Any:
        if member.name == "bad":
            raise ZeroDivisionError
        return honest(member, *arguments)

    monkeypatch.setattr(inspector, "about_address", broken)
    world.add("bad")
    world.add("w-1")
    world.later()
    assert ("w-1", "NoSecondaryAddress") in world.after(BOUND_SECONDS)
    assert "pod ml/bad: cannot be judged" in caplog.text


def test_an_owner_is_told_once_for_each_job_and_all_its_members_end(world: World) -> None:
    master = pods.load("pods/kubeflow-pytorchjob-0.yaml")
    part = recognise(master)
    assert isinstance(part, TrainingPod)
    assert part.rendezvous is not None
    world.add_whole(master)
    for number in range(2 * PAGE_SIZE):
        job = part.rendezvous.job if number % 2 else f"missing-{number}"
        marks = {names.MASTER_NAME: f"zero-{number}"}
        world.add(f"w-{number:03}", job=job, status=ADDRESS, annotations=marks)
    assert world.after(0) == []
    told = [one for _ in range(9) for one in world.after(PERIOD_SECONDS)]
    assert told.count(("w-001", "RankZeroNotInjected")) == 1
    causes = set(world.decided[f"ml/{part.rendezvous.job}"].values())
    assert len(causes) == 1
    assert "pod bert-master-0, was created before its namespace was labelled" in causes.pop().cause
    by_name = [name for name, reason in told if reason == "MeetsByName"]
    assert len(by_name) == len(set(by_name)) == PAGE_SIZE
    assert all(
        query.query["fieldSelector"].endswith("status.phase!=Succeeded,status.phase!=Failed")
        for query in world.server.asked("get")
    )


@pytest.mark.parametrize("spread", [False, True], ids=["one-namespace", "a-hundred-namespaces"])
def test_a_hundred_jobs_at_once_meet_by_name_within_half_a_minute_of_the_time_when_they_may(
    world: World, spread: bool
) -> None:
    for number in range(100):
        space = f"ml-{number}" if spread else "ml"
        marks = {names.MASTER_NAME: f"zero-{number}"}
        world.add(
            f"w-{number}", job=f"j-{number}", namespace=space, status=ADDRESS, annotations=marks
        )
    rounds = 0
    while len(world.decided) < 100 or not all(
        fate.by_name for fates in world.decided.values() for fate in fates.values()
    ):
        world.after(PERIOD_SECONDS)
        rounds += 1
        assert rounds * PERIOD_SECONDS <= 30 + 30
    assert rounds * PERIOD_SECONDS >= 30, "not before the members have been bound for 30 s"


def test_a_rank_zero_without_our_label_is_found_by_its_jobs_labels_or_its_name(
    world: World,
) -> None:
    master = pods.load("pods/kubeflow-pytorchjob-0.yaml")
    part = recognise(master)
    assert isinstance(part, TrainingPod)
    assert part.rendezvous is not None
    alone = pods.minimal_pod(metadata={"name": "zero"})
    alone["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    of_operator = {
        key: master["metadata"]["labels"][key] for key in ("training.kubeflow.org/job-name",)
    }
    for number in range(inspector.MOST_SIBLING_PAGES * PAGE_SIZE):
        world.server.put(PODS, f"a-{number}", "ml", labels={}, spec={"nodeName": "n-1"})
    key = part.rendezvous.job
    world.add(
        "w-1",
        job=key,
        status=ADDRESS,
        labels={names.JOB: key, names.RENDEZVOUS: "worker", **of_operator},
    )
    world.add("w-2", job="j-2", status=ADDRESS, annotations={names.MASTER_NAME: "zero.svc"})
    world.add("w-3", job="j-3", status=ADDRESS, annotations={names.MASTER_NAME: "zero-3.svc"})
    world.add("zero-3", job="j-3", role="master", status=NOT_ATTACHED)
    world.add_whole(master)
    world.add_whole(alone)
    told = {one for _ in range(12) for one in world.after(PERIOD_SECONDS)}
    assert told >= {("w-1", "RankZeroNotInjected"), ("w-2", "RankZeroNotInjected")}
    assert "MeetsByName" not in {reason for _, reason in told}
    assert any("was not attached" in fate.cause for fate in world.decided["ml/j-3"].values())


def test_a_cause_that_is_gone_is_noticed(world: World) -> None:
    alone = pods.minimal_pod(metadata={"name": "zero", "namespace": "ml"})
    alone["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    world.add_whole(alone)
    world.add("w-1", status=ADDRESS, annotations={names.MASTER_NAME: "zero"})
    assert world.later() == [("w-1", "RankZeroNotInjected")]
    world.server.delete(PODS, "zero", "ml")
    assert world.after(60) == [("w-1", "MeetsByName")]
    assert set(world.decided["ml/j-1"].values()) == {Fate(by_name=True)}


def test_a_rank_zero_that_was_not_attached_ends_its_own_wait_and_the_others(world: World) -> None:
    world.add("m", role="master", status=NOT_ATTACHED)
    world.add("w-1", status=ADDRESS)
    world.after(0)
    world.after(30)
    fates = world.decided["ml/j-1"]
    assert fates.keys() == {"uid-ml-m", "uid-ml-w-1"}
    assert all("was not attached to default/rdma-net@net1" in fate.cause for fate in fates.values())


def test_a_namespace_slow_to_list_is_listed_more_rarely(world: World) -> None:
    world.add("w-1")
    world.add("w-2", job="j-2")
    world.after(0)
    world.request_seconds = 2.0
    world.after(FIRST_LOOK_SECONDS)
    world.add("w-3", status="{", job="j-3")
    world.after(FIRST_LOOK_SECONDS)
    assert world.after(2.0 / LIST_SHARE - FIRST_LOOK_SECONDS - 1) == []
    assert ("w-3", "NetworkStatusUnusable") in world.after(1)


def test_of_many_pods_with_excessive_metadata_one_owner_is_told(world: World) -> None:
    many = {f"k{number}": "" for number in range(MOST_ENTRIES)}
    for number in range(50):
        world.add(f"w-{number}", annotations=many)
    world.add("w-other", namespace="other", annotations=many)
    told = world.later()
    assert {reason for _, reason in told} == {"ExcessiveMetadata"}
    assert len(told) == 2, "one of each namespace"


def test_a_namespace_that_cannot_be_listed_in_time_is_left_for_the_others(world: World) -> None:
    """Its pods come one by one, slowly, and nothing is taken for missing."""
    for number in range(8):
        world.add(f"w-{number}", status=ADDRESS)
    page = {"metadata": {"resourceVersion": "1", "continue": "more"}, "items": []}

    def slow(exchange: Exchange) -> None:
        world.seconds += 15
        exchange.answer(200, page)

    world.after(0)
    world.server.misbehave("get", IN_ML, *[slow] * 9)
    world.after(40)
    assert world.lists() == 2
    assert world.decided == {}
