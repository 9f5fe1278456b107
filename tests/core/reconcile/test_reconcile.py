"""Who is told which address, whatever the order in which things are seen; and that nothing is written twice."""

import json
import random
from typing import Any

import pytest

from tests.pods import member_pod
from webhook.core import names
from webhook.core.reconcile import Fate, Jobs, Member, Publication, Unit, read_member
from webhook.core.reconcile.complaint import about_status
from webhook.core.reconcile.jobs import newest_master
from webhook.core.reconcile.member import MOST_ENTRIES

STATUS = "default/rdma-net@net1/any"


class Cluster:
    """Pods as they stand, the watch's view of them, and a count of writes."""

    def __init__(self) -> None:
        self.jobs = Jobs()
        self.pods: dict[str, dict[str, Any]] = {}
        self.writes: list[Publication] = []

    def show(self, obj: dict[str, Any]) -> list[Unit]:
        self.pods[obj["metadata"]["name"]] = obj
        return self.jobs.update(("ml", obj["metadata"]["name"]), read_member(obj))

    def hide(self, name: str) -> list[Unit]:
        del self.pods[name]
        return self.jobs.update(("ml", name), None)

    def carry_out(self, units: list[Unit], *, shown: bool = True) -> list[str]:
        """Write what the units lack; return the names of the pods written to."""
        written = []
        for unit in units:
            lacking = self.jobs.begin(unit)
            if lacking is not None:
                self.writes.append(lacking)
                written.append(lacking.name)
                self.pods[lacking.name]["metadata"]["annotations"].update(lacking.annotations)
                if shown:
                    assert self.show(self.pods[lacking.name]) == []
        return written

    def told(self, name: str) -> tuple[str | None, ...]:
        found = self.pods[name]["metadata"]["annotations"]
        return tuple(
            found.get(key) for key in (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR)
        )


def test_a_job_is_told_once_rank_zero_has_an_address() -> None:
    cluster = Cluster()
    assert cluster.show(member_pod("w1", address="10.0.0.2")) == []
    assert cluster.show(member_pod("m", "master")) == []
    units = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    assert cluster.carry_out(units) == ["m", "w1"], "rank 0 first"
    assert cluster.told("m") == ("10.0.0.1", "10.0.0.1", "10.0.0.1")
    assert cluster.told("w1") == ("10.0.0.1", "10.0.0.1", None)
    assert cluster.carry_out(cluster.show(member_pod("w2"))) == ["w2"]
    assert cluster.jobs.units() == []


def test_what_was_written_is_not_written_again_before_the_watch_shows_it() -> None:
    cluster = Cluster()
    worker, master = member_pod("w1"), member_pod("m", "master", address="10.0.0.1")
    cluster.show(worker)
    units = cluster.show(master)
    stale = json.loads(json.dumps(worker))
    assert cluster.carry_out(units, shown=False) == ["m", "w1"]
    assert cluster.jobs.update(("ml", "w1"), read_member(stale)) == []
    assert cluster.jobs.units() == []


def test_what_another_hand_undid_is_written_again_after_two_sweeps() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    units = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    cluster.carry_out(units, shown=False)
    undone = member_pod("w1")
    assert cluster.show(undone) == []
    cluster.jobs.sweep()
    assert cluster.jobs.units() == []
    cluster.jobs.sweep()
    assert [unit.name for unit in cluster.jobs.units()] == ["m", "w1"]


@pytest.mark.parametrize("deleted_first", [True, False])
def test_a_restarted_rank_zero_with_another_address_reaches_all(deleted_first: bool) -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1")))
    if deleted_first:
        assert cluster.hide("m") == []
    assert cluster.show(member_pod("m", "master", uid="again")) == []
    assert cluster.told("w1")[0] == "10.0.0.1", "published values are replaced, never emptied"
    units = cluster.show(member_pod("m", "master", uid="again", address="10.0.0.9"))
    assert cluster.carry_out(units) == ["m", "w1"]
    assert cluster.told("w1")[0] == "10.0.0.9"


