"""The pods of a LeaderWorkerSet, and the variables that it gives them."""

from __future__ import annotations

from tests.dry_run.templates.kinds import container, env, find, template, workload


def test_wraps_what_the_user_set_after_the_variables_of_leaderworkerset() -> None:
    own = [
        {"name": "LWS_GROUP_SIZE", "value": "9"},
        {"name": "A", "value": "$(LWS_LEADER_ADDRESS)"},
    ]
    both = {
        "size": 2,
        "leaderTemplate": template(container("l")),
        "workerTemplate": template(container("w", env=own)),
    }
    spec = {"leaderWorkerTemplate": both, "networkConfig": {"subdomainPolicy": "UniquePerReplica"}}
    leader, worker = (
        each.pod
        for each in find(workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "m", spec)).pods
    )
    assert [entry["name"] for entry in worker["spec"]["containers"][0]["env"]] == [
        "LWS_LEADER_ADDRESS",
        "LWS_GROUP_SIZE",
        "LWS_WORKER_INDEX",
        "A",
    ]
    assert env(leader, "LWS_LEADER_ADDRESS") == "m-0.m-0.train"
    assert env(worker, "LWS_GROUP_SIZE") == "2"
    assert leader["spec"]["containers"][0]["name"] == "l"
