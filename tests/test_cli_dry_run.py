"""The command ``dry-run``: files in, answer and exit status out; with --server the cluster's own answer."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from rich.console import Console

from tests.dry_runs import OBJECTS
from tests.fake_apiserver import NAMESPACES, NETWORKS, Behaviour, Exchange, FakeApiServer, status
from tests.pods import FIXTURES
from webhook import names
from webhook.cli import main
from webhook.cli.coloured import print_diff
from webhook.dry_run import DryRun, PodResult
from webhook.model import Decision, Outcome, Reason
from webhook.templates import Ignored

TORCHX = str(FIXTURES / "torchx/volcano-ddp-2x1.yaml")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "m", "image": "i"}]},
}
PROFILES = """
profiles:
  rdma-shared:
    networks: [{network: default/rdma-net, resource: rdma/hca}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(OBJECTS))
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(POD))
    return tmp_path


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        yield server


def call(*arguments: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(
        main, ["dry-run", *arguments], input=stdin, env={"KUBERNETES_SERVICE_HOST": "", **(env or {})}
    )


def offline(folder: Path, *arguments: str, stdin: str | bytes | None = None) -> Result:
    files = ("--profiles", str(folder / "profiles.yaml"), "--objects", str(folder / "objects.yaml"))
    return call(*files, *arguments, stdin=stdin)


def kubeconfig(folder: Path, server: FakeApiServer, namespace: str = "") -> dict[str, str]:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return {"KUBECONFIG": str(path)}


def test_prints_a_diff_without_colours(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "research")
    assert result.exit_code == 0
    assert "+    k8s.v1.cni.cncf.io/networks: default/rdma-net\n" in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_prints_the_document(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "research", "-o", "json")
    document = json.loads(result.stdout)
    assert [pod["name"] for pod in document["pods"]] == ["train-t4rcs9x6sv1m-train-0-0", "train-t4rcs9x6sv1m-train-1-0"]
    assert all(pod["allowed"] for pod in document["pods"])


def test_prints_patches_and_pods(folder: Path) -> None:
    patches = json.loads(offline(folder, "-f", TORCHX, "--namespace", "research", "-o", "patch").stdout)
    assert all(entry["patch"] for entry in patches)
    pods = list(yaml.safe_load_all(offline(folder, "-f", TORCHX, "--namespace", "research", "-o", "pod").stdout))
    assert [pod["metadata"]["labels"][names.RENDEZVOUS] for pod in pods] == ["master", "worker"]


def test_reads_standard_input(folder: Path) -> None:
    text = f"\n=== APPLICATION ===\n{{'a': 1}}\n\n=== SCHEDULER REQUEST ===\n{Path(TORCHX).read_text()}"
    result = offline(folder, "-f", "-", "--namespace", "research", "-o", "json", stdin=text)
    assert len(json.loads(result.stdout)["pods"]) == 2


def test_reads_many_files(folder: Path) -> None:
    result = offline(
        folder,
        "-f",
        TORCHX,
        str(folder / "pod.yaml"),
        "-f",
        str(folder / "pod.yaml"),
        "--namespace",
        "research",
        "-o",
        "json",
    )
    assert len(json.loads(result.stdout)["pods"]) == 4


def test_finds_a_runtime_in_another_file(folder: Path) -> None:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "own"},
    }
    job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t"}}
    template = {"spec": {"template": {"spec": {"containers": [{"name": "node", "image": "own"}]}}}}
    spec = {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}
    (folder / "runtime.yaml").write_text(yaml.safe_dump({**runtime, "spec": spec}))
    (folder / "job.yaml").write_text(yaml.safe_dump({**job, "spec": {"runtimeRef": {"name": "own"}}}))
    result = offline(
        folder, "-f", str(folder / "job.yaml"), "-f", str(folder / "runtime.yaml"), "--namespace", "plain", "-o", "json"
    )
    [pod] = json.loads(result.stdout)["pods"]
    assert pod["pod"]["spec"]["containers"][0]["image"] == "own"


def test_ends_with_1_where_a_pod_is_denied(folder: Path) -> None:
    result = offline(folder, "-f", TORCHX, "--namespace", "nowhere")
    assert result.exit_code == 1
    assert "namespace nowhere does not exist" in result.stdout