def test_the_same_rank_zero_in_a_rebuilt_sandbox() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1")))
    again = member_pod("m", "master", address="10.0.0.8")
    again["metadata"]["annotations"] |= dict(cluster.writes[0].annotations)
    assert cluster.carry_out(cluster.show(again)) == ["m", "w1"]
    assert cluster.told("m") == ("10.0.0.8", "10.0.0.8", "10.0.0.8")


def test_of_two_live_ranks_zero_the_newest_counts_even_without_an_address() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    old = member_pod("m-old", "master", address="10.0.0.1")
    new = member_pod("m-new", "master", creationTimestamp="2026-01-01T00:00:01Z")
    assert cluster.show(new) == []
    assert [unit.name for unit in cluster.show(old)] == ["m-old"], "its own local address only"
    lacking = cluster.jobs.publication(Unit("ml", "j-1", "m-old"))
    assert lacking is not None
    assert dict(lacking.annotations) == {names.LOCAL_ADDR: "10.0.0.1"}
    new["metadata"]["annotations"] |= member_pod("x", address="10.0.0.2")["metadata"]["annotations"]
    cluster.carry_out(cluster.show(new))
    assert cluster.told("w1")[0] == "10.0.0.2"


def test_creation_in_one_second_is_decided_by_uid() -> None:
    members = [
        read_member(member_pod("a", "master", uid="2")),
        read_member(member_pod("b", "master", uid="1")),
    ]
    master = newest_master(member for member in members if member)
    assert master is not None
    assert master.uid == "2"


def test_terminating_pods_neither_tell_nor_are_told() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", deletionTimestamp="2026-01-01T00:00:09Z"))
    assert (
        cluster.show(
            member_pod("m", "master", address="10.0.0.1", deletionTimestamp="2026-01-01T00:00:09Z")
        )
        == []
    )
    assert list(cluster.jobs.members()) == []


def test_jobs_and_namespaces_never_meet() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", job="j-2"))
    other = read_member(member_pod("w2"))
    assert other is not None
    cluster.jobs.update(("evil", "w2"), other._replace(namespace="evil"))
    units = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    assert [unit.name for unit in units] == ["m"]


def test_a_pod_that_changes_its_job_is_told_the_other_address() -> None:
    cluster = Cluster()
    cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1")))
    cluster.carry_out(cluster.show(member_pod("m2", "master", address="10.0.0.2", job="j-2")))
    cluster.carry_out(cluster.show(member_pod("w1")))
    moved = member_pod(
        "w1", job="j-2", annotations=dict(cluster.pods["w1"]["metadata"]["annotations"])
    )
    assert cluster.carry_out(cluster.show(moved)) == ["w1"]
    assert cluster.told("w1")[0] == "10.0.0.2"


@pytest.mark.parametrize("role", ["master", "worker"])
@pytest.mark.parametrize("waits_for", ["", "master-addr", "local-addr", "master-addr,local-addr"])
@pytest.mark.parametrize(
    ("name", "address"), [("w1", "10.0.0.2"), ("w1", "fd00::2"), ("0w", "10.0.0.2")]
)
def test_a_pod_gets_its_own_address_where_it_says_that_it_waits_for_it(
    role: str, waits_for: str, name: str, address: str
) -> None:
    cluster = Cluster()
    cluster.show(
        member_pod(name, role=role, address=address, annotations={names.WAITS_FOR: waits_for})
    )
    cluster.carry_out(cluster.show(member_pod("m", role="master", address="10.0.0.1", uid="zz")))
    cluster.carry_out(cluster.jobs.units())
    assert cluster.told(name) == (
        "10.0.0.1",
        "10.0.0.1",
        address if "local-addr" in waits_for else None,
    )
    assert not any(member.waits for member in cluster.jobs.members() if member.name == name)


