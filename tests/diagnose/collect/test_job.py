"""How `explain` asks the API server, and what it does with answers that are not as hoped."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.fake_apiserver import (
    FABRIC_PROFILES,
    NAMESPACES,
    NOT_INSTALLED,
    Behaviour,
    FakeApiServer,
    status,
    text,
)
from tests.tables import cases
from webhook.cli import main
from webhook.core.errors import InputError, Unavailable
from webhook.diagnose.collect import Target, read_job
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

PATH = "/api/v1/namespaces/ml/pods"


def serve_one_pod(server: FakeApiServer) -> None:
    pod = {
        "metadata": {"name": "a-0", "namespace": "ml", "uid": "u"},
        "spec": {"containers": [{"name": "m"}]},
    }
    body = {"metadata": {"resourceVersion": "1"}, "items": [pod]}
    server.misbehave("get", PATH, lambda exchange: exchange.answer(200, body))


def asked(server: FakeApiServer) -> tuple[JobSnapshot, ObservedJob]:
    return read_job(
        Snapshot(Connection(Credentials("test", server.url)), "ml"), Target("selector", "app=x")
    )


def test_says_what_is_needed_where_pods_may_not_be_read(server: FakeApiServer) -> None:
    server.misbehave("get", PATH, status(403, "pods is forbidden"), status(503, "later"))
    with pytest.raises(
        InputError, match="pods is forbidden; explain reads pods in namespace ml: ask for it"
    ):
        asked(server)
    with pytest.raises(Unavailable, match="later"):
        asked(server)


def test_names_what_else_may_not_be_read(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "ml")
    serve_one_pod(server)
    server.misbehave("list", "/api/v1/nodes", status(403, "nodes is forbidden"))
    read, job = asked(server)
    assert [pod.name for pod in job.pods] == ["a-0"]
    assert read.nodes is None
    told = {each.what: each.problem for each in read.unread}
    assert told["nodes"].startswith(
        "cannot be read, so that part is unknown: GET /api/v1/nodes answered 403"
    )


def call(folder: Path, *arguments: str, server: FakeApiServer | None = None) -> Result:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "ml"}}],
        "clusters": [
            {"name": "c", "cluster": {"server": server.url if server else "https://127.0.0.1:1"}}
        ],
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
    absent = call(tmp_path, "pod/bert-0", server=server)
    assert absent.exit_code == 2
    assert (
        "pod/bert-0: namespace ml does not exist; name the job's namespace by -n" in absent.output
    )
    server.misbehave("get", f"{NAMESPACES}/ml", status(403, "no such right"))
    unknown = call(tmp_path, "pod/bert-0", server=server)
    server.put(NAMESPACES, "ml")
    empty = call(tmp_path, "pod/bert-0", server=server)
    for result in (unknown, empty):
        assert result.exit_code == 2
        assert (
            "pod/bert-0: namespace ml has no such pod, and no Event of an owner of that name "
            "(a suspended job has neither); name the job's namespace by -n" in result.output
        )
    server.misbehave("get", "/api/v1/namespaces/ml/events", status(403, "no such right"))
    assert (
        "has no such pod, and its Events may not be read; name"
        in call(tmp_path, "pod/bert-0", server=server).output
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            text(404, NOT_INSTALLED),
            "no CustomResourceDefinition fabricprofiles.fabric-injector.io, which the manifests",
        ),
        (status(500, "broken"), "cannot be read, so that part is unknown"),
    ],
)
def test_goes_on_without_profiles(server: FakeApiServer, answer: Behaviour, told: str) -> None:
    serve_one_pod(server)
    server.misbehave("list", FABRIC_PROFILES, answer)
    reading, _ = asked(server)
    assert reading.profiles is None
    [problem] = [each.problem for each in reading.unread if each.what == "profiles"]
    assert told in problem
