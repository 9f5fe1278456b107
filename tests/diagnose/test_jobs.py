"""What a job is: which pods are of one, by what name people find it, and which kinds there are."""

from __future__ import annotations

import pytest

from tests.diagnose.connection import HostileConnection
from tests.diagnose.scenes import SPACE, Scene, cluster_of
from tests.pods import load
from tests.tables import cases
from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.diagnose.explain.job import Target, read_job
from webhook.diagnose.jobs import find_jobs, find_kind, title
from webhook.diagnose.snapshot import Snapshot

GROUP = "leaderworkerset.sigs.k8s.io/group-index"
LWS = "leaderworkerset.sigs.k8s.io/name"


def pod(
    name: str, owner: str = "", uid: str = "", *, key: str = "", kind: str = "Job", **labels: str
) -> Object:
    """Return a pod that the webhook injected where it has a *key*; ``k0``: as rank 0 of key k."""
    if key:
        role = "master" if key.endswith("0") else "worker"
        labels |= {names.JOB: key.rstrip("0"), names.RENDEZVOUS: role}
    metadata: Object = {"name": name, "namespace": SPACE, "uid": name, "labels": labels}
    metadata["annotations"] = {names.STATUS: "{}"} if key else {}
    if owner:
        references = {"kind": kind, "name": owner, "uid": uid or owner, "controller": True}
        metadata["ownerReferences"] = [references]
    return {"metadata": metadata, "spec": {"containers": [{"name": "m"}]}, "status": {}}


def ended(made: Object) -> Object:
    return {**made, "status": {"phase": "Failed"}}


def cluster(*pods: Object) -> HostileConnection:
    """Return an API server that holds these pods alone."""
    scene = Scene(0)
    scene.pods = {each["metadata"]["name"]: each for each in pods}
    return cluster_of(scene)


def explained(connection: HostileConnection, written: str) -> list[str]:
    """Return the pods of what ``explain`` takes by this target."""
    kind, _, name = written.partition("/")
    of_kind = find_kind(kind)
    target = Target("selector" if kind == "-l" else "job", name, of_kind, kind if of_kind else "")
    return [each.name for each in read_job(Snapshot(connection, SPACE), target).pods]


@pytest.mark.parametrize(
    ("fixture", "written", "name"),
    [
        ("kubeflow-pytorchjob-1", "pytorchjob", "bert"),
        ("kubeflow-pytorchjob-1", "pytorchjobs.v1.kubeflow.org", "bert"),
        ("kubedl-pytorchjob-1", "pytorchjobs", ""),
        ("volcano-pytorch-1", "volcanojob", ""),
        ("volcano-pytorch-1", "jobs.batch.volcano.sh", ""),
        ("torchx-volcano-1", "vcjob", "trainer-d4q9zxk1tw"),
        ("jobset-1", "JobSet", ""),
        ("kubeflow-trainer-1", "trainjob", ""),
        ("lws-1", "lws", ""),
        ("indexed-job-1", "job.batch", ""),
        ("statefulset-1", "sts", "ddp"),
        ("mpijob-launcher", "mpijob", "hvd"),
        ("mpijob-worker-1", "mpijob", "hvd"),
        ("grove-1", "pcs", "train"),
        ("stormservice-1", "stormservices", "llm"),
        ("torch-on-k8s-1", "torchjob", ""),
    ],
)
def test_a_job_is_found_by_its_name_and_by_its_kind_as_kubectl_writes_it(
    fixture: str, written: str, name: str
) -> None:
    member = load(f"pods/{fixture}.yaml")
    member["metadata"] |= {"namespace": SPACE, "uid": "u"}
    own = member["metadata"].setdefault("name", "member-1")
    name = name or title(member)
    others = [pod(f"other-{each}", name, each, kind=each) for each in ("DaemonSet", "CronJob")]
    assert explained(cluster(member, *others), f"{written}/{name}") == [own]
    assert own in explained(cluster(member, pod("other", "other")), f"job/{name}")


@pytest.mark.parametrize(
    ("written", "found"),
    [("pytorchjob", ["a-0"]), ("job.batch", ["a-1"]), ("vj", []), ("job", None)],
)
def test_of_two_kinds_of_one_name_the_one_that_is_asked_for_is_meant(
    written: str, found: list[str] | None
) -> None:
    label = "training.kubeflow.org/job-name"
    pods = [
        pod("a-0", "a", "u1", kind="PyTorchJob", **{label: "a"}),
        pod("a-1", "a", "u2", kind="Job", **{"batch.kubernetes.io/job-name": "a"}),
    ]
    pods[1]["metadata"]["ownerReferences"][0]["apiVersion"] = "batch/v1"
    if found:
        assert explained(cluster(*pods), f"{written}/a") == found
        return
    with pytest.raises(InputError, match="has no such pod" if found == [] else "2 jobs are named"):
        explained(cluster(*pods), f"{written}/a")


def written(word: str) -> Object:
    """Return a pod of ``name/owner/uid/key/group``, of which the last may be left out."""
    name, owner, uid, key, group = (*word.split("/"), "", "", "", "")[:5]
    labels = {LWS: "l", GROUP: group} if group else {}
    return pod(name, owner, uid, key=key, **labels)


@pytest.mark.parametrize(
    ("pods", "jobs"),
    cases("""
one key | a/t//k0 b/t//k | t=ab
a key without followers | a/t//k0 b/t//k c/t//l0 | t=abc
two keys | 0/t//k0 1/t//k 2/t//l0 3/t//l 4/t//m0 e/t | k=014e l=23
two owners | a/t/u1/k b/t/u2/k | t=ab
no owner | a b | a=a b=b
LWS groups | a/l///0 b/l-1///1 c/l-1///1 | l=abc
"""),
)
def test_pods_of_one_owner_are_one_job_unless_several_keys_have_followers(
    pods: str, jobs: str
) -> None:
    found: dict[str, str] = {}
    for job in find_jobs(map(written, pods.split())):
        members = "".join(each["metadata"]["name"] for each in job.pods)
        found[job.name] = found.get(job.name, "") + members
    assert " ".join(f"{name}={members}" for name, members in found.items()) == jobs


def test_a_selector_or_a_pod_may_be_asked_for() -> None:
    made = [pod("a-0", "a", key="k0", team="x"), pod("a-1", "a", key="k")]
    assert explained(cluster(*made), "-l/team=x") == ["a-0"]
    asked = read_job(Snapshot(cluster(*made), SPACE), Target("pod", "a-1"))
    assert (asked.focus, [each.name for each in asked.pods]) == ("a-1", ["a-1"])


def test_of_several_runs_of_one_name_the_live_one_is_meant_else_the_newest() -> None:
    label = "training.kubeflow.org/job-name"
    made = [pod(f"a-{n}", "a", f"u{n}", key=f"k{n}1", **{label: "a"}) for n in range(2)]
    for number, each in enumerate(made):
        each["metadata"]["creationTimestamp"] = f"2026-11-2{number}T00:00:00Z"
    old, new = made
    with pytest.raises(InputError, match=r"2 jobs are named so; name one by its key:\n  job/k01:"):
        explained(cluster(old, new), "job/a")
    assert explained(cluster(old, new), "job/k11") == ["a-1"]
    assert explained(cluster(old, ended(new)), "job/a") == ["a-0"]
    assert explained(cluster(ended(old), ended(new)), "job/a") == ["a-1"]
