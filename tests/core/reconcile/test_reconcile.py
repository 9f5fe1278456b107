"""Who is told which address, whatever the order in which things are seen."""

import json
import random
import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.pods import member_pod
from tests.tables import cases, read, table
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile import Fate, Jobs, Member, Publication, Unit, read_member
from webhook.core.reconcile.complaint import about_status
from webhook.core.reconcile.jobs import newest_master
from webhook.core.reconcile.member import MOST_ENTRIES

LONG = "9" * 200_000
MASTER_NAME = "m.svc.ml"
DEVICES = "nccl-ib-hca,ucx-net-devices"


class Cluster:
    """Pods as they stand, the watch's view of them, and the writes."""

    def __init__(self) -> None:
        self.jobs = Jobs()
        self.pods: dict[str, Object] = {}
        self.writes: list[Publication] = []

    def show(self, obj: Object) -> list[Unit]:
        self.pods[obj["metadata"]["name"]] = obj
        return self.jobs.update(("ml", obj["metadata"]["name"]), read_member(obj))

    def hide(self, name: str) -> list[Unit]:
        del self.pods[name]
        return self.jobs.update(("ml", name), None)

    def carry_out(self, units: list[Unit], *, shown: bool = True) -> list[str]:
        """Write what the units lack; return the names of the pods written to."""
        written = []
        for unit in units:
            lacking = self.jobs.publication(unit)
            if lacking is not None:
                self.writes.append(lacking)
                written.append(lacking.name)
                self.pods[lacking.name]["metadata"]["annotations"].update(lacking.annotations)
                self.jobs.written(lacking)
                if shown:
                    assert self.show(self.pods[lacking.name]) == []
        return written

    def see(self, *seen: Any) -> list[str]:
        """Show pods, carry out what that leads to, and return the pods written to."""
        return [name for pod in seen for name in self.carry_out(self.show(pod))]

    def told(self, name: str) -> tuple[str | None, ...]:
        found = self.pods[name]["metadata"]["annotations"]
        keys = names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR
        return tuple(found.get(key) for key in keys)


def member(pod: Object) -> Member:
    found = read_member(pod)
    assert found is not None
    return found


_TOKEN = re.compile(
    r"(?P<gone>-?)(?P<name>\w+)(/(?P<job>[\w-]+))?(#(?P<uid>\w+))?(@(?P<second>\d))?"
    r"(=(?P<address>[^→]+))?(→(?P<written>.+))?"
)


@pytest.mark.parametrize(
    ("steps", "address"),
    cases("""
rank 0 has its address late   | w1=10.0.0.2 m m=10.0.0.1→m,w1 w2→w2                   | 10.0.0.1
rank 0 is there first         | m=10.0.0.1→m w1→w1                                    | 10.0.0.1
IPv6                          | w1 m=fd00::1→m,w1                                     | fd00::1
rank 0 is deleted, comes again| w1 m=10.0.0.1→m,w1 -m m#2 m#2=10.0.0.9→m,w1           | 10.0.0.9
rank 0 is another at once     | w1 m=10.0.0.1→m,w1 m#2 m#2=10.0.0.9→m,w1              | 10.0.0.9
replaced and never emptied    | w1 m=10.0.0.1→m,w1 -m m#2                             | 10.0.0.1
rank 0 in another sandbox     | w1 m=10.0.0.1→m,w1 m=10.0.0.8→m,w1                    | 10.0.0.8
the newest rank 0 counts      | w1 m2@9 m1=10.0.0.1→m1 m2@9=10.0.0.2→m2,m1,w1         | 10.0.0.2
the newest without an address | w1 m1=10.0.0.1→m1,w1 m2@9 w2                          | 10.0.0.1
a namesake                    | w1 m=10.0.0.1→m,w1 w1#2→w1                            | 10.0.0.1
another job                   | w1 m=10.0.0.1→m,w1 w2/j-2                             | 10.0.0.1
a pod changes its job         | m=10.0.0.1→m m2/j-2=10.0.0.2→m2 w1→w1 w1/j-2→w1       | 10.0.0.2
"""),
)
def test_all_members_are_told_the_address_of_rank_zero(steps: str, address: str) -> None:
    """Each step shows NAME/JOB#UID@SECOND=ADDRESS, or hides -NAME, and →names who is written to."""
    cluster = Cluster()
    for step in steps.split():
        match = _TOKEN.fullmatch(step)
        assert match is not None
        name, former = match["name"], cluster.pods.get(match["name"])
        if match["gone"]:
            assert cluster.hide(name) == []
            continue
        uid = f"{name}-{match['uid']}"
        same = former is not None and former["metadata"]["uid"] == uid
        pod = member_pod(
            name,
            "master" if name.startswith("m") else "worker",
            match["job"] or "j-1",
            uid=uid,
            address=match["address"] or "",
            creationTimestamp=f"2026-01-01T00:00:0{match['second'] or 0}Z",
        )
        before = former["metadata"]["annotations"] if same and former is not None else {}
        pod["metadata"]["annotations"] = before | pod["metadata"]["annotations"]
        assert cluster.see(pod) == (match["written"].split(",") if match["written"] else []), step
    host = f"[{address}]" if ":" in address else address
    assert cluster.told("w1") == (address, host, None)
    assert cluster.jobs.units() == []


