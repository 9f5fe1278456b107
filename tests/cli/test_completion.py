"""What completes the names that a cluster has, and that nobody who types hears of what goes wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.shell_completion import ShellComplete

from tests.fake_apiserver import FABRIC_PROFILES, NAMESPACES, PODS, Behaviour, FakeApiServer, hang, status, text
from webhook.cli import kubectl_complete, main
from webhook.core import names

PODS_THERE = ("bert-master-0", "bert-worker-0", "plain-x7", "queued-0", "stacked-0", "web-5d8-q2")


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        for name in ("research", "retail", "vision"):
            server.put(NAMESPACES, name)
        for name in ("rdma-shared", "rails"):
            server.put(FABRIC_PROFILES, name)
        put_pod(server, "bert-master-0", "PyTorchJob", "bert", names.JOB, "master")
        put_pod(server, "bert-worker-0", "PyTorchJob", "bert", names.JOB, "worker")
        put_pod(server, "plain-x7", "Job", "plain")
        put_pod(server, "web-5d8-q2", "ReplicaSet", "web-5d8")
        put_pod(server, "queued-0", "Job", "queued", version="batch.volcano.sh/v1alpha1")
        put_pod(server, "stacked-0", "Job", "stacked-w", **{"jobset.sigs.k8s.io/jobset-name": "stacked"})
        yield server


def put_pod(
    server: FakeApiServer,
    name: str,
    kind: str,
    owner: str,
    label: str = "",
    role: str = "",
    *,
    version: str = "",
    **labels: str,
) -> None:
    labels |= {label: f"{owner}-key", names.RENDEZVOUS: role} if label else {}
    api = version or {"PyTorchJob": "kubeflow.org/v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    reference = {"apiVersion": api, "kind": kind, "name": owner, "uid": owner, "controller": True}
    server.put(PODS, name, "research", labels=labels, ownerReferences=[reference])


def write_kubeconfig(folder: Path, url: str, **cluster: Any) -> Path:
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "research"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, **cluster}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture(autouse=True)
def kubeconfig(tmp_path: Path, server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = write_kubeconfig(tmp_path, server.url)
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def complete(*words: str) -> list[str]:
    *arguments, incomplete = words
    found = ShellComplete(main, {}, "fabric-injector", "").get_completions(arguments, incomplete)
    return [item.value for item in found if item.type == "plain"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["dry-run", "-n", "re"], ["research", "retail"]),
        (["explain", "--namespace", ""], ["research", "retail", "vision"]),
        (["status", "-n", "v"], ["vision"]),
        (["check", "-n", "v"], ["vision"]),
        (["certs", "show", "--system-namespace", "v"], ["vision"]),
        (["dry-run", "--objects", "cluster.yaml", "-n", ""], []),
        (["dry-run", "--profile", ""], ["rails", "rdma-shared", "none"]),
        (["dry-run", "--profiles", "absent.yaml", "--profile", ""], ["none"]),
        (["dry-run", "--profiles", "-", "--profile", ""], ["none"]),
        (["explain", ""], ["job/bert", "job/plain", "job/queued", "job/stacked"]),
        (["explain", "job/b"], ["job/bert"]),
        (["explain", "jobs/b"], ["jobs/bert"]),
        (["explain", "p"], [f"pod/{name}" for name in PODS_THERE]),
        (["explain", "-n", "vision", "pod/"], []),
        (["explain", "what/"], []),
        (["explain", "pytorchjob/"], ["pytorchjob/bert"]),
        (["explain", "PyTorchJobs.kubeflow.org/b"], ["PyTorchJobs.kubeflow.org/bert"]),
        (["explain", "pytorchjob/x"], []),
        (["explain", "pyt"], ["pytorchjob/bert"]),
        (["explain", "job.batch/"], ["job.batch/plain", "job.batch/stacked-w"]),
        (["explain", "jobset/"], ["jobset/stacked"]),
        (["explain", "jobs"], ["jobset/stacked"]),
        (["explain", "volcanojob/"], ["volcanojob/queued"]),
        (["explain", "vc"], ["vcjob/queued"]),
        (["explain", "-n", "vision", "pytorchjob/"], []),
    ],
    ids=" ".join,
)
def test_offers_what_the_cluster_has(words: list[str], offered: list[str]) -> None:
    assert complete(*words) == offered


SHORT = "profiles: {rails: {}, rdma-shared: {networks: [{network: a/b}]}, 'odd name': {}}"
OBJECTS = """
apiVersion: fabric-injector.io/v1alpha1
kind: FabricProfile
metadata: {name: rails}
spec: {}
---
apiVersion: fabric-injector.io/v1alpha1
kind: FabricProfile
metadata: {name: unusable}
spec: {networks: 5}
"""


@pytest.mark.parametrize(
    ("content", "offered"),
    [
        (SHORT, ["rails", "rdma-shared"]),
        (OBJECTS, ["rails", "unusable"]),
        ("profiles: 5", []),
        ("[", []),
        ("", []),
        ("\0", []),
        (f"profiles: {{{'x' * (1 << 20)}: {{}}}}", []),
    ],
    ids=["short form", "objects", "no object", "no YAML", "empty", "binary", "large"],
)
def test_offers_what_the_profiles_file_holds_and_asks_no_cluster(
    tmp_path: Path, server: FakeApiServer, content: str, offered: list[str]
) -> None:
    path = tmp_path / "profiles.yaml"
    path.write_text(content)
    assert complete("dry-run", "--profiles", str(path), "--profile", "") == [*offered, "none"]
    assert server.requests == []


def test_asks_for_a_few_hundred_names_without_what_objects_hold(server: FakeApiServer) -> None:
    complete("explain", "job/")
    asked = [request for request in server.requests if request.path.endswith("/pods")]
    assert asked
    for request in asked:
        assert request.query["limit"] == "300"
        assert "as=PartialObjectMetadataList" in request.headers["Accept"]


def test_asks_the_cluster_that_the_options_choose(
    tmp_path: Path, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    assert complete("status", "-n", "v") == []
    assert complete("status", "--kubeconfig", str(kubeconfig), "-n", "v") == ["vision"]
    assert complete("status", "--kubeconfig", str(kubeconfig), "--context", "there", "-n", "v") == []
    monkeypatch.setenv("HOME", str(tmp_path))
    assert complete("status", "--kubeconfig", "~/kubeconfig", "-n", "v") == ["vision"]


def test_offers_no_name_that_a_shell_would_interpret(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "very$(touch owned)")
    server.put(NAMESPACES, "very\nlong")
    assert complete("status", "-n", "v") == ["vision"]


@pytest.mark.parametrize(
    "behaviour",
    [status(401, "who?"), status(403, "no"), status(500, "later"), status(429, "later"), hang, text(200, "{")],
    ids=["401", "403", "500", "429", "silent", "no JSON"],
)
def test_says_nothing_of_a_server_that_gives_no_list(
    server: FakeApiServer, behaviour: Behaviour, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.misbehave("list", NAMESPACES, *[behaviour] * 3)
    assert completed_by_kubectl(monkeypatch, capfd, "explain", "-n", "") == ":4\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xff",
        b"a: [",
        b"[]",
        b"{}",
        b"{current-context: gone}",
        b"{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c}]}",
        b"""{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server:
        "https://127.0.0.1:1"}}], users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "no-such",
        interactiveMode: Never}}}]}""",
    ],
    ids=["bytes", "no YAML", "list", "empty", "no context", "no server", "no plugin"],
)
def test_says_nothing_of_a_broken_kubeconfig(
    content: bytes, kubeconfig: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig.write_bytes(content)
    assert completed_by_kubectl(monkeypatch, capfd, "explain", "job/") == ":4\n"


def test_says_nothing_where_nothing_listens_or_nothing_is_checked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kubeconfig(tmp_path, "https://127.0.0.1:1", **{"insecure-skip-tls-verify": True})
    assert completed_by_kubectl(monkeypatch, capfd, "status", "-n", "") == ":4\n"


def test_gives_up_on_a_program_that_hands_out_no_credentials(kubeconfig: Path) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "sleep"}
    config["users"][0]["user"] = {"exec": {**plugin, "args": ["600"]}}
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    kubeconfig.write_text(yaml.safe_dump(config))
    script = "import sys; from webhook.cli import kubectl_complete; kubectl_complete.main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, "status", "-n", ""],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.communicate(timeout=120) == (":4\n", "")
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # the program, which nobody waits for
    assert process.returncode == 0


def completed_by_kubectl(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *words: str) -> str:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-fabric_injector", *words])
    kubectl_complete.main()
    said = capfd.readouterr()
    assert said.err == ""
    return said.out
