"""Jobs really run, and exchange their data on the secondary network: all are started at once."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import yaml

from tests.cluster.node import jobs
from tests.cluster.node.expectations import EXCHANGED, IPC_LOCK, MIB, assert_on_the_fabric
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.images import ASH, BASH, DASH, NCCL_CONF
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.pods import Pod
from tests.cluster.webhook import Webhook
from webhook.core import names, podspec
from webhook.core.model import Object

from .__main__ import JOB

SHARED = "rdma-shared"
ADDRESS_VARIABLES = {
    "torchx": ({"PET_LOCAL_ADDR", "MASTER_ADDR"}, {"MASTER_ADDR"}),
    "pytorchjob": (
        {"MASTER_ADDR", "PET_MASTER_ADDR", "PET_LOCAL_ADDR"},
        {"MASTER_ADDR", "PET_MASTER_ADDR"},
    ),
    "jobset": ({"MASTER_ADDR", "PET_LOCAL_ADDR"}, {"MASTER_ADDR"}),
}
"""Variables that hold rank 0's secondary address: on rank 0, on the worker."""
TORCHRUN = "torchrun --nnodes=2 --node_rank=$R --master_addr=$MASTER_ADDR train.py"
C10D = "torchrun --rdzv_backend=c10d --rdzv_endpoint=$MASTER_ADDR:29500 --nnodes=2 train.py"
TELLS_ITS_SHELL = (
    """python -c 'import os; print(os.path.realpath("/bin/sh"))'; exec torchrun train.py"""
)
TELLS_ITS_RIGHTS = ["sh", "-c", "cat /proc/self/status; exec torchrun train.py"]
RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
ENFORCED = {"pod-security.kubernetes.io/enforce": "restricted"}
USER = {"runAsUser": 1000, "runAsNonRoot": True}


class Row(NamedTuple):
    """A job of two pods, and what bash runs on rank 0 and, where it differs, on the worker.

    *keeps_name*: MASTER_ADDR stays as it was written; else it becomes rank 0's address.
    """

    system: str
    rank_zero: str
    worker: str = ""
    keeps_name: bool = True


SHELLS = {
    "the pod's name is compared with rank 0's": Row(
        "statefulset", f'[ "$POD_NAME" = "${{MASTER_ADDR%%.*}}" ] && R=0 || R=1; {TORCHRUN}'
    ),
    "rank 0's name is looked up until it is known": Row(
        "statefulset",
        f'until nslookup "$MASTER_ADDR"; do sleep 1; done; R=${{HOSTNAME##*-}}; {TORCHRUN}',
    ),
    "rank 0 tokenizes alone first": Row(
        "pytorchjob",
        "torchrun --standalone --nnodes=1 --nproc_per_node=1 train.py && torchrun train.py",
        "torchrun train.py",
        keeps_name=False,
    ),
}


def batch_job(namespace: Namespace) -> list[Pod]:
    """Submit the Job of `make node`."""
    for each in yaml.safe_load_all(JOB.read_text()):
        namespace.submit(each)
    return namespace.wait_for_pods(2)


def shells(row: Row) -> list[Object]:
    """Give the pods of a row."""
    return jobs.shells(row.system, row.rank_zero, row.worker)


def master(**changes: object) -> Callable[[Namespace], list[Pod]]:
    """Give what starts a PyTorchJob's Master without a worker: it waits for its own address."""
    return lambda namespace: namespace.start(jobs.pytorchjob(**changes)[0])


JOBS: dict[str, tuple[str | None, Callable[[Namespace], list[Pod]]]] = {
    "torchx": (SHARED, lambda namespace: jobs.start(namespace, "torchx")),
    "pytorchjob": (SHARED, lambda namespace: jobs.start(namespace, "pytorchjob")),
    "jobset": (SHARED, lambda namespace: jobs.start(namespace, "jobset")),
    "make node": (SHARED, batch_job),
    "not injected": (None, lambda namespace: jobs.start(namespace, "pytorchjob")),
    "torchx, IPv6": ("ipv6", lambda namespace: jobs.start(namespace, "torchx", "bert")),
    "pytorchjob, IPv6": ("ipv6", lambda namespace: jobs.start(namespace, "pytorchjob")),
    "c10d": (SHARED, lambda space: space.start(*jobs.pytorchjob(command=["sh", "-c", C10D]))),
    **{
        shell: (SHARED, master(image=image, command=["sh", "-c", TELLS_ITS_SHELL]))
        for image, shell in ((DASH, "dash"), (ASH, "busybox"), (BASH, "bash"))
    },
    "restricted": ("unprivileged", master(command=TELLS_ITS_RIGHTS, securityContext=RESTRICTED)),
    "nccl.conf": ("nccl-conf", master(command=["cat", "/etc/nccl.conf"], securityContext=USER)),
    **{
        name: (SHARED, lambda namespace, row=row: namespace.start(*shells(row)))  # type: ignore[misc]
        for name, row in SHELLS.items()
    },
}
"""The profile of each job's namespace, and how it is started."""


@pytest.fixture(scope="module")
def begun(lasting_namespace: NamespaceFactory, webhook: Webhook) -> dict[str, list[Pod]]:
    """Start all jobs, each in a namespace of its own."""
    started = {}
    for name, (profile, start) in JOBS.items():
        labels = ENFORCED if name == "restricted" else None
        started[name] = start(lasting_namespace(profile, labels))
    return started


pytestmark = pytest.mark.usefixtures("controller")


