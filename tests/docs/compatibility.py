"""The page of what was run: versions come from what pins them in the tests, and each row names a test that exists."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests import ROOT
from tests.cluster.operators import programs, rows, torchx
from tests.operators import test_torchx
from tests.peer.suite import VERSION as PEER

TOOLS = ROOT / "tests/cluster/tools"


def compatibility() -> str:
    """Return the page."""
    return "\n".join(_lines()) + "\n"


def pinned(folder: str, module: str) -> str:
    """Return the version of a Go module that the tests' module in *folder* pins, without its v."""
    found = re.search(
        rf"^\s*{re.escape(module)} v(\S+)", (TOOLS / folder / "go.mod").read_text(), re.MULTILINE
    )
    assert found is not None, (folder, module)
    return found[1]


def torch_versions() -> list[str]:
    """Return all versions of torch that any test of the operators runs, the oldest first."""
    found = {rows.NEWEST, *test_torchx.VERSIONS, *test_torchx.BETWEEN, *rows.EVERY}
    return sorted(found, key=lambda version: [int(part) for part in version.split(".")])


def _lines() -> Iterator[str]:
    yield "# What was run\n"
    yield "<!-- Written by `make reference`; a test holds it to the versions that the tests pin. -->\n"
    yield "Versions are those that this project's own tests pin, and nothing is listed that they do not run. Other versions"
    yield "may work as well; they are just not shown here. All of it ran on one machine without RDMA hardware and without a"
    yield "GPU: macvlan interfaces stand for network cards, a number in the node's status or a small device plugin for RDMA"
    yield "devices, and gloo for NCCL.\n"
    yield "## Cluster\n"
    yield "| what | version | how | command |"
    yield "|---|---|---|---|"
    yield from (
        f"| {what} | {version} | {how} | {command} |" for what, version, how, command in _cluster()
    )
    yield ""
    yield "Kubernetes 1.30 is the oldest that can work: ValidatingAdmissionPolicy and `matchConditions` are v1 since. What"
    yield "was looked at of versions other than the one that runs is their schemas and validation code, as the table says.\n"
    yield "## Training systems\n"
    yield "*controller*: the system's own controller made the pods, they ran with torch, met and trained on the second"
    yield "network. *pods*: pods written as the controller writes them ran so. *manifests*: only what becomes of its"
    yield "manifests was tested, by the dry run and in the core's tests.\n"
    yield "| system | version | shown by | test |"
    yield "|---|---|---|---|"
    yield from (
        f"| {name} | {version} | {how} | {_test(test)} |" for name, version, how, test in SYSTEMS
    )
    yield ""
    yield f"torch {', '.join(torch_versions())}, from PyPI's wheels without CUDA. Not every system ran with every version: TorchX did,"
    yield "and the rows of [rows.py](../tests/cluster/operators/rows.py) in which the version matters ran with"
    yield f"{', '.join(rows.EVERY)}; all others with {rows.NEWEST}."
    yield "torch 2.4 and 2.5 tell the ranks another name as `MASTER_ADDR`, and train over the second network all the same.\n"
    yield f"Volcano {programs.VOLCANO.version[1:]} is its own scheduler, controllers and admission webhooks, from the manifests"
    yield "that it ships; its certificate is made by the tests, since the Job that makes it runs a script of Volcano's image."
    yield "`torchx run` itself submits. On two nodes the injected devices part the ranks; Volcano's webhook for pods, which"
    yield "its chart has and leaves switched off, is called before ours in one run and after ours in another; the job ends,"
    yield "and `torchx status` says `SUCCEEDED`.\n"
    yield f"Kueue {programs.KUEUE.version[1:]} is its own controller and webhooks, with `kubeflow.org/pytorchjob` and"
    yield "`waitForPodsReady` switched on. A job starts suspended; where the quota of cards holds only half of it, it waits"
    yield "with no pod at all, and is admitted whole once there is room. What is injected into Jobs is [not"
    yield "counted](limits.md#what-it-cannot-do); what is injected into pods of a pod group is. Kueue's scheduling by"
    yield "topology, its `APIService` and preemption were not run.\n"
    yield "MCAD's controller is built from its repository and runs with its CustomResourceDefinitions, in a"
    yield "[Deployment of the tests' own](../tests/cluster/operators/deployments/mcad.yaml), without quotas and without a second scheduler.\n"
    yield "## Not run\n"
    yield "- **On hardware**: RDMA cards, GPUs, NCCL itself, GPUDirect."
    yield "- **In clouds**: no [preset](presets.md) ran on the fabric that it is for. GKE's addresses were written by a test."
    yield "- **By their own controllers**: those of the table that say *pods* or *manifests*. That of torch-on-k8s (commit"
    yield "  `7bfba7c915e4`; it has no releases) builds and was started, and ends at its first TorchJob: it reads the model version"
    yield "  of a job that has none, and for one that has, the storage that it does not name. What makes the pods' labels"
    yield "  after that writes to a map that nobody makes."
    yield "- **With other DRA drivers** than DRANET and Kubernetes' own test driver."