@pytest.mark.parametrize(("master", "host"), [("10.0.0.1", "10.0.0.1"), ("fd00::1", "[fd00::1]")])
def test_rank_zeros_host_is_its_address_in_brackets_where_it_has_colons(
    master: str, host: str
) -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    cluster.carry_out(cluster.show(member_pod("m", "master", address=master)))
    assert cluster.told("w1") == (master, host, None)


def test_what_another_hand_undid_while_it_was_written_is_written_again_at_once() -> None:
    """The watch is at times faster than the answer to the write."""
    cluster = Cluster()
    worker = member_pod("w1")
    cluster.show(worker)
    cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1"))[:1])
    unit = Unit("ml", "j-1", "w1")
    done = cluster.jobs.begin(unit)
    assert done is not None
    worker["metadata"]["annotations"] |= done.annotations
    assert cluster.show(worker) == []
    worker["metadata"]["annotations"] |= {names.MASTER_ADDR: "10.66.6.6"}
    assert cluster.show(worker) == [unit]
    assert cluster.carry_out([unit]) == ["w1"]
    assert cluster.told("w1") == ("10.0.0.1", "10.0.0.1", None)
    assert cluster.jobs.begin(unit) is None


def test_a_write_that_failed_is_lacking_again() -> None:
    cluster = Cluster()
    [unit] = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    done = cluster.jobs.begin(unit)
    assert done is not None
    assert cluster.jobs.begin(unit) is None
    cluster.jobs.lost(done)
    assert cluster.jobs.begin(unit) == done


def test_a_namesake_is_not_taken_for_the_pod_that_was_written_to() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1")), shown=False)
    again = cluster.show(member_pod("w1", uid="again"))
    assert [unit.name for unit in again] == ["w1"]
    lacking = cluster.jobs.publication(again[0])
    assert lacking is not None
    assert lacking.uid == "again"


def test_a_write_to_a_pod_that_is_gone_is_not_its_namesakes() -> None:
    cluster = Cluster()
    [unit] = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    done = cluster.jobs.begin(unit)
    assert done is not None
    cluster.hide("m")
    assert cluster.show(member_pod("m", "master", address="10.0.0.1", uid="again")) == [unit]
    again = cluster.jobs.begin(unit)
    cluster.jobs.lost(done)
    assert again is not None
    assert cluster.jobs.begin(unit) is None


def test_suspects_are_members_that_lack_an_address_each_with_its_rank_zero_and_its_name() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", annotations={names.MASTER_NAME: "m.svc"}))
    cluster.show(member_pod("w2"))
    cluster.show(member_pod("w3", job="j-2", address="10.0.0.3"))
    cluster.show(member_pod("w4", address="10.0.0.4", annotations={names.WAITS_FOR: ""}))
    cluster.show(member_pod("w5", job="j-3", address="10.0.0.5", annotations={names.WAITS_FOR: ""}))
    cluster.show(member_pod("m", "master"))
    found = {
        one.member.name: (one.rank_zero and one.rank_zero.name, one.name)
        for one in cluster.jobs.suspects()
    }
    assert found == {
        "w1": ("m", "m.svc"),
        "w2": ("m", "m.svc"),
        "m": ("m", "m.svc"),
        "w3": (None, ""),
    }