def test_what_was_written_is_not_written_again_before_the_watch_shows_it() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    units = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    assert cluster.carry_out(units, shown=False) == ["m", "w1"]
    assert cluster.jobs.units() == []
    assert [unit.name for unit in cluster.show(member_pod("w1"))] == ["w1"], "the watch counts"


def test_a_pod_that_changed_while_it_was_written_is_as_the_watch_shows_it() -> None:
    """The watch is at times faster than the answer to the write."""
    cluster = Cluster()
    [unit] = cluster.show(member_pod("m", "master", address="10.0.0.1"))
    done = cluster.jobs.publication(unit)
    assert done is not None
    for uid in ("uid-m", "again"):
        cluster.show(member_pod("m", "master", uid=uid, address="10.0.0.1"))
        cluster.jobs.written(done)
        assert cluster.jobs.units() == [unit]


@table("undone", {"removed": {}, "forged": {names.MASTER_ADDR: "10.66.6.6"}})
def test_what_another_hand_undid_is_written_again_at_once(undone: Mapping[str, str]) -> None:
    cluster = Cluster()
    cluster.see(member_pod("m", "master", address="10.0.0.1"), member_pod("w1"))
    assert cluster.see(member_pod("w1", annotations=undone)) == ["w1"]
    assert cluster.told("w1") == ("10.0.0.1", "10.0.0.1", None)


def test_creation_in_one_second_is_decided_by_uid() -> None:
    master = newest_master(member(member_pod(uid, "master", uid=uid)) for uid in "213")
    assert master is not None
    assert master.uid == "3"


def test_terminating_pods_neither_tell_nor_are_told() -> None:
    cluster, ending = Cluster(), "2026-01-01T00:00:09Z"
    cluster.show(member_pod("w1", deletionTimestamp=ending))
    master = member_pod("m", "master", address="10.0.0.1", deletionTimestamp=ending)
    assert cluster.show(master) == []
    assert cluster.jobs.members() == []


def test_namespaces_never_meet() -> None:
    cluster = Cluster()
    other = member(member_pod("w2"))._replace(namespace="evil")
    cluster.jobs.update(("evil", "w2"), other)
    assert cluster.see(member_pod("m", "master", address="10.0.0.1")) == ["m"]


@pytest.mark.parametrize("role", ["master", "worker"])
@pytest.mark.parametrize("waits_for", ["", "master-addr", "local-addr", "master-addr,local-addr"])
@pytest.mark.parametrize("name", ["w1", "0w"])
def test_a_pod_gets_its_own_address_where_it_says_that_it_waits_for_it(
    role: str, waits_for: str, name: str
) -> None:
    cluster = Cluster()
    waiting = {names.WAITS_FOR: waits_for}
    cluster.show(member_pod(name, role=role, address="fd00::2", annotations=waiting))
    cluster.see(member_pod("m", role="master", address="10.0.0.1", uid="zz"))
    cluster.carry_out(cluster.jobs.units())
    own = "fd00::2" if "local-addr" in waits_for else None
    assert cluster.told(name) == ("10.0.0.1", "10.0.0.1", own)
    assert not any(one.waits for one in cluster.jobs.members() if one.name == name)