def _cluster() -> Iterator[tuple[str, str, str, str]]:
    kubernetes = pinned("kubernetes", "k8s.io/kubernetes")
    oldest, newest = _schemas()
    claims = "tests with claims (DRA)"
    yield (
        "Kubernetes: API server, scheduler, controller manager",
        kubernetes,
        "tests behind a real API server",
        "`make apiserver`",
    )
    yield (
        "Kubernetes: kubelet",
        pinned("kubelet", "k8s.io/kubernetes"),
        "tests with pods that run",
        "`make test-node`",
    )
    yield (
        "Kubernetes: validation of the CustomResourceDefinition",
        f"{oldest}, {kubernetes}",
        f"the validation code of {oldest} as a program; the real API server",
        "`make apiserver`",
    )
    yield (
        "Kubernetes: schemas of install.yaml",
        f"{oldest}, {newest}",
        "kubernetes-validate, strict",
        "`make scan`",
    )
    yield (
        "etcd",
        pinned("etcd", "go.etcd.io/etcd/server/v3"),
        "tests behind a real API server",
        "`make apiserver`",
    )
    yield (
        "Multus",
        pinned("multus", "gopkg.in/k8snetworkplumbingwg/multus-cni.v4"),
        "as a CNI plugin, with macvlan and host-local of the distribution",
        "`make test-node`",
    )
    yield (
        "Kubernetes: kube-proxy",
        pinned("kubeproxy", "k8s.io/kubernetes"),
        "routes Services by nftables: pods, the API server and its webhooks are called at theirs",
        "`make test-node`",
    )
    yield (
        "host-device",
        "the distribution's",
        "moves cards into pods, which a device plugin of the tests' own counts as `nvidia.com/hostdev`; veth pairs stand for cards",
        "`make test-node`",
    )
    yield (
        "containerd and runc",
        "the distribution's",
        "tests with pods that run",
        "`make test-node`",
    )
    yield (
        "containerd",
        pinned("containerd", "github.com/containerd/containerd/v2"),
        f"{claims}: CDI and NRI",
        "`make dra`",
    )
    yield "DRANET", pinned("dranet", "sigs.k8s.io/dranet"), claims, "`make dra`"
    yield (
        "Kubernetes' DRA test driver",
        pinned("testdriver", "k8s.io/kubernetes"),
        claims,
        "`make dra`",
    )
    yield (
        "Helm",
        pinned("helm", "helm.sh/helm/v4"),
        "renders, installs and upgrades the chart",
        "`make apiserver`",
    )
    yield (
        "cert-manager",
        pinned("certmanager", "github.com/cert-manager/cert-manager"),
        "its controllers and CA injector, from a small main of ours around its packages, keep the certificates of the overlay; "
        "not its webhook",
        "`make apiserver`",
    )
    yield (
        "Prometheus",
        pinned("promtool", "github.com/prometheus/prometheus"),
        "promtool judges the rules, and each alert by series that call for it and series that do not",
        "`make apiserver`",
    )
    yield (
        "network-resources-injector",
        f"commit {PEER.rpartition('-')[2]}",
        "its own end-to-end suite against fabric-injector",
        "`make peer`",
    )
    yield (
        "Python",
        "3.11 or newer",
        "3.11 in the tests; the image is based on 3.13, for which `make test-image` takes the distribution's",
        "`make test`",
    )