def test_labels_without_the_webhooks_annotation_publish_nothing() -> None:
    cluster = Cluster()
    forged = member_pod("m", "master", address="10.0.0.1", network="")
    assert cluster.show(forged) == []


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_in_whatever_order_all_ends_well_and_nothing_is_written_twice(
    seed: int,
) -> None:
    chance = random.Random(seed)
    cluster = Cluster()
    pending: list[Unit] = []
    masters = 0
    for step in range(300):
        action = chance.random()
        name = f"w{chance.randrange(6)}"
        if action < 0.3:
            address = chance.choice(["", "10.0.1.1"])
            pending += cluster.show(
                cluster.pods.get(name) or member_pod(name, uid=f"{name}-{step}", address=address)
            )
        elif action < 0.4 and name in cluster.pods:
            cluster.hide(name)
        elif action < 0.5:
            masters += 1
            address = f"10.0.0.{masters % 250 + 1}"
            stamp = f"2026-01-01T{masters // 60:02d}:{masters % 60:02d}:00Z"
            pending += cluster.show(
                member_pod(
                    "m", "master", uid=f"m{masters}", address=address, creationTimestamp=stamp
                )
            )
        elif action < 0.55 and "m" in cluster.pods:
            cluster.hide("m")
        elif pending:
            chance.shuffle(pending)
            count = chance.randrange(1, len(pending) + 1)
            cluster.carry_out(pending[:count], shown=chance.random() < 0.5)
            pending = pending[count:]
    if "m" not in cluster.pods:
        pending += cluster.show(member_pod("m", "master", uid="last", address="10.0.0.254"))
    cluster.carry_out(pending)
    for each in list(cluster.pods.values()):
        cluster.carry_out(cluster.show(each))
    told = cluster.told("m")[0]
    assert (
        told
        == json.loads(cluster.pods["m"]["metadata"]["annotations"][names.NETWORK_STATUS])[0]["ips"][
            0
        ]
    )
    assert {cluster.told(name)[0] for name in cluster.pods} == {told}
    assert cluster.jobs.units() == []
    repeated = [
        one for one, two in zip(cluster.writes, cluster.writes[1:], strict=False) if one == two
    ]
    assert repeated == []


def test_waits() -> None:
    member = read_member(member_pod("m", "master"))
    assert isinstance(member, Member)
    assert member.waits
    done = read_member(
        member_pod(
            "m", "master", annotations={names.MASTER_ADDR: "10.0.0.1", names.LOCAL_ADDR: "10.0.0.1"}
        )
    )
    assert done is not None
    assert not done.waits


def test_a_pod_that_somebody_else_gave_the_label_waits_for_nothing() -> None:
    without = member_pod("w")
    del without["metadata"]["annotations"][names.WAITS_FOR]
    for pod in (member_pod("w", network=""), without):
        member = read_member(pod)
        assert isinstance(member, Member)
        assert not member.waits


MASTER_NAME = "m.svc.ml"


def settle(cluster: Cluster, fate: Fate, *pods: str) -> list[str]:
    """Decide about these pods, and write what follows; return the names of the pods written to."""
    uids = {cluster.pods[name]["metadata"]["uid"]: fate for name in pods}
    rank_zero = next((one.rank_zero for one in cluster.jobs.suspects()), None)
    return cluster.carry_out(cluster.jobs.settle(("ml", "j-1"), rank_zero, uids))


def cause(cluster: Cluster, name: str) -> str | None:
    found: str | None = cluster.pods[name]["metadata"]["annotations"].get(names.WAIT_ENDS)
    return found


def test_the_name_stands_in_for_the_address_until_rank_zero_has_one() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", annotations={names.MASTER_NAME: MASTER_NAME}))
    cluster.show(member_pod("w2"))
    cluster.show(member_pod("w3"))
    assert settle(cluster, Fate(by_name=True), "w1", "w2") == ["w1", "w2"]
    assert [cluster.told(name)[:2] for name in ("w1", "w2", "w3")] == [
        (MASTER_NAME, MASTER_NAME)
    ] * 2 + [(None, None)]
    assert not any(one.waits for one in cluster.jobs.members() if one.name != "w3")
    assert cluster.carry_out(cluster.show(member_pod("m", "master"))) == []
    assert cluster.told("w1")[0] == MASTER_NAME, "replaced, never emptied"
    written = cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1")))
    assert sorted(written) == ["m", "w1", "w2", "w3"]
    assert cluster.told("w1")[:2] == ("10.0.0.1", "10.0.0.1")