def test_suspects_are_members_that_lack_an_address_each_with_its_rank_zero_and_its_name() -> None:
    cluster, done = Cluster(), {names.WAITS_FOR: ""}
    cluster.show(member_pod("w1", annotations={names.MASTER_NAME: "m.svc"}))
    cluster.show(member_pod("w2"))
    cluster.show(member_pod("w3", job="j-2", address="10.0.0.3"))
    cluster.show(member_pod("w4", address="10.0.0.4", annotations=done))
    cluster.show(member_pod("w5", job="j-3", address="10.0.0.5", annotations=done))
    cluster.show(member_pod("m", "master"))
    found = {
        suspect.member.name: (suspect.rank_zero and suspect.rank_zero.name, suspect.name)
        for suspect in cluster.jobs.suspects()
    }
    assert found == {**dict.fromkeys(("w1", "w2", "m"), ("m", "m.svc")), "w3": (None, "")}


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_in_whatever_order_all_ends_well(seed: int) -> None:
    chance = random.Random(seed)
    cluster = Cluster()
    pending: list[Unit] = []
    masters = 0
    for step in range(300):
        action = chance.random()
        name = f"w{chance.randrange(6)}"
        if action < 0.3:
            address = chance.choice(["", "10.0.1.1"])
            fresh = member_pod(name, uid=f"{name}-{step}", address=address)
            pending += cluster.show(cluster.pods.get(name) or fresh)
        elif action < 0.4 and name in cluster.pods:
            cluster.hide(name)
        elif action < 0.5:
            masters += 1
            address = f"10.0.0.{masters % 250 + 1}"
            stamp = f"2026-01-01T{masters // 60:02d}:{masters % 60:02d}:00Z"
            pod = member_pod("m", "master", address=address, creationTimestamp=stamp)
            pod["metadata"]["uid"] = f"m{masters}"
            pending += cluster.show(pod)
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
    cluster.see(*cluster.pods.values())
    status = json.loads(cluster.pods["m"]["metadata"]["annotations"][names.NETWORK_STATUS])
    assert {cluster.told(name)[0] for name in cluster.pods} == set(status[0]["ips"])
    assert cluster.jobs.units() == []
    pairs = zip(cluster.writes, cluster.writes[1:], strict=False)
    assert not any(one[:4] == two[:4] for one, two in pairs), "nothing is written twice"


UNMARKED = member_pod("w", "master", address="10.0.0.1")
del UNMARKED["metadata"]["annotations"][names.WAITS_FOR]
DONE = {names.MASTER_ADDR: "10.0.0.1", names.LOCAL_ADDR: "10.0.0.1"}


def test_a_member_waits_until_it_is_told_and_not_where_another_gave_it_the_label() -> None:
    assert member(member_pod("m", "master")).waits
    labelled = member_pod("m", "master", address="10.0.0.1", network="")
    for pod in (member_pod("m", "master", annotations=DONE), labelled, UNMARKED):
        assert not member(pod).waits
    assert Cluster().show(labelled) == [], "nothing is published"


def named(name: str, address: str = "") -> Object:
    """Give a worker that was told rank 0's name."""
    return member_pod(name, address=address, annotations={names.MASTER_NAME: MASTER_NAME})


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
    cluster.see(named("w1"), member_pod("w2"), member_pod("w3"))
    assert settle(cluster, Fate(by_name=True), "w1", "w2") == ["w1", "w2"]
    told = [cluster.told(name)[:2] for name in ("w1", "w2", "w3")]
    assert told == [(MASTER_NAME, MASTER_NAME)] * 2 + [(None, None)]
    assert [one.name for one in cluster.jobs.members() if one.waits] == ["w3"]
    assert cluster.see(member_pod("m", "master")) == []
    assert cluster.told("w1")[0] == MASTER_NAME, "replaced, never emptied"
    written = cluster.see(member_pod("m", "master", address="10.0.0.1"))
    assert sorted(written) == ["m", "w1", "w2", "w3"]
    assert cluster.told("w1")[:2] == ("10.0.0.1", "10.0.0.1")


