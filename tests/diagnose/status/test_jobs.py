"""The jobs of `status`: whose pods they are, and how those of one owner are told apart."""

from __future__ import annotations

import pytest

from webhook.core import names
from webhook.diagnose.status.jobs import KeptPod, ended_jobs, find_jobs

LABELS = {"ml": {names.PROFILE: "shared"}, "web": {}}


def pod(
    name: str, key: str = "", owner: str = "u-1", *, live: bool = True, injected: bool = True
) -> KeptPod:
    return KeptPod("ml", name, owner, "train", key, injected, False, live, True, b"{}")


@pytest.mark.parametrize(
    ("pods", "jobs"),
    [
        ([pod("a", "k1"), pod("b", "k1")], {"train": "ab"}),
        ([pod("a", "k1"), pod("b", "k1"), pod("c", "k2")], {"train": "abc"}),
        (
            [pod("a", "k1"), pod("b", "k1"), pod("c", "k2"), pod("d", "k2")],
            {"k1": "ab", "k2": "cd"},
        ),
        (
            [
                pod("a", "k1"),
                pod("b", "k1"),
                pod("c", "k2"),
                pod("d", "k2"),
                pod("e"),
                pod("f", "k3"),
            ],
            {"k1": "abef", "k2": "cd"},
        ),
        ([pod("a", "k1"), pod("b", "k1", "u-2")], {"k1": "ab"}),
        ([pod("a", injected=False), pod("b", owner="u-2", injected=False)], {}),
        ([pod("a"), pod("b", owner="u-2")], {"train": "ab"}),
        ([pod("a", live=False)], {}),
    ],
)
def test_pods_of_one_owner_are_told_apart_by_the_keys_that_several_share(
    pods: list[KeptPod], jobs: dict[str, str]
) -> None:
    found: dict[str, str] = {}
    for job in find_jobs(pods, LABELS):
        found[job.name] = found.get(job.name, "") + "".join(each.name for each in job.pods)
    assert found == jobs


def test_a_job_has_ended_where_an_injected_pod_of_it_was_and_none_lives() -> None:
    ended = pod("a", live=False)._replace(title="over")
    never = pod("b", owner="u-2", live=False, injected=False)
    again = [pod("c", owner="u-3", live=False), pod("d", owner="u-3")]
    assert ended_jobs([ended, never, *again]) == [("ml", "over")]
