"""What `explain` and `status` read of a cluster, and what they say of what they may not read."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests import ROOT
from tests.diagnose.check.cluster import answer, installed
from tests.diagnose.connection import HostileConnection
from tests.diagnose.scenes import SPACE, Scene, cluster_of, node
from tests.fake_apiserver import NAMESPACES, FakeApiServer, status
from tests.tables import cases
from webhook.cli import explain, main
from webhook.core import names
from webhook.core.errors import InputError, Unavailable
from webhook.diagnose.explain.job import Target, read_all, read_job
from webhook.diagnose.explain.nccl_log import PodLog
from webhook.diagnose.explain.pod_logs import choose_pods
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot

POD_LIST = f"GET /api/v1/namespaces/{SPACE}/pods"


def asked(connection: HostileConnection) -> Snapshot:
    """Return what is read of a job."""
    snapshot = Snapshot(connection, SPACE)
    read_job(snapshot, Target("job", "bert"))
    return snapshot


def unread(snapshot: Snapshot, what: str) -> list[str]:
    return [each.problem for each in snapshot.unread() if each.what == what]


@pytest.mark.parametrize(
    ("code", "error", "told"),
    [
        (403, InputError, f"no; explain reads pods in namespace {SPACE}: ask for it"),
        (503, Unavailable, "later"),
    ],
)
def test_pods_must_be_read(code: int, error: type[Exception], told: str) -> None:
    connection = cluster_of(Scene(1))
    answer(connection, {POD_LIST: (code, "no" if code == 403 else "later")})
    with pytest.raises(error, match=told):
        asked(connection)
    everywhere = cluster_of(Scene(1))
    answer(everywhere, {"GET /api/v1/pods": (code, "later")})
    told = "status lists pods in all namespaces: ask for it, or name" if code == 403 else "later"
    with pytest.raises(error, match=told):
        read_all(Snapshot(everywhere))


def test_one_broken_node_of_two_leaves_one_in_check_and_explain() -> None:
    cluster, job = installed(), cluster_of(Scene(1))
    broken = node("node-1")
    broken["metadata"]["labels"] = ["rdma/hca"]
    for connection in (cluster, job):
        connection.objects["/api/v1/nodes"] = [broken, node("node-2")]
    snapshot, reading = Snapshot(cluster), asked(job)
    assert len(snapshot.nodes()) == len(reading.nodes()) == 1
    problem = "is left out, since it cannot be read: metadata.labels is not an object"
    for found in (snapshot.unread(), reading.unread()):
        assert [(each.what, each.problem) for each in found] == [("nodes/node-1", problem)]


def test_settings_that_may_not_be_read_are_told_by_check_and_explain() -> None:
    path = f"GET /api/v1/namespaces/fabric-injector/configmaps/{names.CONFIG_MAP}"
    cluster, job = installed(), cluster_of(Scene(1))
    for connection in (cluster, job):
        answer(connection, {path: (403, "no")})
    snapshot = Snapshot(cluster)
    snapshot.profiles()
    assert {each.what for each in snapshot.unread()} == {"settings"}
    assert unread(asked(job), "settings")


def test_names_what_may_not_be_read_where_nothing_is_found() -> None:
    scene = Scene(0)
    scene.pods, scene.refused = {}, {"workloads"}
    with pytest.raises(InputError, match="neither\\), nor may Kueue's Workloads be read; name the"):
        asked(cluster_of(scene))
    with pytest.raises(InputError, match="-n other: there is no namespace of this name"):
        read_all(Snapshot(cluster_of(scene), "other"))


def test_goes_on_without_profiles() -> None:
    connection = cluster_of(Scene(1))
    path = "GET /apis/fabric-injector.io/v1alpha1/fabricprofiles"
    answer(connection, {path: (500, "broken")})
    reading = asked(connection)
    assert "cannot be read, so that part is unknown" in unread(reading, "profiles")[0]


# the command


def call(folder: Path, *arguments: str, server: FakeApiServer | None = None) -> Result:
    url = server.url if server else "https://127.0.0.1:1"
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "ml"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }
    (folder / "config").write_text(yaml.safe_dump(config))
    environ = {"KUBERNETES_SERVICE_HOST": "", "KUBECONFIG": str(folder / "config")}
    return CliRunner().invoke(main, ["explain", *arguments], env=environ)


@pytest.mark.parametrize(
    ("arguments", "told"),
    cases("""
