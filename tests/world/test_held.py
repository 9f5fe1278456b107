"""Which rank 0 of a job counts, and what of it is believed."""

from functools import partial
from typing import Any

import pytest

from tests.calls import count_calls
from tests.pods import member_pod
from webhook.core import names
from webhook.core.model import MasterAddress, Namespace
from webhook.world.held import Masters, read_address, read_master, read_namespace


def pod(
    name: str = "m",
    created: str = "2026-01-01T00:00:00Z",
    addr: str | None = "192.168.1.5",
    **more: Any,
) -> Any:
    """Return a rank 0 whose published address is *addr*; Multus tells *address*, if given."""
    annotations = {} if addr is None else {names.MASTER_ADDR: addr}
    return member_pod(
        name, "master", "j", uid=name, creationTimestamp=created, annotations=annotations, **more
    )


def index(*pods: Any) -> Masters:
    masters = Masters()
    for one in pods:
        masters.update(("ml", one["metadata"]["name"]), read_master(one))
    return masters


def addr(masters: Masters, namespace: str = "ml", job: str = "j") -> str | None:
    found = masters.address(namespace, job)
    return found.addr if found else None


def test_gives_the_address_of_the_newest() -> None:
    old, new = (
        pod("z", "2026-01-01T00:00:00Z", "10.0.0.1"),
        pod("a", "2026-01-01T00:00:01Z", "10.0.0.2"),
    )
    assert addr(index(old, new)) == addr(index(new, old)) == "10.0.0.2"


def test_decides_between_equally_old_ones_by_uid() -> None:
    one, other = pod("a", addr="10.0.0.1"), pod("b", addr="10.0.0.2")
    assert addr(index(one, other)) == addr(index(other, one)) == "10.0.0.2"


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("192.168.1.5", "192.168.1.5"),
        ("192.168.1.9", None),
        ("", "192.168.1.5"),
        ("x", "192.168.1.5"),
    ],
)
def test_gives_no_address_that_network_status_denies(status: str, found: str | None) -> None:
    """The sandbox was rebuilt, and the controller has not published the new address yet."""
    assert addr(index(pod(address=status))) == found


def test_follows_a_pod_whose_job_changes() -> None:
    masters = index(pod())
    masters.update(
        ("ml", "m"), read_master(pod(labels={names.JOB: "k", names.RENDEZVOUS: "master"}))
    )
    assert (addr(masters), addr(masters, job="k")) == (None, "192.168.1.5")


def test_keeps_jobs_of_one_name_apart_by_namespace() -> None:
    masters = index(pod())
    other = pod("m", addr="10.9.9.9", namespace="other")
    masters.update(("other", "m"), read_master(other))
    assert (addr(masters), addr(masters, "other"), addr(masters, "none")) == (
        "192.168.1.5",
        "10.9.9.9",
        None,
    )


@pytest.mark.parametrize("ends", [False, True])
def test_an_update_takes_no_longer_among_many_of_one_job(ends: bool) -> None:
    work = set()
    for count in (10, 1000):
        several = [
            read_master(pod(f"m{number}", addr=f"10.0.0.{number % 250 + 1}"))
            for number in range(count)
        ]
        masters = Masters()
        for number, master in enumerate(several):
            masters.update(("ml", f"m{number}"), master)
        key = ("ml", f"m{count // 2}")
        changed = None if ends else read_master(pod(key[1], addr="10.1.0.1"))
        work.add(count_calls(partial(masters.update, key, changed)))
    assert len(work) == 1


@pytest.mark.parametrize(
    "labels",
    [
        None,
        {},
        {names.JOB: "j"},
        {names.JOB: "j", names.RENDEZVOUS: "worker"},
        {names.RENDEZVOUS: "master"},
    ],
    ids=repr,
)
def test_passes_over_pods_that_are_no_rank_zero(labels: Any) -> None:
    assert read_master(pod(labels=labels)) is None


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("192.168.1.5", MasterAddress("192.168.1.5", "192.168.1.5")),
        ("fd00::5", MasterAddress("fd00::5", "[fd00::5]")),
        (None, None),
        ("", None),
        ("train-0.train", None),
        ("192.168.1.5:29500", None),
        ("192.168.1.5/24", None),
        (" 192.168.1.5", None),
        ("192.168.001.5", None),
        ("[fd00::5]", None),
        ("fe80::1%net1", None),
        ("fe80::1%$(reboot)", None),
        ("192.168.1.5\n", None),
    ],
)
def test_believes_addresses_only(text: str | None, want: MasterAddress | None) -> None:
    assert read_address(text) == want


def test_keeps_name_and_the_labels_of_a_namespace_that_are_read() -> None:
    read = {
        "fabric-injector.io/profile": "shared",
        "fabric-injector.io/mode": "observe",
        "pod-security.kubernetes.io/enforce": "baseline",
        "istio-injection": "enabled",
        "istio.io/rev": "stable",
    }
    labels = {"a": "b", **read, **{f"k{number}": "" for number in range(1000)}}
    metadata = {"name": "ml", "labels": labels, "annotations": {"x": "y"}, "managedFields": [{}]}
    assert read_namespace({"metadata": metadata}) == Namespace("ml", read, {})
    assert read_namespace({"metadata": {"name": "ml", "labels": None}}) == Namespace("ml", {}, {})