@pytest.mark.parametrize("system", ADDRESS_VARIABLES)
def test_a_job_meets_and_trains_on_the_fabric(begun: dict[str, list[Pod]], system: str) -> None:
    reports = [pod.report() for pod in begun[system]]
    (address,) = reports[0].train["addresses"]["net1"]
    assert address == reports[0].pod.fabric_address()
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.master_addr == report.train["store"] == address
        found = {name for name, value in report.environment.items() if value == address}
        assert found >= ADDRESS_VARIABLES[system][rank]
        assert_on_the_fabric(report)
        kind, size = report.train["shared_memory"]
        assert kind == "tmpfs"
        assert system == "torchx" or size == 192 * MIB, "TorchX' own has no limit"
        assert report.train["capabilities"] & IPC_LOCK
        assert report.pod.allocated() == {"nvidia.com/gpu": "8", "rdma/rdma_shared_device_a": "1"}
    if system == "torchx":
        assert reports[0].environment["TORCHX_RANK0_HOST"] == "localhost"


def test_the_job_of_make_node_meets_on_the_fabric(begun: dict[str, list[Pod]]) -> None:
    pods = begun["make node"]
    for report in [pod.report() for pod in pods]:
        assert report.master_addr in {pod.fabric_address() for pod in pods}
        assert_on_the_fabric(report)


def test_without_injection_the_same_job_trains_on_the_pod_network(
    begun: dict[str, list[Pod]],
) -> None:
    """What other tests measure is there: without us all is on eth0, and nothing is locked."""
    for report in [pod.report() for pod in begun["not injected"]]:
        assert report.environment["MASTER_ADDR"] == "bert-master-0"
        assert sorted(report.train["addresses"]) == ["eth0", "lo"]
        assert report.carried("eth0") > EXCHANGED
        assert not report.train["capabilities"] & IPC_LOCK
        assert report.train["shared_memory"] == ["tmpfs", 64 * MIB]


@pytest.mark.parametrize("system", ["torchx", "pytorchjob"])
def test_a_job_named_bert_meets_on_a_fabric_of_ipv6_alone(
    begun: dict[str, list[Pod]], system: str
) -> None:
    """c10d orders nodes by text, where the name bert comes before fd00::."""
    reports = [pod.report() for pod in begun[f"{system}, IPv6"]]
    address = reports[0].pod.fabric_address()
    assert ":" in address
    assert {report.train["rank"] for report in reports} == {0, 1}
    # c10d orders nodes by address: any may become rank 0, whose address is then MASTER_ADDR for all
    (meets_at,) = {report.master_addr for report in reports}
    (zero,) = (report for report in reports if report.train["rank"] == 0)
    assert [meets_at] == zero.train["addresses"]["net1"]
    for report in reports:
        assert report.train["store"] == meets_at
        assert report.pod.annotation(names.MASTER_ADDR) == address
        assert report.pod.annotation(names.MASTER_HOST) == f"[{address}]"
        assert_on_the_fabric(report)
    if system == "torchx":  # the endpoint stays a name
        assert reports[1].environment["VC_TRAINER_0_HOSTS"] == "bert-trainer-0-0.bert"
    else:
        assert zero is reports[0]


def test_a_job_that_meets_at_the_name_of_its_c10d_host_trains_at_rank_zeros_address(
    begun: dict[str, list[Pod]],
) -> None:
    """The endpoint `$MASTER_ADDR:29500` stays a name; the ranks get what rank 0 calls its own."""
    reports = [pod.report() for pod in begun["c10d"]]
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.master_addr == reports[0].pod.fabric_address()
        assert_on_the_fabric(report)


@pytest.mark.parametrize("shell", ["dash", "busybox", "bash"])
def test_the_wait_runs_under_the_shell_of_the_image(
    begun: dict[str, list[Pod]], shell: str
) -> None:
    (pod,) = begun[shell]
    assert pod.environment()["MASTER_ADDR"] == pod.fabric_address()
    assert pod.log("pytorch").splitlines()[0].endswith(f"/{shell}")
    (told,) = pod.log(names.WAIT_CONTAINER).splitlines()  # every check was possible
    assert "waiting for master-addr" in told


def test_the_wait_passes_the_restricted_level(begun: dict[str, list[Pod]]) -> None:
    """PodSecurity enforces it, and the pod runs as its own user without any capability."""
    (pod,) = begun["restricted"]
    assert pod.environment()["MASTER_ADDR"] == pod.fabric_address()
    rights = dict(line.split(":\t") for line in pod.log("pytorch").splitlines() if ":\t" in line)
    assert int(rights["CapEff"], 16) == 0
    assert set(rights["Uid"].split()) == {"1000"}


def test_the_wait_writes_nccls_settings_before_those_of_the_image(
    begun: dict[str, list[Pod]],
) -> None:
    """As the container's own user, into the file that a rank without variables reads."""
    (pod,) = begun["nccl.conf"]
    pod.wait_for_end()
    assert pod.log("pytorch") == f"NCCL_CROSS_NIC=1\nNCCL_SOCKET_IFNAME==net1\n{NCCL_CONF}\n"


@pytest.mark.parametrize("name", SHELLS)
def test_a_command_runs_as_before_and_trains_on_the_fabric(
    begun: dict[str, list[Pod]], name: str
) -> None:
    """One member takes rank 0, all meet at what MASTER_ADDR says, and no text is changed."""
    row = SHELLS[name]
    reports = [pod.report() for pod in begun[name]]
    assert [report.train["rank"] for report in reports] == [0, 1]
    (address,) = reports[0].train["addresses"]["eth0" if row.keeps_name else "net1"]
    for manifest, report in zip(shells(row), reports, strict=True):
        container = manifest["spec"]["containers"][0]
        assert report.pod.created["spec"]["containers"][0]["command"] == container["command"]
        written = podspec.env_value(container, "MASTER_ADDR")
        expected = written if row.keeps_name else address
        assert report.environment["MASTER_ADDR"] == report.master_addr == expected
        assert report.train["store"] == address
        assert_on_the_fabric(report)
