"""Every kind gives its pods (shown.yaml), or says why it gives none (ignored.yaml)."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.cases import each_row, find, names, rows
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise

ROWS = rows("shown", "names", "replicas", "sources")
SHOWN: dict[str, tuple[Object, list[str]]] = {
    title: (row["manifest"], row["names"]) for title, row in ROWS.items()
}
IGNORED = rows("ignored", "says", "source", "broken")


@each_row(ROWS)
def test_shows_rank_zero_and_one_other(row: Object) -> None:
    found = find(row["manifest"])
    told = [each.message for each in found.ignored]
    assert [each for each in told if "is shown with the one that Trainer ships" not in each] == []
    assert names(found) == row["names"]
    assert [each.replicas for each in found.pods] == row.get("replicas", [1] * len(found.pods))
    assert [each.source for each in found.pods] == row.get(
        "sources", [each.source for each in found.pods]
    )


@each_row(IGNORED)
def test_says_why_an_object_gives_no_pod(row: Object) -> None:
    found = find(row["manifest"])
    assert found.pods == ()
    [ignored] = found.ignored
    assert ignored.source == row.get("source", "/".join(row.get("of", "").split()[1:]))
    assert row["says"] in ignored.message
    assert ignored.broken is row.get("broken", True)


@pytest.mark.parametrize("field", ["kind", "name"])
def test_says_that_a_name_is_too_long(field: str) -> None:
    long = {"kind": {"kind": "x" * 254}, "name": {"kind": "Job", "metadata": {"name": "x" * 254}}}
    [ignored] = find(long[field]).ignored
    assert ignored.message == f"its {field} has 254 characters, and Kubernetes takes 253"
    assert (ignored.source, ignored.broken) == ("document 1", True)


@pytest.mark.parametrize(
    "kind", ["RayCluster", "RayJob", "RayService", "MPIJob", "MPIJob v1", "TFJob"]
)
def test_makes_pods_of_systems_without_a_process_group_that_are_recognised(kind: str) -> None:
    for each in find(SHOWN[kind][0]).pods:
        member = recognise(each.pod)
        assert isinstance(member, TrainingPod)
        assert member.rendezvous is None