def _schemas() -> tuple[str, str]:
    found = re.search(r"for version in (\S+) (\S+); do", (ROOT / "Makefile").read_text())
    assert found is not None
    return found[1], found[2]


def _test(path: str) -> str:
    return f"[{path.rpartition('/')[2].removesuffix('.py')}](../{path})"


SYSTEMS = (
    (
        "TorchX `dist.ddp` on Volcano",
        f"{torchx.VERSION}, Volcano {programs.VOLCANO.version[1:]}",
        "controller",
        "tests/operators/test_torchx.py",
    ),
    (
        "the same on two nodes, with Volcano's webhooks",
        f"{torchx.VERSION}, Volcano {programs.VOLCANO.version[1:]}",
        "controller",
        "tests/operators/test_two_nodes.py",
    ),
    (
        "TorchX `dist.ddp` in MCAD's AppWrapper, also with TorchX' network option",
        f"{torchx.VERSION}, MCAD {programs.MCAD.version[1:]}",
        "controller",
        "tests/operators/test_torchx.py",
    ),
    (
        "PyTorchJob, also elastic",
        programs.TRAINING_OPERATOR.version[1:],
        "controller",
        "tests/operators/test_systems.py",
    ),
    ("JobSet", programs.JOBSET.version[1:], "controller", "tests/operators/test_systems.py"),
    ("LeaderWorkerSet", programs.LWS.version[1:], "controller", "tests/operators/test_systems.py"),
    (
        "indexed Job",
        f"Kubernetes {pinned('kubernetes', 'k8s.io/kubernetes')}",
        "controller",
        "tests/operators/test_rows.py",
    ),
    (
        "PyTorchJob in a queue of Kueue",
        f"{programs.TRAINING_OPERATOR.version[1:]}, Kueue {programs.KUEUE.version[1:]}",
        "controller",
        "tests/operators/test_kueue.py",
    ),
    (
        "JobSet in a queue of Kueue",
        f"{programs.JOBSET.version[1:]}, Kueue {programs.KUEUE.version[1:]}",
        "controller",
        "tests/operators/test_kueue.py",
    ),
    ("Kueue pod group", programs.KUEUE.version[1:], "controller", "tests/operators/test_kueue.py"),
    (
        "Volcano Job without TorchX",
        programs.VOLCANO.version[1:],
        "controller",
        "tests/operators/test_rows.py",
    ),
    ("TrainJob (Trainer v2)", "", "pods", "tests/operators/test_rows.py"),
    ("KubeDL's PyTorchJob", "", "pods", "tests/operators/test_rows.py"),
    ("torch-on-k8s' TorchJob", "", "pods", "tests/operators/test_rows.py"),
    ("StatefulSet", "", "manifests", "tests/dry_run/templates/test_builtin.py"),
    (
        "AppWrapper v1beta2, and other objects in AppWrappers",
        "",
        "manifests",
        "tests/dry_run/templates/test_appwrapper.py",
    ),
    ("MPIJob", "", "manifests", "tests/dry_run/templates/test_mpijob.py"),
    ("RayCluster, RayJob, RayService", "", "manifests", "tests/dry_run/templates/test_ray.py"),
    ("AIBrix' StormService", "", "manifests", "tests/dry_run/templates/test_stormservice.py"),
    ("Grove's PodCliqueSet", "", "manifests", "tests/dry_run/templates/test_kinds.py"),
    ("Slurm (Slinky)", "", "manifests", "tests/core/workloads/test_workloads.py"),
)
"""Training systems: name, version, how it was shown, and a file of tests that does so."""