def test_what_was_decided_about_the_only_pod_of_a_job_holds_while_it_changes() -> None:
    cluster = Cluster()
    cluster.show(named("w1"))
    [unit] = cluster.jobs.settle(("ml", "j-1"), None, {"uid-w1": Fate(by_name=True)})
    assert cluster.show(named("w1", "10.0.0.2")) == [unit]


def test_an_address_that_is_published_is_not_replaced_by_a_name() -> None:
    cluster = Cluster()
    cluster.see(named("w1"), member_pod("m", "master", address="10.0.0.1"))
    cluster.hide("m")
    assert settle(cluster, Fate(by_name=True), "w1") == []
    assert cluster.told("w1")[0] == "10.0.0.1"


def test_what_was_decided_about_a_rank_zero_that_is_no_longer_there_is_not_written() -> None:
    cluster = Cluster()
    cluster.see(named("w1"), member_pod("m", "master"))
    former = cluster.jobs.suspects()[0].rank_zero
    fates = {"uid-w1": Fate(by_name=True)}
    assert cluster.jobs.settle(("ml", "j-1"), None, fates) == [], "decided before rank 0 was there"
    cluster.show(member_pod("m", "master", uid="again"))
    assert cluster.jobs.settle(("ml", "j-1"), former, fates) == []
    assert cluster.jobs.settle(("ml", "j-9"), None, fates) == []


def test_a_cause_is_written_once_and_emptied_when_rank_zero_is_created_again() -> None:
    cluster = Cluster()
    cluster.see(member_pod("w1"), member_pod("w2"))
    assert settle(cluster, Fate("left alone"), "w1", "w2") == ["w1", "w2"]
    assert settle(cluster, Fate("left alone"), "w1", "w2") == []
    assert cause(cluster, "w1") == "left alone"
    assert cluster.see(member_pod("m", "master")) == ["w1", "w2"], "a new one may be fine"
    assert (cause(cluster, "w1"), cluster.told("w1")[0]) == ("", None)
    assert cluster.see(member_pod("m", "master", address="10.0.0.1")) == ["m", "w1", "w2"]
    assert cluster.jobs.units() == []


def test_a_cause_is_emptied_once_it_no_longer_holds_or_the_address_is_there() -> None:
    cluster = Cluster()
    cluster.show(member_pod("w1"))
    settle(cluster, Fate("left alone"), "w1")
    assert settle(cluster, Fate(), "w1") == ["w1"]
    assert cause(cluster, "w1") == ""
    settle(cluster, Fate("left alone"), "w1")
    assert cluster.see(member_pod("m", "master", address="10.0.0.1")) == ["m", "w1"]
    assert (cause(cluster, "w1"), cluster.told("w1")[0]) == ("", "10.0.0.1")


def test_a_new_leader_leaves_a_cause_in_place_until_it_has_decided() -> None:
    cluster = Cluster()
    assert cluster.show(member_pod("w1", annotations={names.WAIT_ENDS: "left alone"})) == []
    assert cluster.jobs.units() == []
    assert settle(cluster, Fate(by_name=True), "w1") == ["w1"], "its name is not known"
    assert (cause(cluster, "w1"), cluster.told("w1")[0]) == ("", None)


@table("key", {key: key for key in (*DONE, names.MASTER_HOST, names.WAIT_ENDS)})
def test_what_no_address_can_be_is_not_kept_and_is_put_right(key: str) -> None:
    cluster = Cluster()
    pod = member_pod("m", "master", address="10.0.0.1", annotations={key: LONG})
    assert len(repr(member(pod))) < 1000
    cluster.see(pod)
    assert cluster.told("m") == ("10.0.0.1",) * 3
    assert not cause(cluster, "m")


def status(interface: str, ips: list[Any]) -> dict[str, str]:
    entry = {"name": "default/rdma-net", "interface": interface, "ips": ips}
    return {names.NETWORK_STATUS: json.dumps([entry])}


