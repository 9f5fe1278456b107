"""How jobs meet whose commands do more with rank 0's name, whose rank 0 comes late, or is left alone: all are started at once.

A job in which shells do something else is a line of ROWS.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

import pytest

from tests import pods as fixtures
from tests.cluster.client import Client
from tests.cluster.node import jobs
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod, create
from tests.cluster.webhook import Webhook
from tests.waiting import wait_until
from webhook.core import names, podspec
from webhook.core.model import Object

from .conftest import Figures
from .test_jobs import assert_on_the_fabric

pytestmark = pytest.mark.usefixtures("controller")
TORCHRUN = "torchrun --nnodes=2 --node_rank=$R --master_addr=$MASTER_ADDR train.py"


class Row(NamedTuple):
    """A job of two pods, and the texts that bash runs on rank 0 and, where they differ, on the worker.

    *keeps_name*: MASTER_ADDR stays as it was written; else it becomes rank 0's address on the fabric.
    """

    system: str
    rank_zero: str
    worker: str = ""
    keeps_name: bool = True


ROWS = {
    "the pod's name is compared with rank 0's": Row(
        "statefulset", f'[ "$POD_NAME" = "${{MASTER_ADDR%%.*}}" ] && R=0 || R=1; {TORCHRUN}'
    ),
    "the hostname is compared with the first label of rank 0's name": Row(
        "jobset",
        f'H=${{MASTER_ADDR%%.*}}; if [[ $HOSTNAME == "$H" ]]; then R=0; else R=1; fi; {TORCHRUN}',
    ),
    "rank 0's name is a case": Row(
        "pytorchjob", f'case $MASTER_ADDR in "$HOSTNAME"*) R=0 ;; *) R=1 ;; esac; {TORCHRUN}'
    ),
    "rank 0's name is looked up until it is known": Row(
        "statefulset",
        f'until nslookup "$MASTER_ADDR"; do sleep 1; done; R=${{HOSTNAME##*-}}; {TORCHRUN}',
    ),
    "rank 0's name is looked up under another variable": Row(
        "jobset",
        f"H=$MASTER_ADDR; until getent hosts $H; do sleep 1; done; R=$JOB_COMPLETION_INDEX; {TORCHRUN}",
    ),
    "rank 0 tokenizes alone first": Row(
        "pytorchjob",
        "torchrun --standalone --nnodes=1 --nproc_per_node=1 train.py && torchrun train.py",
        "torchrun train.py",
        keeps_name=False,
    ),
}
RANK_ZERO_ON_THE_HOST = "rank 0 is on the node's network"
ROLES_IN_ORDER = "the leader's role starts last"


def manifests(name: str) -> list[Object]:
    """Give the pods of a job, rank 0 first."""
    if name in ROWS:
        return jobs.shells(ROWS[name].system, ROWS[name].rank_zero, ROWS[name].worker)
    if name == RANK_ZERO_ON_THE_HOST:
        master, worker = jobs.shells("pytorchjob", "sleep 600", "torchrun train.py")
        master["spec"]["hostNetwork"] = True
        return [master, worker]
    return jobset_of_two_roles()


def jobset_of_two_roles() -> list[Object]:
    """Give the only pod of role driver, whose command calls itself localhost, and that of role workers, which names the driver."""
    pods: list[Object] = []
    for rank, role in enumerate(("driver", "workers")):
        pod = json.loads(
            json.dumps(jobs.shells("jobset", f"R={rank}; {TORCHRUN}")[0]).replace(
                "ddp-workers", f"ddp-{role}"
            )
        )
        for marks in (pod["metadata"]["labels"], pod["metadata"]["annotations"]):
            del marks["jobset.sigs.k8s.io/coordinator"]
            marks |= {
                "jobset.sigs.k8s.io/replicatedjob-name": role,
                "jobset.sigs.k8s.io/global-replicas": "2",
            }
        fixtures.drop_env(pod, "MASTER_ADDR")
        fixtures.add_env(pod, "MASTER_ADDR", "ddp-driver-0-0.ddp" if rank else "localhost")
        pods.append(pod)
    return pods


@pytest.fixture(scope="module")
def begun(node: Node, webhook: Webhook) -> Iterator[dict[str, list[Pod]]]:
    """Start all jobs, each in a namespace of its own; of the one whose leader starts last, only the worker."""
    started = {}
    for name in (ROLES_IN_ORDER, RANK_ZERO_ON_THE_HOST, *ROWS):
        namespace = node.control_plane.create_namespace(
            f"test-{uuid4().hex[:8]}", {names.PROFILE: "rdma-shared"}
        )
        pods = manifests(name)
        started[name] = jobs.start_pods(
            node.api, pods[1:] if name == ROLES_IN_ORDER else pods, namespace
        )
    yield started
    for group in started.values():
        node.end_pods(group[0].namespace)


@pytest.mark.parametrize("name", ROWS)
def test_a_command_runs_as_before_and_trains_on_the_fabric(
    begun: dict[str, list[Pod]], name: str
) -> None:
    """Exactly one member takes rank 0, all meet at what MASTER_ADDR says, and no text is changed."""
    pods = begun[name]
    reports = [pod.report() for pod in pods]
    assert [report.train["rank"] for report in reports] == [0, 1]
    interface = "eth0" if ROWS[name].keeps_name else "net1"
    (address,) = reports[0].train["addresses"][interface]
    for manifest, report in zip(manifests(name), reports, strict=True):
        container = manifest["spec"]["containers"][0]
        assert report.pod.created["spec"]["containers"][0]["command"] == container["command"]
        written = podspec.env_value(container, "MASTER_ADDR")
        expected = written if ROWS[name].keeps_name else address
        assert (
            report.environment["MASTER_ADDR"]
            == report.train["environment"]["MASTER_ADDR"]
            == expected
        )
        assert report.train["store"] == address
        assert_on_the_fabric(report)


def test_a_worker_whose_leader_starts_only_after_it_is_given_the_leaders_name(
    api: Client, begun: dict[str, list[Pod]], figures: Figures
) -> None:
    """As a JobSet with startupPolicyOrder InOrder or dependsOn: the leader's pod is made once the worker runs."""
    (worker,) = begun[ROLES_IN_ORDER]
    name = worker.environment()["MASTER_ADDR"]
    assert name == worker.annotation(names.MASTER_ADDR) == "ddp-driver-0-0.ddp"
    leader = create(api, jobset_of_two_roles()[0], worker.namespace)
    reports = [pod.report() for pod in (leader, worker)]
    assert [report.train["rank"] for report in reports] == [0, 1]
    for report, host in zip(reports, ("localhost", name), strict=True):
        assert report.train["environment"]["MASTER_ADDR"] == host
        assert_on_the_fabric(report)
    figures.append(
        f"no leader: worker starts {reports[1].seconds_to_start():.0f} s after creation, by name"
    )
    events = f"/api/v1/namespaces/{worker.namespace}/events?fieldSelector=reason%3DMeetsByName"
    wait_until(lambda: api.expect("GET", events)["items"], "an Event that says so", 30)
    (told,) = api.expect("GET", events)["items"]
    assert "ddp-driver-0-0, has no live pod" in told["message"]


def test_the_wait_for_a_rank_zero_that_is_left_alone_ends_with_the_cause(
    begun: dict[str, list[Pod]],
) -> None:
    """No address of it will ever come: the worker's status says so, in place of a wait for half an hour."""
    master, worker = begun[RANK_ZERO_ON_THE_HOST]
    ended = worker.wait(lambda pod: pod["status"]["phase"] == "Failed", "the end of its wait")
    (wait,) = [
        one
        for one in ended["status"]["initContainerStatuses"]
        if one["name"] == names.WAIT_CONTAINER
    ]
    assert wait["state"]["terminated"]["exitCode"] == 75
    cause = worker.annotation(names.WAIT_ENDS)
    assert cause in wait["state"]["terminated"]["message"]
    assert master.name in cause
    assert "the node's network" in cause
    assert master.get()["status"]["phase"] == "Running", "what is left alone runs"