def test_ends_with_2_where_a_template_is_broken(folder: Path) -> None:
    broken = {**POD, "spec": {"containers": {"name": "m"}}}
    (folder / "broken.yaml").write_text(yaml.safe_dump_all([broken, POD]))
    result = offline(folder, "-f", str(folder / "broken.yaml"), "--namespace", "plain", "-o", "json")
    assert result.exit_code == 2
    assert len(json.loads(result.stdout)["pods"]) == 1
    assert "Pod/p: pod.spec.containers: expected a list" in result.stderr


def test_says_that_nothing_was_found(folder: Path) -> None:
    result = offline(folder, "-f", "-", stdin="kind: ConfigMap\nmetadata: {name: x}")
    assert result.exit_code == 0
    assert "ConfigMap/x: holds no pod template" in result.stdout
    assert "no pod template was found" in result.stderr


WRONG: dict[str, tuple[list[str], str | bytes | None, str]] = {
    "no file": ([], None, "name a manifest: -f FILE, or -f - for standard input"),
    "a file that is not there": (
        ["-f", "nowhere.yaml"],
        None,
        "nowhere.yaml: cannot be read (No such file or directory)",
    ),
    "a folder": (["-f", "/"], None, "/: cannot be read (Is a directory)"),
    "no YAML": (["-f", "-"], "a: 1\nb: c: d", "standard input: line 2, column 5: mapping values are not allowed"),
    "no UTF-8": (["-f", "-"], b"a: 1\nb: \xff", "standard input: line 2: not UTF-8"),
    "nothing": (["-f", "-"], "", "standard input: expected a manifest, found nothing"),
    "an unknown output": (["-f", "-", "-o", "yaml"], "", "'yaml' is not one of 'json', 'diff', 'patch', 'pod'"),
    "an unknown profile": (
        ["-f", TORCHX, "--profile", "x"],
        None,
        "--profile x: no profile is named so; use one of: rdma-shared, none",
    ),
    "server and profiles": (["-f", "-", "--server"], "", "--server asks the cluster, which has its own"),
}


@pytest.mark.parametrize(("arguments", "stdin", "message"), WRONG.values(), ids=WRONG)
def test_ends_with_2_where_the_command_or_its_input_is_wrong(
    folder: Path, arguments: list[str], stdin: str | bytes | None, message: str
) -> None:
    result = offline(folder, *arguments, stdin=stdin)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_names_every_fault_of_the_profiles(folder: Path) -> None:
    (folder / "profiles.yaml").write_text("profiles:\n  a: {network: x}\n  b: {ipcLock: 5}\n")
    result = offline(folder, "-f", TORCHX)
    assert result.exit_code == 2
    assert result.stderr.count(f"{folder / 'profiles.yaml'}: line ") == 2


def test_uses_the_sample_profiles_beside_objects(folder: Path) -> None:
    result = call("-f", TORCHX, "--objects", str(folder / "objects.yaml"), "--namespace", "plain")
    assert result.exit_code == 0
    assert "no --profiles: the sample profiles are used" in result.stderr


CONFIG_MAP = "/api/v1/namespaces/fabric-injector/configmaps/fabric-injector-profiles"