@table(
    "annotations",
    {
        "network": {names.RENDEZVOUS_NETWORK: f"default/{LONG}@net1/any"},
        "name": {names.MASTER_NAME: LONG},
        "waits for": {names.WAITS_FOR: f"{LONG},local-addr"},
        "unreachable": {names.UNREACHABLE: LONG},
        "interface": status(LONG, ["10.0.0.1"]),
        "shorter interface": status("n" * 60_000, ["10.0.0.1"]),
        "addresses": status("net1", ["x" * 64] * 900),
        "no addresses": status("net1", [[1]] * 9000),
    },
)
def test_little_is_kept_of_a_pod_whatever_is_written_on_it(annotations: dict[str, str]) -> None:
    assert len(repr(member(member_pod("w", annotations=annotations)))) < 2000


def test_a_network_status_of_thousands_of_faulty_addresses_costs_no_more_than_one_of_few() -> None:
    def problem(count: int) -> str:
        told = status("net1", [f"bad-{number}" for number in range(count)])
        return member(member_pod("w", annotations=told)).secondary.problem

    assert problem(4000) == problem(32)
    assert problem(2) != problem(32)


def excess(number: int) -> dict[str, Object]:
    """Give metadata with so many entries of each sort."""
    keys = [f"k{each}" for each in range(number)]
    return {
        "annotations": {"annotations": dict.fromkeys(keys, "")},
        "labels": {"labels": {names.JOB: "j-1", **dict.fromkeys(keys[1:], "")}},
        "finalizers": {"finalizers": [f"example.com/{key}" for key in keys]},
        "owners": {"ownerReferences": [{"uid": key} for key in keys]},
    }


@table("metadata", excess(MOST_ENTRIES + 1))
def test_a_pod_of_thousands_of_entries_is_not_written_to_and_its_owner_is_told(
    metadata: Object,
) -> None:
    cluster = Cluster()
    pod = member_pod("w")
    own = pod["metadata"]["annotations"]
    pod["metadata"] |= metadata
    pod["metadata"]["annotations"] = own | pod["metadata"]["annotations"]
    as_many = member_pod("w2", **excess(MOST_ENTRIES)["finalizers"])
    cluster.see(as_many, pod)
    written = cluster.see(member_pod("m", "master", address="10.0.0.1"))
    assert sorted(written) == ["m", "w2"]
    assert cluster.jobs.units() == []
    told = about_status(member(pod))
    assert told is not None
    assert told.reason == "ExcessiveMetadata"
    assert told.message == (
        "the pod has more than 1000 annotations, labels, finalizers or owners, and gets no "
        "address: remove what it does not need, then restart the job"
    )


def with_devices(row: Object) -> Object:
    """Return a member with one RDMA device for each interface, None for one without."""
    forged = {names.NCCL_IB_HCA: row["forged"]} if "forged" in row else {}
    marks = {names.WAITS_FOR: row["waits"], **forged}
    entries: list[Object] = []
    for number, device in enumerate(row["shown"], 1):
        pci = {"pci-address": "0000:03:00.3", "rdma-device": device}
        info = {"device-info": {"type": "pci", "pci": pci}} if device is not None else {}
        named = {"name": "default/rdma-net", "interface": f"net{number}", "ips": ["10.0.0.1"]}
        entries.append(named | info)
    if entries:
        marks[names.NETWORK_STATUS] = json.dumps(entries)
    return member_pod("m", row.get("role", "worker"), annotations=marks)


@table("row", read(__file__, "reconcile.yaml")["devices"])
def test_devices_that_a_member_waits_for_are_told(row: Object) -> None:
    cluster = Cluster()
    pod = with_devices(row)
    cluster.see(pod)
    written = {f"{names.PREFIX}{key}": value for key, value in row.get("written", {}).items()}
    assert [dict(write.annotations) for write in cluster.writes] == ([written] if written else [])
    assert member(pod).waits is (not written)


def test_what_cannot_be_read_of_devices_chooses_among_all() -> None:
    marks = {names.WAITS_FOR: DEVICES, names.NETWORK_STATUS: "[" * 70_000, names.NCCL_IB_HCA: LONG}
    cluster = Cluster()
    cluster.see(member_pod("w", annotations=marks))
    [write] = cluster.writes
    assert write.annotations == {names.NCCL_IB_HCA: "=", names.UCX_NET_DEVICES: "all"}