nothing | | name what to explain: job NAME, pod NAME, or -l SELECTOR
bare | bert | or -l SELECTOR, found 'bert'
other kind | deployment x | 'deployment' is no kind of job: write job x, or one of: pytorchjob,
other group | vcjob.v1.batch/x | 'vcjob.v1.batch' is no kind of job
three words | job bert x | found 'job bert x'
no name | job/ | found 'job/'
both | job/bert -l a=b | not both
profiles | job/bert --profiles /absent | /absent
no server | job bert | GET /version
"""),
)
def test_says_what_is_wrong_with_the_command(tmp_path: Path, arguments: str, told: str) -> None:
    result = call(tmp_path, *arguments.split())
    assert result.exit_code == 2
    assert told in result.output
    assert "Traceback" not in result.output


def test_the_kubeconfigs_namespace_is_meant_where_none_is_named(
    tmp_path: Path, server: FakeApiServer
) -> None:
    def told() -> str:
        result = call(tmp_path, "pod/bert-0", server=server)
        assert result.exit_code == 2
        return result.output

    assert "pod/bert-0: namespace ml does not exist; name the job's namespace by -n" in told()
    server.put(NAMESPACES, "ml")
    lack = "no Event of an owner of that name (a suspended job has neither)"
    nothing = "pod/bert-0: namespace ml has no such pod, and"
    assert f"{nothing} {lack}; name the job's namespace by -n" in told()
    server.misbehave("get", "/api/v1/namespaces/ml/events", status(403, "no such right"))
    assert f"{nothing} its Events may not be read; name" in told()


# logs


def printing(scene: Scene, **printed: tuple[int, str]) -> HostileConnection:
    """Return a cluster whose pods answer so for their logs; a name of a fixture is its text."""
    connection = cluster_of(scene)
    plain = dict(printed)

    def spoil(request: str, status: int, body: bytes) -> tuple[int, bytes]:
        name = request.removesuffix("/log").rpartition("/")[2].replace("-", "_")
        if not request.endswith("/log") or name not in plain:
            return status, body
        status, text = plain[name]
        file = ROOT / "tests/fixtures/nccl" / f"{text}.log"
        return status, file.read_bytes() if file.exists() else text.encode()

    connection.spoil = spoil
    return connection


def logs(connection: HostileConnection, snapshot: Snapshot | None = None) -> dict[str, PodLog]:
    """Return what is read of the logs of a job."""
    read = read_job(snapshot or Snapshot(connection, SPACE), Target("job", "bert"), logs=True)
    return dict(read.logs or {})


def of_logs(connection: HostileConnection) -> list[str]:
    found = (each.removeprefix(f"{POD_LIST}/") for each in connection.asked)
    return [each.removesuffix("/log") for each in found if each.endswith("/log")]


ROCE = (200, "2.21-roce")


def test_each_pod_is_asked_for_the_beginning_of_its_training_container() -> None:
    connection = printing(Scene(1), bert_master_0=ROCE, bert_worker_0=ROCE)
    found = logs(connection)
    assert {pod: [*each.log.chosen] for pod, each in found.items()} == {
        "bert-master-0": ["IB"],
        "bert-worker-0": ["IB"],
    }
    assert of_logs(connection) == ["bert-master-0", "bert-worker-0"], "rank 0 first"
    both = zip(connection.asked, connection.options, strict=True)
    limited = [options for request, options in both if request.endswith("/log")]
    query = {"container": "pytorch", "limitBytes": str(4 << 20)}
    assert [each["query"] for each in limited] == [query, query]
    assert {each["most_bytes"] for each in limited} == {8 << 20}


def test_who_may_not_read_rank_zeros_log_is_told_once() -> None:
    connection = printing(Scene(3), bert_master_0=(403, '{"message": "cannot get pods/log"}'))
    snapshot = Snapshot(connection, SPACE)
    assert logs(connection, snapshot) == {}
    [problem] = unread(snapshot, "logs")
    assert "answered 403" in problem
    assert problem.endswith("ask for get of pods/log, or let an administrator run this")
    assert of_logs(connection) == ["bert-master-0"]


def test_nodes_that_do_not_answer_are_told_together() -> None:
    away = dict.fromkeys((f"bert_worker_{number}" for number in range(3)), (500, "no route"))
    connection = printing(Scene(3), bert_master_0=ROCE, **away)
    snapshot = Snapshot(connection, SPACE)
    assert list(logs(connection, snapshot)) == ["bert-master-0"]
    [problem] = unread(snapshot, "logs")
    assert problem.startswith("of bert-worker-0, bert-worker-1, bert-worker-2 cannot be read")


def test_the_run_before_is_read_where_this_one_tells_nothing() -> None:
    scene = Scene(0)
    scene.master["status"]["containerStatuses"][0]["restartCount"] = 2
    connection = printing(scene, bert_master_0=(200, "starting\n"))
    now = connection.spoil
    before = printing(scene, bert_master_0=(200, "memlock")).spoil
    connection.spoil = lambda *each: (
        before if "previous" in (connection.options[-1].get("query") or ()) else now
    )(*each)
    assert logs(connection)["bert-master-0"].is_previous


def test_a_run_before_whose_log_is_gone_is_passed_over() -> None:
    scene = Scene(0)
    scene.master["status"]["containerStatuses"][0]["restartCount"] = 2
    connection = printing(scene, bert_master_0=(200, "starting\n"))
    now = connection.spoil
    connection.spoil = lambda *each: (
        (400, b"{}") if "previous" in (connection.options[-1].get("query") or ()) else now(*each)
    )
    assert not logs(connection)["bert-master-0"].is_previous


def test_pods_that_have_not_begun_have_no_log() -> None:
    scene = Scene(0)
    state = {"waiting": {"reason": "PodInitializing"}}
    scene.master["status"]["containerStatuses"][0]["state"] = state
    connection = cluster_of(scene)
    assert logs(connection) == {}
    assert of_logs(connection) == []


def test_of_many_pods_some_are_chosen_rank_zero_first() -> None:
    parts = [ObservedPod(pod) for pod in Scene(40).pods.values()]
    chosen = [part.name for part in choose_pods(parts, 4)]
    assert chosen == ["bert-master-0", "bert-worker-9", "bert-worker-19", "bert-worker-29"]


def test_hostile_logs_reach_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    fixture = (ROOT / "tests/fixtures/nccl/2.18-socket.log").read_text()
    hostile = f"h:1:2 [0] NCCL INFO NCCL_IB_HCA set to \x1b]0;owned\x07\n{fixture}"
    connection = printing(Scene(0), bert_master_0=(200, hostile))
    monkeypatch.setattr(explain, "connect_to_cluster", lambda: connection)
    result = CliRunner().invoke(main, ["explain", "job/bert", "--logs"])
    assert "trains over TCP on eth0" in result.output
    assert result.output.replace("\n", "").isprintable()