def test_what_was_decided_about_the_only_pod_of_a_job_holds_while_it_changes() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", annotations={names.MASTER_NAME: MASTER_NAME}))
    [unit] = cluster.jobs.settle(("ml", "j-1"), None, {"uid-w1": Fate(by_name=True)})
    assert cluster.show(
        member_pod("w1", address="10.0.0.2", annotations={names.MASTER_NAME: MASTER_NAME})
    ) == [unit]


def test_an_address_that_is_published_is_not_replaced_by_a_name() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", annotations={names.MASTER_NAME: MASTER_NAME}))
    cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1")))
    cluster.hide("m")
    assert settle(cluster, Fate(by_name=True), "w1") == []
    assert cluster.told("w1")[0] == "10.0.0.1"


def test_what_was_decided_about_a_rank_zero_that_is_no_longer_there_is_not_written() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1", annotations={names.MASTER_NAME: MASTER_NAME}))
    cluster.show(member_pod("m", "master"))
    former = cluster.jobs.suspects()[0].rank_zero
    assert former is not None
    fates = {"uid-w1": Fate(by_name=True)}
    assert cluster.jobs.settle(("ml", "j-1"), None, fates) == [], "decided before rank 0 was there"
    cluster.show(member_pod("m", "master", uid="again"))
    assert cluster.jobs.settle(("ml", "j-1"), former, fates) == []
    assert cluster.jobs.settle(("ml", "j-9"), None, fates) == []


def test_a_cause_is_written_once_and_emptied_when_rank_zero_is_created_anew() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    cluster.show(member_pod("w2"))
    assert settle(cluster, Fate("left alone"), "w1", "w2") == ["w1", "w2"]
    assert settle(cluster, Fate("left alone"), "w1", "w2") == []
    assert cause(cluster, "w1") == "left alone"
    assert cluster.carry_out(cluster.show(member_pod("m", "master"))) == ["w1", "w2"], (
        "a new one may be fine"
    )
    assert (cause(cluster, "w1"), cluster.told("w1")[0]) == ("", None)
    assert cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1"))) == [
        "m",
        "w1",
        "w2",
    ]
    assert cluster.jobs.units() == []


def test_a_cause_is_emptied_once_it_no_longer_holds_or_the_address_is_there() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    settle(cluster, Fate("left alone"), "w1")
    assert settle(cluster, Fate(), "w1") == ["w1"]
    assert cause(cluster, "w1") == ""
    settle(cluster, Fate("left alone"), "w1")
    assert cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1"))) == [
        "m",
        "w1",
    ]
    assert (cause(cluster, "w1"), cluster.told("w1")[0]) == ("", "10.0.0.1")


def test_a_new_leader_leaves_a_cause_in_place_until_it_has_decided() -> None:
    cluster = Cluster()
    assert cluster.show(member_pod("w1", annotations={names.WAIT_ENDS: "left alone"})) == []
    assert cluster.jobs.units() == []
    assert settle(cluster, Fate(by_name=True), "w1") == ["w1"], (
        "its name is not known, but the cause is gone"
    )
    assert (cause(cluster, "w1"), cluster.told("w1")[0]) == ("", None)


LONG = "9" * 200_000


@pytest.mark.parametrize(
    "key", [names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR, names.WAIT_ENDS]
)
def test_what_no_address_can_be_is_not_kept_and_is_put_right(key: str) -> None:
    cluster = Cluster()
    pod = member_pod("m", "master", address="10.0.0.1", annotations={key: LONG})
    member = read_member(pod)
    assert member is not None
    assert len(repr(member)) < 1000
    cluster.carry_out(cluster.show(pod))
    assert cluster.told("m") == ("10.0.0.1", "10.0.0.1", "10.0.0.1")
    assert cluster.pods["m"]["metadata"]["annotations"].get(names.WAIT_ENDS, "") == ""


