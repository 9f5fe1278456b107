"""The command `dry-run --server`: the cluster's own answer to a create."""

import json
from pathlib import Path

import pytest

from tests.cli.dry_run_command import POD, TORCHX, call, kubeconfig
from tests.fake_apiserver import Exchange, FakeApiServer, status
from webhook.core import names


def admit(exchange: Exchange) -> None:
    """Answer a create as an API server with our webhook does."""
    pod = json.loads(exchange.request.body)
    pod["metadata"] |= {"uid": "u", "creationTimestamp": "t", "managedFields": [{}]}
    labels = pod["metadata"].setdefault("labels", {})
    labels |= {names.JOB: "job-1", names.RENDEZVOUS: "worker"}
    pod["metadata"].setdefault("annotations", {})[names.STATUS] = '{"profile":"rdma-shared"}'
    pod["spec"] |= {
        "dnsPolicy": "ClusterFirst",
        "schedulerName": pod["spec"].get("schedulerName", "default-scheduler"),
    }
    exchange.answer(
        201, {**pod, "status": {"phase": "Pending"}}, Warning='299 - "say \\"no\\"", 299 - "twice"'
    )


def test_sends_each_pod_to_the_cluster(folder: Path, server: FakeApiServer) -> None:
    server.misbehave("POST", "/api/v1/namespaces/research/pods", *[admit] * 2)
    job = ("-f", TORCHX, "-n", "research", "--server", "-o", "json")
    result = call(*job, env=kubeconfig(folder, server))
    assert result.exit_code == 0, result.output
    first, _ = json.loads(result.stdout)["pods"]
    told = [first[key] for key in ("system", "job", "rendezvous", "profile")]
    assert told == ["torchx", "job-1", "worker", "rdma-shared"]
    assert first["warnings"] == ['say "no"', "twice"]
    [workload] = json.loads(result.stdout)["workloads"]
    assert (workload["source"], workload["roles"]) == ("Job/train-t4rcs9x6sv1m", {"worker": 2})
    assert first["pod"]["spec"]["dnsPolicy"] == "ClusterFirst"
    assert [(request.method, request.query) for request in server.requests] == [
        ("POST", {"dryRun": "All"})
    ] * 2
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
def test_takes_a_refusal_as_a_denial(
    folder: Path, server: FakeApiServer, code: int, answer: str, message: str
) -> None:
    server.misbehave("POST", "/api/v1/namespaces/default/pods", status(code, answer))
    result = call("-f", str(folder / "pod.yaml"), "--server", env=kubeconfig(folder, server))
    assert result.exit_code == 1
    assert message in result.stdout


FORBIDDEN = (
    'pods "p" is forbidden: User "ann" cannot create resource "pods" in API group "" in the '
    'namespace "default"'
)


@pytest.mark.parametrize(
    ("code", "answer", "message"),
    [
        (401, "who are you", "log in to the cluster again"),
        (500, "failed calling webhook", "failed calling webhook"),
        (
            403,
            FORBIDDEN,
            f"{FORBIDDEN}; --server needs the right to create pods",
        ),
    ],
    ids=["401", "500", "no right to create"],
)
def test_takes_no_answer_as_no_denial(
    folder: Path, server: FakeApiServer, code: int, answer: str, message: str
) -> None:
    server.misbehave("POST", "/api/v1/namespaces/default/pods", status(code, answer))
    result = call("-f", str(folder / "pod.yaml"), "--server", env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert message in result.stderr
