"""The Go programs that tests build: where each one's module files lie, and which share a folder of the cache."""

from collections.abc import Mapping
from typing import NamedTuple

CONTROL_PLANE_MODULES = ("etcd", "kubernetes")
"""Module folders under tools/ whose go.mod and go.sum together name the control plane's folder."""
NODE_MODULES = ("kubelet", "multus")
"""The same for a node, so that a change there leaves the control plane's programs as they are."""

CONTAINERD_TAGS = "no_btrfs,no_devmapper,no_zfs"
"""What needs C libraries of the machine is left out."""


class Program(NamedTuple):
    """One Go program: the module folder under tools/ that pins it, its package, build tags, first build."""

    module: str
    package: str
    tags: str = ""
    minutes: int = 2

    @property
    def modules(self) -> tuple[str, ...]:
        """Give the module folders whose files name this program's cache folder."""
        groups = (NODE_MODULES, CONTROL_PLANE_MODULES)
        return next((group for group in groups if self.module in group), (self.module,))

    @property
    def duration(self) -> str:
        """Say how long its first build takes."""
        return f"about {self.minutes} min on 2 cores"


_OURS, _KUBERNETES = "fabric-injector/tests/cluster/tools", "k8s.io/kubernetes/cmd"
_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")
"""What every control plane is built from."""
NODE = ("kube-scheduler", "kubelet", "multus", "deviceplugin")
"""What a node needs besides; containerd, runc and the CNI plugins come from the machine's packages."""
CLAIMS = ("containerd", "containerd-shim-runc-v2", "ctr", "dranet", "dra-test-driver")
"""What a node with claims needs besides: Debian 12's containerd has neither CDI nor NRI."""
PROGRAMS: Mapping[str, Program] = {
    "etcd": Program("etcd", "go.etcd.io/etcd/server/v3", minutes=1),
    "kube-apiserver": Program("kubernetes", f"{_KUBERNETES}/kube-apiserver", minutes=6),
    "kube-controller-manager": Program("kubernetes", f"{_KUBERNETES}/kube-controller-manager"),
    "kubectl": Program("kubernetes", f"{_KUBERNETES}/kubectl", minutes=1),
    "kube-scheduler": Program("kubernetes", f"{_KUBERNETES}/kube-scheduler", minutes=1),
    "kubelet": Program("kubelet", f"{_KUBERNETES}/kubelet"),
    "multus": Program(
        "multus", "gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus", minutes=3
    ),
    "deviceplugin": Program("deviceplugin", f"{_OURS}/deviceplugin"),
    "containerd": Program("containerd", f"{_CONTAINERD}/containerd", CONTAINERD_TAGS),
    "containerd-shim-runc-v2": Program(
        "containerd", f"{_CONTAINERD}/containerd-shim-runc-v2", CONTAINERD_TAGS, 1
    ),
    "ctr": Program("containerd", f"{_CONTAINERD}/ctr", CONTAINERD_TAGS, 1),
    "dranet": Program("dranet", "sigs.k8s.io/dranet/cmd/dranet", minutes=3),
    "dra-test-driver": Program("testdriver", "k8s.io/kubernetes/test/e2e/dra/test-driver"),
    # judges the CustomResourceDefinition as the oldest Kubernetes does
    "definition": Program("definition", f"{_OURS}/definition"),
    "actionlint": Program("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", minutes=1),
    # without the clouds' service discovery
    "promtool": Program(
        "promtool", "github.com/prometheus/prometheus/cmd/promtool", "remove_all_sd"
    ),
    "certmanager": Program("certmanager", f"{_OURS}/certmanager", minutes=3),
    "helm": Program("helm", "helm.sh/helm/v4/cmd/helm", minutes=3),
}