@pytest.mark.parametrize(
    "annotations",
    [
        {names.RENDEZVOUS_NETWORK: f"default/{LONG}@net1/any"},
        {names.MASTER_NAME: LONG},
        {names.WAITS_FOR: f"{LONG},local-addr"},
        {names.UNREACHABLE: LONG},
        {
            names.NETWORK_STATUS: json.dumps(
                [{"name": "default/rdma-net", "interface": LONG, "ips": ["10.0.0.1"]}]
            )
        },
        {
            names.NETWORK_STATUS: json.dumps(
                [{"name": "default/rdma-net", "interface": "n" * 60_000, "ips": ["10.0.0.1"]}]
            )
        },
        {
            names.NETWORK_STATUS: json.dumps(
                [{"name": "default/rdma-net", "interface": "net1", "ips": ["x" * 64] * 900}]
            )
        },
        {
            names.NETWORK_STATUS: json.dumps(
                [{"name": "default/rdma-net", "interface": "net1", "ips": [[1]] * 9000}]
            )
        },
    ],
)
def test_little_is_kept_of_a_pod_whatever_is_written_on_it(annotations: dict[str, str]) -> None:
    member = read_member(member_pod("w", annotations=annotations))
    assert member is not None
    assert len(repr(member)) < 2000


def test_a_network_status_of_thousands_of_faulty_addresses_costs_no_more_than_one_of_few() -> None:
    def problem(count: int) -> str:
        entry = {
            "name": "default/rdma-net",
            "interface": "net1",
            "ips": [f"bad-{number}" for number in range(count)],
        }
        found = read_member(
            member_pod("w", annotations={names.NETWORK_STATUS: json.dumps([entry])})
        )
        assert found is not None
        return found.secondary.problem

    assert problem(4000) == problem(32)
    assert problem(2) != problem(32)


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {f"k{number}": "" for number in range(MOST_ENTRIES + 1)}},
        {"labels": {names.JOB: "j-1", **{f"k{number}": "" for number in range(MOST_ENTRIES)}}},
        {"finalizers": [f"example.com/{number}" for number in range(MOST_ENTRIES + 1)]},
        {"ownerReferences": [{"uid": str(number)} for number in range(MOST_ENTRIES + 1)]},
    ],
    ids=lambda metadata: next(iter(metadata)),
)
def test_a_pod_of_thousands_of_entries_is_not_written_to_and_its_owner_is_told(
    metadata: dict[str, Any],
) -> None:
    cluster = Cluster()
    pod = member_pod("w")
    pod["metadata"] |= metadata
    pod["metadata"]["annotations"] |= member_pod("w")["metadata"]["annotations"]
    cluster.show(member_pod("w2"))
    cluster.show(pod)
    units = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    assert sorted(cluster.carry_out(units)) == ["m", "w2"]
    assert cluster.jobs.units() == []
    [member] = [suspect.member for suspect in cluster.jobs.suspects() if suspect.member.name == "w"]
    complaint = about_status(member)
    assert complaint is not None
    assert complaint == (
        "ExcessiveMetadata",
        "the pod has more than 1000 annotations, labels, finalizers or owners, so that no address is published on it and its wait "
        "ends in vain: remove what it does not need, then restart the job",
    )


def test_a_pod_of_as_many_entries_as_are_written_to_is_told() -> None:
    cluster = Cluster()
    finalizers = [f"example.com/{number}" for number in range(MOST_ENTRIES)]
    cluster.show(member_pod("w", finalizers=finalizers))
    assert cluster.carry_out(cluster.show(member_pod("m", "master", address="10.0.0.1"))) == [
        "m",
        "w",
    ]


