"""``fabric-injector status``: all jobs in one table, by the judgement of `explain`."""

import json
import sys
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.diagnose.connection import HostileConnection
from tests.diagnose.explain.test_screens import SCENES, WELL
from tests.diagnose.scenes import PROFILES, SPACE, Scene, ago, event, workload
from tests.profiles import as_text
from webhook.cli import main
from webhook.cli import status as command
from webhook.cli.printing import Listing, print_listing
from webhook.core import names
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.diagnose.finding import Finding
from webhook.diagnose.jobs import find_jobs
from webhook.diagnose.status import JobStatus, look_at_all

CONFIG = json.dumps({"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "whereabouts"}})
RENEWED = {"holderIdentity": "c-1", "leaseDurationSeconds": 15, "renewTime": ago(seconds=2)}
LEASE: Object = {
    "metadata": {"name": "fabric-injector", "namespace": "fabric-injector"},
    "spec": RENEWED,
}


def looked(*scenes: Scene, **changes: Any) -> list[JobStatus]:
    """Return what `status` finds in a cluster of these jobs."""
    whole = copy(scenes[0])
    whole.events = [each for scene in scenes for each in scene.events]
    whole.workloads = [each for scene in scenes for each in scene.workloads]
    vars(whole).update(changes)
    pods = (pod for scene in scenes for pod in scene.pods.values())
    return look_at_all(whole.snapshot, find_jobs(pods))


def first(*scenes: Scene, **changes: Any) -> Finding:
    """Return the first finding of the only job."""
    [job] = looked(*scenes, **changes)
    assert job.first is not None
    return job.first


def second(scene: Scene) -> Scene:
    """Return the same job under another name."""
    text = json.dumps(scene.pods)
    for old, new in (("bert", "albert"), ('"uid-', '"uid-b'), ("3f0c7f2e", "4f0c7f2e")):
        text = text.replace(old, new)
    pods = json.loads(text)
    found = recognise(pods["albert-master-0"])
    assert isinstance(found, TrainingPod)
    assert found.rendezvous is not None
    key = pods["albert-master-0"]["metadata"]["labels"][names.JOB]
    pods = json.loads(text.replace(key, found.rendezvous.job))
    other = Scene(0)
    other.pods = pods
    return other


def test_a_job_that_is_well() -> None:
    [job] = looked(Scene())
    assert job.cells() == (SPACE, "bert", "Running", "4", "-", "192.168.0.1")
    assert (job.first, job.is_failing) == (None, False)


def waits(scene: Scene) -> None:
    for worker in scene.workers:
        scene.wait(worker, ago(minutes=3))


def was_not_injected(scene: Scene) -> None:
    scene.pods = {name: scene.created(number) for number, name in enumerate(scene.pods)}


def is_not_indexed(scene: Scene) -> None:
    """A Job's pods have GPUs, start torchrun and have no rank, which looks like a mistake."""
    scene.pods = {"bert-x7k2p": scene.created(1)}
    pod = scene.pods["bert-x7k2p"]
    owner: Object = {"apiVersion": "batch/v1", "kind": "Job", "name": "bert", "uid": "u-job"}
    owner["controller"] = True
    labels = {"batch.kubernetes.io/job-name": "bert", "batch.kubernetes.io/controller-uid": "u-job"}
    pod["metadata"] |= {"name": "bert-x7k2p", "ownerReferences": [owner], "labels": labels}
    pod["spec"]["containers"][0] |= {"command": ["torchrun", "--nnodes=2", "train.py"], "env": []}


def loses_rank_zero(scene: Scene) -> None:
    scene.pods.pop("bert-master-0")


def is_refused(scene: Scene) -> None:
    webhook = 'admission webhook "pods.fabric-injector.io" denied the request'
    message = f"Error creating: {webhook}: pod bert-worker-2: no network"
    scene.events.append(event("PyTorchJob", "bert", "FailedCreatePod", message, at=ago(seconds=1)))


def is_gated_by_kueue(scene: Scene) -> None:
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    text = "couldn't assign flavors to pod set main: resource rdma/hca unavailable in ClusterQueue"
    scene.workloads.append(workload(("QuotaReserved", "False", "Pending", text)))


@pytest.mark.parametrize("name", sorted(SCENES.keys() - {*WELL, "wait-over"}))
def test_tells_what_explain_tells_first(name: str) -> None:
    scene = SCENES[name]()
    expected = scene.explained.findings[0]
    found = first(scene)
    assert (found.level, found.code) == (expected.level, expected.code)
    assert (found.message, found.action) == (expected.message, expected.action)


def test_puts_jobs_in_trouble_first_and_leaves_out_those_that_are_over() -> None:
    well, scene = Scene(), second(Scene())
    for pod in scene.pods.values():
        pod["status"]["phase"] = "Failed"
    assert [job.name for job in looked(well, scene)] == ["bert"]
    broken = second(Scene())
    for name in [name for name in broken.pods if name.endswith("master-0")]:
        broken.pods.pop(name)
    found = looked(well, broken)
    assert [(job.name, job.is_failing) for job in found] == [("albert", True), ("bert", False)]


def test_leaves_out_what_asks_for_no_profile() -> None:
    scene = Scene()
    was_not_injected(scene)
    assert looked(scene, labels={}) == []
    assert len(looked(scene, labels={names.PROFILE: "shared"})) == 1
    assert len(looked(scene, refused={"namespaces"})) == 1, "the labels are not known"


@pytest.mark.parametrize(
    ("labels", "container"),
    [
        ({}, {"command": ["jupyter", "lab"]}),
        ({}, {"command": ["torchrun", "--standalone", "train.py"]}),
        ({}, {"resources": {}}),
        ({names.PROFILE: names.PROFILE_NONE}, {}),
    ],
    ids=["starts no launcher", "on one node", "without a GPU", "opted out"],
)
def test_leaves_out_what_does_not_look_as_if_it_trained(labels: Object, container: Object) -> None:
    scene = Scene()
    is_not_indexed(scene)
    [pod] = scene.pods.values()
    pod["metadata"]["labels"] |= labels
    pod["spec"]["containers"][0] |= container
    assert looked(scene) == []


def test_an_owner_that_can_create_no_pod() -> None:
    scene = Scene()
    is_refused(scene)
    scene.events[0]["involvedObject"]["name"] = "roberta"
    scene.events.append(event("ReplicaSet", "web", "FailedCreate", "exceeded quota: x"))
    found = looked(scene)
    assert [(job.name, job.members, job.is_failing) for job in found] == [
        ("roberta", 0, True),
        ("bert", 4, False),
    ]
    assert found[0].first is not None
    assert found[0].first.message == "a pod of it was refused: pod bert-worker-2: no network"
    assert [job.name for job in looked(scene, labels={})] == ["bert"]
    scene.events[:] = [
        event("Pod", "other-0", "FailedCreatePodSandBox", "no network", source="kubelet")
    ]
    assert [job.name for job in looked(scene)] == ["bert"], "a pod is no owner"


def test_a_job_that_kueue_has_not_let_make_a_pod() -> None:
    scene, other = Scene(), second(Scene())
    text = "couldn't assign flavors to pod set worker: insufficient unused quota, 16 more needed"
    waiting = ("QuotaReserved", "False", "Pending", text)
    other.workloads.append(workload(waiting, owner=("PyTorchJob", "roberta")))
    admitted = ("QuotaReserved", "True", "QuotaReserved", ""), ("Admitted", "True", "Admitted", "")
    other.workloads += [
        workload(*admitted, owner=("PyTorchJob", name)) for name in ("bert", "begun")
    ]
    other.workloads.append(workload(waiting, owner=("Pod", "a-pod-of-a-group")))
    found = looked(scene, other)
    assert [(job.name, job.members, job.is_failing) for job in found] == [
        ("roberta", 0, True),
        ("albert", 4, False),
        ("bert", 4, False),
    ]
    assert found[0].first is not None
    assert (found[0].first.code.name, text in found[0].first.message) == ("kueue-waiting", True)
    unlabelled = looked(scene, other, labels={})
    assert [job.name for job in unlabelled] == ["albert", "bert"], "nobody asks for a profile there"


def test_a_job_that_volcano_has_not_let_make_a_pod() -> None:
    scene = Scene()
    group = "roberta-3f0c7f2e-1c1f-4a6e-9c3a-0f0e2f1b2c3d"
    scene.events.append(event("PodGroup", group, "Unschedulable", "queue team is full"))
    [waiting, _] = looked(scene)
    assert (waiting.name, waiting.members, waiting.is_failing) == ("roberta", 0, True)


def test_lists_the_workloads_of_kueue_where_it_is_installed(profiles: Path) -> None:
    scene = Scene()
    is_gated_by_kueue(scene)
    connection = cluster(scene)
    group = {"preferredVersion": {"groupVersion": "kueue.x-k8s.io/v1beta1"}}
    arguments = ("-A", "--profiles", str(profiles), "-o", "json")

    def problems() -> list[str]:
        read = json.loads(invoke(connection, *arguments).stdout)
        assert read["jobs"][0]["first"]["code"] == "scheduling-gated"
        told = read["jobs"][0]["first"]["message"]
        found = [each["problem"] for each in read["unread"] if each["what"] == "workloads"]
        assert found or "resource rdma/hca unavailable in ClusterQueue" in told
        return found

    [absent] = problems()
    assert "this cluster serves no kueue.x-k8s.io, and a pod has its gate" in absent
    connection.objects["/apis/kueue.x-k8s.io"] = group
    [without] = problems()
    assert "/apis/kueue.x-k8s.io/v1beta1 serves no workloads" in without
    connection.objects["/apis/kueue.x-k8s.io/v1beta1/workloads"] = scene.workloads
    assert problems() == []
    connection.spoil = lambda request, *answer: (
        (403, b"{}") if request.endswith("/workloads") else answer
    )
    [refused] = problems()
    assert "answered 403" in refused


def test_without_events_the_pods_tell() -> None:
    scene = Scene()
    waits(scene)
    [job] = looked(scene, refused={"events"})
    assert job.is_failing


NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"


def cluster(*scenes: Scene) -> HostileConnection:
    objects: dict[str, Any] = {
        "/api/v1/pods": [pod for scene in scenes for pod in scene.pods.values()],
        "/api/v1/namespaces": [{"metadata": {"name": SPACE, "labels": scenes[0].labels}}],
        "/api/v1/nodes": scenes[0].nodes,
        "/api/v1/events": [each for scene in scenes for each in scene.events],
        f"{NETWORKS}/rdma-net": scenes[0].networks["default", "rdma-net"],
        "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector": LEASE,
    }
    return HostileConnection(objects, SPACE)


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.yaml"
    path.write_text(as_text(PROFILES))
    return path


def invoke(connection: HostileConnection, *arguments: str, **env: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "connect_to_cluster", lambda: connection)
        # as on a terminal, where click passes on what begins with an escape
        return CliRunner().invoke(
            main, ["status", *arguments], env={"NO_COLOR": "1", **env}, color=True
        )


def test_the_table_and_the_document(profiles: Path) -> None:
    scene = Scene()
    loses_rank_zero(scene)
    connection = cluster(scene, second(Scene()))
    result = invoke(connection, "-A", "--profiles", str(profiles))
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["NAMESPACE", "JOB", "PHASE", "MEMBERS", "FINDING"]
    assert lines[1].startswith("research   bert    Running  3/4      fail job")
    wide = invoke(connection, "-A", "--profiles", str(profiles), "-o", "wide").stdout
    head = ["NAMESPACE", "JOB", "PHASE", "MEMBERS", "WAITS", "ADDRESS", "FINDING"]
    assert wide.splitlines()[0].split() == head
    assert "fail job bert-" in lines[1]
    assert "has no rank-0 pod" in lines[1]
    assert lines[2].split()[:3] == ["research", "albert", "Running"]
    assert lines[-1].startswith("code: rank-zero-missing; for details: ")
    assert result.exit_code == 1
    document = json.loads(
        invoke(connection, "-A", "--profiles", str(profiles), "-o", "json").stdout
    )
    assert document["summary"] == {"jobs": 2, "failing": 1}
    assert document["jobs"][0]["first"]["code"] == "rank-zero-missing"
    assert document["jobs"][1]["first"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-A", "-o", "table"), "Invalid value for '-o'"),
        (("-A", "--profiles", "/absent.yaml"), "/absent.yaml: cannot be read"),
    ],
)
def test_refuses(arguments: tuple[str, ...], told: str) -> None:
    result = invoke(cluster(Scene()), *arguments)
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr


def test_says_that_there_is_no_job(profiles: Path) -> None:
    scene = Scene()
    scene.pods = {}
    result = invoke(cluster(scene), "-A", "--profiles", str(profiles))
    assert result.exit_code == 0
    told = "no live job in any namespace is injected, or trains where a profile is asked for"
    assert told in result.stdout


def test_a_job_that_has_ended_is_no_live_one(profiles: Path) -> None:
    scene = Scene()
    for pod in scene.pods.values():
        pod["status"]["phase"] = "Succeeded"
    connection = cluster(scene)
    result = invoke(connection, "-A", "--profiles", str(profiles))
    assert result.exit_code == 0
    assert "no live job in any namespace is injected" in result.stdout


def test_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = ("research", "bert", "Running", "3/4", "fail job bert-0f: has no rank-0 pod " + 40 * "x")
    listing = Listing(("NAMESPACE", "JOB", "PHASE", "MEMBERS", "FINDING"), [row], (), {})
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    for columns in (80, 100, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_listing(listing, None, no_headers=False)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= columns
        assert "fail job bert" in lines[1]
    monkeypatch.delenv("NO_COLOR")
    print_listing(listing, "wide", no_headers=True)
    assert f"\x1b[31mfail\x1b[0m{row[-1][4:]}\n" in capsys.readouterr().out


def watch(
    connection: HostileConnection,
    profiles: Path,
    *between: Callable[[], None],
    output: str = "wide",
) -> tuple[Result, list[float]]:
    """Run --watch; do one thing after each look, then press Ctrl-C. Return its rests too."""
    rests: list[float] = []
    left = list(between)

    def sleep(seconds: float) -> None:
        rests.append(seconds)
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "sleep", sleep)
        return invoke(connection, "-A", "--watch", "--profiles", str(profiles), "-o", output), rests


def test_a_watch_tells_changes_and_ends_with_the_last_look(profiles: Path) -> None:
    scene = Scene()
    connection = cluster(scene)
    pods = connection.objects["/api/v1/pods"]
    between = (lambda: None, lambda: pods.remove(scene.master), pods.clear)
    result, _ = watch(connection, profiles, *between, output="json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["name"], (line.get("first") or {}).get("code")) for line in lines[:2]] == [
        ("bert", None),
        ("bert", "rank-zero-missing"),
    ], "nothing changed between the first look and the second"
    assert result.exit_code == 0, "no job is left"
    result, _ = watch(cluster(scene), profiles)
    assert result.exit_code == 0


def test_a_watch_goes_on_while_the_api_server_is_away(profiles: Path) -> None:
    scene = Scene()
    loses_rank_zero(scene)
    connection = cluster(scene)
    answers = connection.spoil

    def goes_away() -> None:
        connection.spoil = lambda _path, _status, _body: (503, b"later")

    def comes_back() -> None:
        connection.spoil = answers

    result, rests = watch(connection, profiles, goes_away, comes_back)
    assert (result.exit_code, len(rests)) == (1, 3)
    goes_away()
    result, rests = watch(connection, profiles)
    assert (result.exit_code, rests) == (2, []), "a watch that cannot begin ends"
    assert "answered 503" in result.stderr


def test_a_watch_rests_nine_times_as_long_as_it_looks(
    profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((0.0, 0.5, 100.0, 103.0))
    monkeypatch.setattr(command, "monotonic", lambda: next(clock))
    _, rests = watch(cluster(Scene()), profiles, lambda: None)
    assert rests == [10.0, 27.0]


def test_programs_read_null_for_what_is_not_known() -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        scene.unschedule(pod, "0/2 nodes are available: 2 Insufficient rdma/hca.")
        environment = pod["spec"]["containers"][0]["env"]
        environment[:] = [
            each for each in environment if each["name"] not in ("PET_NNODES", "WORLD_SIZE")
        ]
    [job] = [each.as_json() for each in looked(scene)]
    absent = ("expected", "waits_seconds", "address")
    assert {key: job[key] for key in absent} == dict.fromkeys(absent)
