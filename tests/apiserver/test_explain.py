"""``explain`` as a process, on jobs that a real API server keeps and the real webhook injected."""

import json
import os
import resource
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.pods import load
from tests.profile_objects import to_objects
from tests.waiting import wait_until
from webhook import __version__
from webhook.core import names
from webhook.core.profiles.custom_resource import custom_resource_definition

from .client import Client
from .conftest import PROFILES, NamespaceFactory
from .controlplane import ControlPlane
from .jobs import as_sent
from .webhook import Webhook

NETWORK = "default/rdma-net-ipam"
SYSTEM = "fabric-injector"
OBJECTS = "/apis/fabric-injector.io/v1alpha1/fabricprofiles"
SIZE = 1024


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, api: Client, webhook: Webhook) -> ControlPlane:
    """Install what `explain` reads besides the job: profiles, a network, a node, a Lease that nobody renews."""
    api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    api.ensure(custom_resource_definition())
    wait_until(lambda: api.answers(OBJECTS), "the CRD to be served", 30)
    for profile in to_objects(PROFILES):
        api.ensure(profile)
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "fabric-injector"},
    }
    spec = {
        "holderIdentity": "c-1",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }
    api.request(
        "DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/fabric-injector"
    )
    api.ensure({**lease, "spec": spec}, SYSTEM)
    space, name = NETWORK.split("/")
    ipam = json.dumps(
        {"cniVersion": "0.3.1", "type": "macvlan", "ipam": {"type": "nv-ipam", "poolName": "p"}}
    )
    metadata = {"name": name, "namespace": space}
    api.ensure(
        {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": metadata,
            "spec": {"config": ipam},
        }
    )
    offers = {
        "nvidia.com/gpu": "8",
        "rdma/rdma_shared_device_a": "64",
        "cpu": "64",
        "memory": "1Ti",
        "pods": "110",
    }
    api.ensure({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    status = {
        "allocatable": offers,
        "capacity": offers,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    api.expect("PATCH", "/api/v1/nodes/node-1/status", {"status": status})
    return control_plane


class Job:
    """A PyTorchJob's pods, created through the webhook and put on a node."""

    def __init__(
        self, api: Client, namespace: str, uid: str = "3f0c7f2e-6a5d-4d0b-9b1e-5a1f0f7c9d21"
    ) -> None:
        self.api, self.namespace, self.uid = api, namespace, uid

    def create(self, number: int, name: str = "bert", **spec: Any) -> str:
        """Create a member, 0 is rank 0; give its name."""
        pod = as_sent(load(f"pods/kubeflow-pytorchjob-{min(number, 1)}.yaml"))
        metadata = pod["metadata"]
        metadata["name"] = f"{name}-worker-{number - 1}" if number else f"{name}-master-0"
        metadata["ownerReferences"][0]["uid"] = self.uid
        pod["spec"] = {**pod["spec"], "nodeName": "node-1", "serviceAccountName": "default", **spec}
        response = self.api.create(pod, self.namespace)
        assert response.status == 201, response.message
        return str(metadata["name"])

    def wait(self, name: str, address: str) -> None:
        """Let Multus attach it, and its wait step run."""
        entry = {"name": NETWORK, "interface": "net1", "ips": [address]}
        running = {
            "name": names.WAIT_CONTAINER,
            "image": "i",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
        }
        status = {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
            "initContainerStatuses": [
                {**running, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}
            ],
        }
        body = {
            "metadata": {"annotations": {names.NETWORK_STATUS: json.dumps([entry])}},
            "status": status,
        }
        self.api.expect("PATCH", f"/api/v1/namespaces/{self.namespace}/pods/{name}/status", body)


class Explain:
    """Run the command, as the administrator or with a token."""

    def __init__(self, cluster: ControlPlane, command: list[str], folder: Path) -> None:
        self._cluster, self._command, self._folder = cluster, command, folder

    def __call__(
        self, *arguments: str, token: str | None = None, command: str = "explain"
    ) -> subprocess.CompletedProcess[str]:
        config = self._cluster.kubeconfig(self._folder / f"kubeconfig-{token is None}", token)
        environ = {**os.environ, "KUBECONFIG": str(config), "KUBERNETES_SERVICE_HOST": ""}
        return subprocess.run(
            [*self._command, command, *arguments],
            env=environ,
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
        )

    def document(self, *arguments: str, token: str | None = None) -> dict[str, Any]:
        """Give what -o json prints."""
        done = self(*arguments, "-o", "json", token=token)
        assert done.returncode in (0, 1), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def explain(cluster: ControlPlane, webhook_command: list[str], tmp_path: Path) -> Explain:
    return Explain(cluster, webhook_command, tmp_path)


@pytest.fixture(scope="module")
def research(api: Client, cluster: ControlPlane, namespace: NamespaceFactory) -> str:
    """Give a namespace with two members of a job that waits for a controller."""
    name = namespace({names.PROFILE: "rdma-shared"})
    job = Job(api, name)
    for number in range(2):
        job.wait(job.create(number), f"192.168.0.{number + 1}")
    return name


def test_finds_the_cause_of_1024_waiting_pods(
    api: Client, explain: Explain, namespace: NamespaceFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    name = namespace({names.PROFILE: "rdma-shared"})
    job = Job(api, name)
    job.wait(job.create(0), "10.0.0.1")

    def member(number: int) -> None:
        job.wait(job.create(number), f"10.0.{number // 250}.{number % 250 + 2}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(member, range(1, SIZE)))
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = explain("job/bert", "-n", name)
    seconds, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with capsys.disabled():
        print(
            f"\nexplain of {SIZE} pods: {seconds:.1f} s, {cpu:.1f} s of CPU, on a machine of load {os.getloadavg()[0]:.0f}"
        )
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("fail  Lease fabric-injector/fabric-injector: was renewed last ")
    assert lines[0].endswith("nobody tells 1,024 pods of this job of rank 0's address")
    assert len(lines) <= 20
    assert "1,024 pods in all: 1,024 Init; -o json lists them" in lines[-1]
    assert done.stderr == "", "progress is for terminals"


def test_status_tells_the_same(explain: Explain, research: str) -> None:
    first = explain.document("job/bert", "-n", research)["findings"][0]
    for where in (("-n", research), ("-A",)):
        done = explain(*where, "-o", "json", command="status")
        assert done.returncode == 1, done.stderr
        document = json.loads(done.stdout)
        assert document["unread"] == []
        [job] = [job for job in document["jobs"] if job["namespace"] == research]
        assert (job["name"], job["phase"], job["members"], job["address"]) == (
            "bert",
            "Init",
            2,
            "192.168.0.1",
        )
        told = ("level", "code", "subject")
        assert [job["first"][key] for key in told] == [first[key] for key in told]


def test_observe_mode_tells_what_would_be_injected_and_counts_it_apart(
    api: Client, explain: Explain, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    changed, would_be = "fabric_injector_injected_total", "fabric_injector_would_inject_total"
    steps = ["networks", "devices", "ipc-lock", "shared-memory", "rendezvous", "environment"]

    def counted() -> dict[str, list[float]]:
        labels = {
            changed: "",
            f"{would_be} observe": ',cause="observe"',
            f"{would_be} dry-run": ',cause="dry-run"',
        }
        text = dict(
            line.rsplit(" ", 1)
            for line in webhook.metrics().splitlines()
            if not line.startswith("#")
        )
        found = {}
        for name, more in labels.items():
            lines = [f'{name.partition(" ")[0]}{{step="{step}"{more}}}' for step in steps]
            found[name] = [float(text.get(line) or text.get(_turned(line)) or 0) for line in lines]
        return found

    name = namespace({names.PROFILE: "rdma-shared", names.MODE: names.MODE_OBSERVE})
    before = counted()
    job = Job(api, name)
    for number in range(2):
        job.create(number)
    after = counted()
    assert after[changed] == before[changed]
    assert after[f"{would_be} observe"] == [each + 2 for each in before[f"{would_be} observe"]]
    document = explain.document("job/bert", "-n", name)
    assert [member["would_inject"] for member in document["members"]] == [steps, steps]
    assert [member["injected"] for member in document["members"]] == [None, None]
    observed = document["findings"][0]
    assert (observed["level"], observed["code"]) == ("warn", "namespace-observes")
    assert f"without it profile rdma-shared would inject {', '.join(steps)}" in observed["message"]
    [told] = json.loads(explain("-n", name, "-o", "json", command="status").stdout)["jobs"]
    assert (told["first"]["code"], told["first"]["message"]) == (
        "namespace-observes",
        observed["message"],
    )
    pod = {**as_sent(load("pods/kubeflow-pytorchjob-1.yaml")), "apiVersion": "v1", "kind": "Pod"}
    assert api.create(pod, namespace({names.PROFILE: "rdma-shared"}), dry_run=True).status == 201
    last = counted()
    assert last[changed] == before[changed]
    assert last[f"{would_be} dry-run"] == [each + 1 for each in after[f"{would_be} dry-run"]]


def _turned(line: str) -> str:
    """Write a sample with its two labels in the other order."""
    head, _, labels = line.removesuffix("}").partition("{")
    return f"{head}{{{','.join(reversed(labels.split(',')))}}}"


def test_the_document_names_members_and_findings(explain: Explain, research: str) -> None:
    found = explain.document("job/bert", "-n", research)
    assert set(found) == {"target", "namespace", "jobs", "members", "findings", "summary"}
    assert (found["target"], found["namespace"], len(found["jobs"])) == ("job/bert", research, 1)
    assert found["members"][0] == {
        "pod": "bert-master-0",
        "job": found["jobs"][0],
        "role": "rank 0",
        "phase": "Init",
        "node": "node-1",
        "address": "192.168.0.1",
        "told": None,
        "wait": found["members"][0]["wait"],
        "profile": "rdma-shared",
        "version": __version__,
        "injected": [
            "networks",
            "devices",
            "ipc-lock",
            "shared-memory",
            "rendezvous",
            "environment",
        ],
        "kept": [],
        "skipped": {},
        "today": [],
        "would_inject": [],
        "networks": [{"interface": "net1", "network": NETWORK, "addresses": ["192.168.0.1"]}],
        "lacks": ["master-addr:own", "local-addr:own"],
    }
    assert found["members"][0]["wait"].endswith(" d")
    assert found["summary"]["fail"] == 1
    assert set(found["findings"][0]) == {"level", "code", "topic", "subject", "message", "action"}
    topics = {finding["topic"] for finding in found["findings"]}
    assert topics == {"lease", "wait", "injection"}, (
        "as injected, a pod gets nothing else in a second pass"
    )


@pytest.mark.parametrize(
    "target",
    [
        ("job/bert",),
        ("job/{key}",),
        ("pod/bert-worker-0",),
        ("-l", "training.kubeflow.org/job-name=bert"),
    ],
    ids=str,
)
def test_finds_the_job_by_each_of_its_names(
    explain: Explain, research: str, api: Client, target: tuple[str, ...]
) -> None:
    pod = api.expect("GET", f"/api/v1/namespaces/{research}/pods/bert-worker-0")
    key = pod["metadata"]["labels"][names.JOB]
    found = explain.document(*(word.replace("{key}", key) for word in target), "-n", research)
    assert found["jobs"] == [key]
    assert [member["pod"] for member in found["members"]] == ["bert-master-0", "bert-worker-0"]
    assert found["findings"][0]["code"] == "lease-stale"


def test_a_rank_zero_from_before_the_label_is_found(
    api: Client, explain: Explain, namespace: NamespaceFactory
) -> None:
    name = namespace()
    job = Job(api, name)
    job.create(0)
    time.sleep(1.1)  # the API's times are whole seconds
    api.expect(
        "PATCH",
        f"/api/v1/namespaces/{name}",
        {"metadata": {"labels": {names.PROFILE: "rdma-shared"}}},
    )
    job.wait(job.create(1), "10.0.0.2")
    found = explain.document("job/bert", "-n", name)
    first = found["findings"][0]
    assert first["subject"] == "pod bert-master-0 (rank 0)"
    assert first["message"].startswith(
        "was created before its namespace was labelled, or while the webhook was not called or only observed;"
    )


def test_a_suspended_job_says_so_itself(
    api: Client, explain: Explain, namespace: NamespaceFactory
) -> None:
    name = namespace({names.PROFILE: "rdma-shared"})
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    spec = {"suspend": True, "template": template}
    path = f"/apis/batch/v1/namespaces/{name}/jobs"
    api.expect(
        "POST",
        path,
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "su"}, "spec": spec},
    )
    first = explain.document("job/su", "-n", name)["findings"][0]
    assert (first["level"], first["code"], first["subject"]) == ("warn", "job-suspended", "Job su")
    shown = json.loads(explain("-n", name, "-o", "json", command="status").stdout)
    assert [(job["name"], job["first"]) for job in shown["jobs"]] == [("su", first)]
    patch = first["action"].rpartition(" -p ")[2].strip("'")
    assert not api.expect("PATCH", f"{path}/su", json.loads(patch))["spec"]["suspend"]


def test_who_holds_the_devices_of_a_full_node(
    api: Client, explain: Explain, namespace: NamespaceFactory
) -> None:
    resource, chosen = "rdma/rdma_shared_device_a", {"pool": "full"}
    offers = {"nvidia.com/gpu": "64", resource: "2", "pods": "110"}
    api.ensure(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-full", "labels": chosen}}
    )
    status = {
        "allocatable": offers,
        "capacity": offers,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    api.expect("PATCH", "/api/v1/nodes/node-full/status", {"status": status})
    api.expect(
        "PATCH", "/api/v1/nodes/node-full", {"spec": {"taints": None}}
    )  # not-ready, which a cluster takes away itself
    other, name = (
        namespace({names.PROFILE: "rdma-shared"}),
        namespace({names.PROFILE: "rdma-shared"}),
    )
    for number in range(2):
        Job(api, other).create(number, "gpt", nodeName="node-full")
    job = Job(api, name)
    waiting = job.create(0, nodeName=None, nodeSelector=chosen)
    message = f"0/1 nodes are available: 1 Insufficient {resource}."
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
    api.expect(
        "PATCH",
        f"/api/v1/namespaces/{name}/pods/{waiting}/status",
        {"status": {"conditions": [condition]}},
    )
    [found] = [
        each
        for each in explain.document("job/bert", "-n", name)["findings"]
        if each["topic"] == "scheduling"
    ]
    holders = f"node-full: 2 of 2 held by {other}/gpt-master-0, {other}/gpt-worker-0"
    assert found["action"] == f"wait, or free {resource} ({holders}) on the nodes"


def test_several_jobs_of_one_name_are_listed(
    api: Client, explain: Explain, namespace: NamespaceFactory
) -> None:
    name = namespace({names.PROFILE: "rdma-shared"})
    Job(api, name).create(0)
    Job(api, name, uid="another").create(1)
    done = explain("job/bert", "-n", name)
    assert done.returncode == 2
    assert "2 jobs are named so; name one by its key" in done.stderr
    assert done.stderr.count("job/bert-") == 2


def test_a_job_that_is_not_there_is_told_with_those_that_are(
    explain: Explain, research: str
) -> None:
    done = explain("job/brt", "-n", research)
    assert done.returncode == 2
    assert f"job/brt: namespace {research} has no such pod" in done.stderr
    assert done.stderr.rstrip().endswith("jobs there: bert")


def test_one_who_may_read_pods_alone_is_told_what_is_unknown(
    api: Client, explain: Explain, research: str, cluster: ControlPlane
) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader"},
    }
    api.ensure(
        {**role, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]},
        research,
    )
    account = {"kind": "ServiceAccount", "name": "default", "namespace": research}
    binding = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
    }
    api.ensure({**binding, "subjects": [account]}, research)
    token = cluster.service_account_token(research, "default")
    found = explain.document("job/bert", "-n", research, token=token)
    unread = {finding["subject"] for finding in found["findings"] if finding["topic"] == "unread"}
    assert unread == {
        f"namespace {research}",
        "nodes",
        "Lease fabric-injector/fabric-injector",
        "Events",
        "profiles",
        f"network {NETWORK}",
    }
    assert found["findings"][0]["code"] == "controller-silent"
    api.ensure(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody"}}, research
    )
    done = explain(
        "job/bert", "-n", research, token=cluster.service_account_token(research, "nobody")
    )
    assert done.returncode == 2
    assert "explain reads pods, ask for get and list of them" in done.stderr


def test_pods_that_admission_refused_are_told_by_their_owners_events(
    api: Client, explain: Explain, namespace: NamespaceFactory, controller_manager: ControlPlane
) -> None:
    name = namespace({names.PROFILE: "rdma-shared", names.POD_SECURITY_ENFORCE: "baseline"})
    template = as_sent(load("pods/indexed-job-0.yaml"))
    spec = {**template["spec"], "restartPolicy": "Never"}
    meta = {"labels": {names.PROFILE: "rdma-shared"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bert"}}
    api.ensure({**job, "spec": {"template": {"metadata": meta, "spec": spec}}}, name)
    events = f"/api/v1/namespaces/{name}/events?fieldSelector=reason%3DFailedCreate"
    wait_until(lambda: api.expect("GET", events)["items"], "the Job controller's Event", 60)
    done = explain("job/bert", "-n", name)
    assert done.returncode == 1, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith("fail  Job bert: a pod of it was refused: container ")
    assert "IPC_LOCK" in first