def with_devices(
    name: str, role: str, address: str, *devices: str | None, waits: str = "", **marks: str
) -> dict[str, Any]:
    """Return a member whose network-status names one RDMA device for each interface, None for an interface without."""
    pod = member_pod(name, role, annotations={names.WAITS_FOR: waits, **marks})
    entries: list[dict[str, Any]] = []
    for number, device in enumerate(devices, 1):
        entry: dict[str, Any] = {
            "name": "default/rdma-net",
            "interface": f"net{number}",
            "ips": [address],
        }
        if device is not None:
            entry["device-info"] = {
                "type": "pci",
                "pci": {"pci-address": "0000:03:00.3", "rdma-device": device},
            }
        entries.append(entry)
    if entries:
        pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(entries)
    return pod


DEVICES = "nccl-ib-hca,ucx-net-devices"


def test_rank_zero_is_told_its_address_and_its_devices_in_one_write() -> None:
    cluster = Cluster()
    cluster.carry_out(
        cluster.show(
            with_devices(
                "m", "master", "10.0.0.1", "mlx5_4", "mlx5_7", waits=f"master-addr,{DEVICES}"
            )
        )
    )
    [write] = cluster.writes
    assert write.annotations == {
        names.MASTER_ADDR: "10.0.0.1",
        names.MASTER_HOST: "10.0.0.1",
        names.NCCL_IB_HCA: "=mlx5_4,mlx5_7",
        names.UCX_NET_DEVICES: "mlx5_4:1,mlx5_7:1",
    }


def test_a_member_is_told_its_own_devices_without_a_rank_zero() -> None:
    cluster = Cluster()
    assert cluster.show(with_devices("w1", "worker", "", waits=DEVICES)) == [], (
        "nothing is known before network-status is there"
    )
    member = read_member(cluster.pods["w1"])
    assert member is not None
    assert member.waits
    units = cluster.show(
        with_devices("w1", "worker", "10.0.0.2", "mlx5_4", waits="ucx-net-devices")
    )
    assert cluster.carry_out(units) == ["w1"]
    assert cluster.writes[0].annotations == {names.UCX_NET_DEVICES: "mlx5_4:1"}
    member = read_member(cluster.pods["w1"])
    assert member is not None
    assert not member.waits


def test_where_network_status_names_no_device_the_wait_ends_all_the_same() -> None:
    for devices in [(None,), ("a b",), ("mlx5_4", "$(id)")]:
        cluster = Cluster()
        assert cluster.carry_out(
            cluster.show(with_devices("w1", "worker", "10.0.0.2", *devices, waits=DEVICES))
        ) == ["w1"]
        assert cluster.writes[0].annotations == {
            names.NCCL_IB_HCA: "=",
            names.UCX_NET_DEVICES: "all",
        }
    broken = member_pod(
        "w1", annotations={names.WAITS_FOR: DEVICES, names.NETWORK_STATUS: "[" * 70_000}
    )
    cluster = Cluster()
    cluster.carry_out(cluster.show(broken))
    assert cluster.writes[0].annotations == {names.NCCL_IB_HCA: "=", names.UCX_NET_DEVICES: "all"}


def test_a_member_that_does_not_wait_for_devices_is_not_told_them() -> None:
    cluster = Cluster()
    cluster.show(with_devices("w1", "worker", "10.0.0.2", "mlx5_4", waits="master-addr"))
    cluster.carry_out(
        cluster.show(with_devices("m", "master", "10.0.0.1", "mlx5_4", waits="master-addr"))
    )
    assert {key for write in cluster.writes for key in write.annotations} == {
        names.MASTER_ADDR,
        names.MASTER_HOST,
    }


@pytest.mark.parametrize("forged", ["=mlx5_0", "x" * 100_000])
def test_devices_that_another_sandbox_had_or_another_hand_wrote_are_replaced(forged: str) -> None:
    cluster = Cluster()
    pod = with_devices(
        "w1", "worker", "10.0.0.2", "mlx5_4", waits="nccl-ib-hca", **{names.NCCL_IB_HCA: forged}
    )
    assert cluster.carry_out(cluster.show(pod)) == ["w1"]
    assert cluster.writes[0].annotations == {names.NCCL_IB_HCA: "=mlx5_4"}