def test_reads_the_installed_profiles_and_the_kubeconfigs_namespace(folder: Path, server: FakeApiServer) -> None:
    server.put(NAMESPACES, "research", labels={names.PROFILE: "rdma-shared"})
    server.put(NETWORKS, "rdma-net", "default", spec={"config": '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'})
    server.misbehave("get", CONFIG_MAP, lambda exchange: exchange.answer(200, {"data": {"profiles.yaml": PROFILES}}))
    result = call("-f", TORCHX, "-o", "json", env=kubeconfig(folder, server, namespace="research"))
    assert result.exit_code == 0, result.output
    assert {(pod["namespace"], pod["profile"]) for pod in json.loads(result.stdout)["pods"]} == {
        ("research", "rdma-shared")
    }


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (status(404, "not found"), "fabric-injector-profiles does not exist; give --profiles FILE, or --server"),
        (status(403, "no such right"), "answered 403: no such right; give --profiles FILE, or --server"),
        (lambda exchange: exchange.answer(200, {"data": {"a": ""}}), "holds no profiles.yaml; give --profiles FILE"),
        (lambda exchange: exchange.answer(200, {"data": []}), "holds no profiles.yaml; give --profiles FILE"),
        (
            lambda exchange: exchange.answer(200, {"data": {"profiles.yaml": "profiles:\n  a: {network: x}\n"}}),
            "ConfigMap fabric-injector/fabric-injector-profiles: line 2: profiles.a.network: ",
        ),
    ],
)
def test_says_why_the_installed_profiles_cannot_be_used(
    folder: Path, server: FakeApiServer, answer: Behaviour, told: str
) -> None:
    server.misbehave("get", CONFIG_MAP, answer)
    result = call("-f", TORCHX, env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert told in result.stderr


def test_takes_every_option_from_the_environment(folder: Path) -> None:
    prefix = "FABRIC_INJECTOR_DRY_RUN_"
    values = {
        "FILE": TORCHX,
        "PROFILES": str(folder / "profiles.yaml"),
        "OBJECTS": str(folder / "objects.yaml"),
        "NAMESPACE": "plain",
        "PROFILE": "rdma-shared",
        "OUTPUT": "json",
    }
    result = call(env={prefix + key: value for key, value in values.items()})
    assert result.exit_code == 0
    assert {pod["profile"] for pod in json.loads(result.stdout)["pods"]} == {"rdma-shared"}


def test_lists_every_command_in_one_whole_line() -> None:
    result = CliRunner().invoke(main, ["--help"], terminal_width=80)
    listed = result.stdout.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == [
        "serve",
        "control",
        "dry-run",
        "check",
        "explain",
        "certs",
        "schema",
        "demo",
    ]
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_shows_examples_in_its_help() -> None:
    result = call("--help")
    assert "fabric-injector dry-run -f job.yaml --server" in result.stdout
    assert "FABRIC_INJECTOR_DRY_RUN_NAMESPACE" in result.stdout
    assert "Exit status: 0 all pods are allowed, 1 some pod is denied, 2" in result.stdout


def test_asks_the_cluster_about_namespaces_and_networks(folder: Path, server: FakeApiServer) -> None:
    server.put(NAMESPACES, "research", labels={names.PROFILE: "rdma-shared"})
    config = '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'
    server.put(NETWORKS, "rdma-net", "default", spec={"config": config})
    arguments = ("-f", TORCHX, "--namespace", "research", "--profiles", str(folder / "profiles.yaml"), "-o", "json")
    result = call(*arguments, env=kubeconfig(folder, server))
    assert result.exit_code == 0, result.output
    assert all(pod["patch"] for pod in json.loads(result.stdout)["pods"])
    assert {request.method for request in server.requests} == {"GET"}


def test_says_when_the_cluster_cannot_be_asked(folder: Path, server: FakeApiServer) -> None:
    server.misbehave("get", f"{NAMESPACES}/research", *[status(403, "no such right")] * 9)
    arguments = ("-f", TORCHX, "--namespace", "research", "--profiles", str(folder / "profiles.yaml"))
    result = call(*arguments, env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert "answered 403: no such right; --server lets the cluster decide, with fewer rights" in result.stderr


def admit(exchange: Exchange) -> None:
    """Answer a create as an API server with our webhook does."""
    pod = json.loads(exchange.request.body)
    pod["metadata"] |= {"uid": "u", "creationTimestamp": "t", "managedFields": [{}]}
    pod["metadata"].setdefault("labels", {})[names.JOB] = "job-1"
    pod["metadata"]["labels"][names.RENDEZVOUS] = "worker"
    pod["metadata"].setdefault("annotations", {})[names.STATUS] = '{"profile":"rdma-shared"}'
    pod["spec"] |= {"dnsPolicy": "ClusterFirst", "schedulerName": pod["spec"].get("schedulerName", "default-scheduler")}
    exchange.answer(201, {**pod, "status": {"phase": "Pending"}}, Warning='299 - "say \\"no\\"", 299 - "twice"')


def test_sends_each_pod_to_the_cluster(folder: Path, server: FakeApiServer) -> None:
    server.misbehave("POST", "/api/v1/namespaces/research/pods", admit, admit)
    result = call("-f", TORCHX, "--namespace", "research", "--server", "-o", "json", env=kubeconfig(folder, server))
    assert result.exit_code == 0, result.output
    first, _ = json.loads(result.stdout)["pods"]
    assert (first["system"], first["job"], first["rendezvous"], first["profile"]) == (
        "torchx",
        "job-1",
        "worker",
        "rdma-shared",
    )
    assert first["warnings"] == ['say "no"', "twice"]
    assert {operation["path"].split("/")[2] for operation in first["patch"]} == {"labels", "annotations"}
    assert "dnsPolicy" not in first["pod"]["spec"]
    assert [(request.method, request.query) for request in server.requests] == [("POST", {"dryRun": "All"})] * 2
    assert json.loads(server.requests[0].body)["metadata"]["name"] == "train-t4rcs9x6sv1m-train-0-0"


def test_sends_a_saved_pod_as_a_new_one(folder: Path, server: FakeApiServer) -> None:
    saved = {
        **POD,
        "metadata": {"name": "p", "uid": "u", "resourceVersion": "5", "managedFields": []},
        "status": {"phase": "Running"},
    }
    server.misbehave("POST", "/api/v1/namespaces/default/pods", admit)
    result = call("-f", "-", "--server", stdin=json.dumps(saved), env=kubeconfig(folder, server))
    assert result.exit_code == 0, result.output
    sent = json.loads(server.requests[0].body)
    assert sent["metadata"] == {"name": "p", "namespace": "default"}
    assert "status" not in sent


@pytest.mark.parametrize(
    ("code", "answer", "message"),
    [
        (422, "admission webhook denied the request: bad networks", "bad networks"),
        (403, 'violates PodSecurity "baseline"', 'violates PodSecurity "baseline"'),
        (409, 'pods "p" already exists', "a pod of this name runs: delete it"),
        (404, 'namespaces "x" not found', "not found"),
    ],
    ids=["denied", "forbidden", "there already", "no namespace"],
)
def test_takes_a_refusal_as_a_denial(folder: Path, server: FakeApiServer, code: int, answer: str, message: str) -> None:
    server.misbehave("POST", "/api/v1/namespaces/default/pods", status(code, answer))
    result = call("-f", str(folder / "pod.yaml"), "--server", env=kubeconfig(folder, server))
    assert result.exit_code == 1
    assert message in result.stdout


@pytest.mark.parametrize(
    ("code", "message"), [(401, "log in to the cluster again"), (500, "failed calling webhook")], ids=str
)
def test_takes_no_answer_as_no_denial(folder: Path, server: FakeApiServer, code: int, message: str) -> None:
    server.misbehave("POST", "/api/v1/namespaces/default/pods", status(code, "failed calling webhook"))
    result = call("-f", str(folder / "pod.yaml"), "--server", env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert message in result.stderr


def coloured(run: DryRun, **settings: Any) -> str:
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=80,
        highlight=False,
        soft_wrap=True,
        color_system="standard",
        **settings,
    )
    print_diff(run, console)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_colours_a_diff_on_a_terminal() -> None:
    after = {**POD, "metadata": {"name": "p", "labels": {"[bold]a": "\x1b[2J"}}}
    decisions = (
        Decision("networks", Outcome.INJECTED, Reason.ADDED, "annotation " + "long " * 40),
        Decision("istio", Outcome.SKIPPED, Reason.NO_SIDECAR, "[red]no sidecar"),
    )
    allowed = PodResult("Pod/p", "ml", POD, after, True, profile="rdma", decisions=decisions, warnings=("[x] careful",))
    denied = PodResult("Pod/[b]q", "ml", POD, POD, False, "never")
    text = coloured(DryRun((allowed, denied), (Ignored("ConfigMap/x", "holds no pod template"),)))
    assert "\x1b[32m+  labels:\x1b[0m" in text
    assert "[bold]a" in text
    assert "\x1b[2J" not in text
    assert "[red]no sidecar" in text
    assert "[x] careful" in text
    assert "\x1b[1;31mdenied: never\x1b[0m" in text
    assert "Pod/[b]q" in text
    assert "ConfigMap/x: holds no pod template" in text


def test_leaves_colours_out_where_the_user_wants_none() -> None:
    after = {**POD, "metadata": {"name": "p", "labels": {"a": "b"}}}
    text = coloured(DryRun((PodResult("Pod/p", "ml", POD, after, True),), ()), no_color=True)
    assert "\x1b[32m" not in text
    assert "+  labels:" in text
