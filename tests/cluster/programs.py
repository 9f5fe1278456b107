"""The Go programs that tests build: where each one's module files lie, and which of them share a cache folder."""

from collections.abc import Mapping
from typing import NamedTuple

CONTROL_PLANE_MODULES = ("etcd", "kubernetes")
"""Module folders under tools/ whose go.mod and go.sum together name the cache folder of the control plane."""
NODE_MODULES = ("kubelet", "multus")
"""The same for a node, so that a change there leaves the control plane's programs as they are."""

CONTAINERD_TAGS = "no_btrfs,no_devmapper,no_zfs"
"""What needs C libraries of the machine is left out."""


class Program(NamedTuple):
    """One Go program: the module folder under tools/ that pins it, its package, its usual first build time, and build tags."""

    module: str
    package: str
    duration: str
    tags: str = ""

    @property
    def modules(self) -> tuple[str, ...]:
        """Give the module folders whose files name this program's cache folder, its own alone where it is in no group."""
        groups = (NODE_MODULES, CONTROL_PLANE_MODULES)
        return next((group for group in groups if self.module in group), (self.module,))


PROGRAMS: Mapping[str, Program] = {
    "etcd": Program("etcd", "go.etcd.io/etcd/server/v3", "about 1 minute on 2 cores"),
    "kube-apiserver": Program(
        "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", "about 6 minutes on 2 cores"
    ),
    "kube-controller-manager": Program(
        "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", "about 2 minutes on 2 cores"
    ),
    "kubectl": Program("kubernetes", "k8s.io/kubernetes/cmd/kubectl", "about 1 minute on 2 cores"),
}
"""What every control plane is built from."""

NODE_PROGRAMS: Mapping[str, Program] = {
    "kube-scheduler": Program(
        "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", "about 1 minute on 2 cores"
    ),
    "kubelet": Program("kubelet", "k8s.io/kubernetes/cmd/kubelet", "about 2 minutes on 2 cores"),
    "kube-proxy": Program(
        "kubeproxy", "k8s.io/kubernetes/cmd/kube-proxy", "about 2 minutes on 2 cores"
    ),
    "multus": Program(
        "multus",
        "gopkg.in/k8snetworkplumbingwg/multus-cni.v4/cmd/multus",
        "about 3 minutes on 2 cores",
    ),
    "deviceplugin": Program(
        "deviceplugin",
        "fabric-injector/tests/cluster/tools/deviceplugin",
        "about 2 minutes on 2 cores",
    ),
}
"""What a node that runs pods needs besides; containerd, runc and the CNI plugins come from the machine's packages."""

CLAIM_PROGRAMS: Mapping[str, Program] = {
    "containerd": Program(
        "containerd",
        "github.com/containerd/containerd/v2/cmd/containerd",
        "about 2 minutes on 2 cores",
        CONTAINERD_TAGS,
    ),
    "containerd-shim-runc-v2": Program(
        "containerd",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        "some seconds",
        CONTAINERD_TAGS,
    ),
    "ctr": Program(
        "containerd", "github.com/containerd/containerd/v2/cmd/ctr", "some seconds", CONTAINERD_TAGS
    ),
    "dranet": Program("dranet", "sigs.k8s.io/dranet/cmd/dranet", "about 3 minutes on 2 cores"),
    "dra-test-driver": Program(
        "testdriver", "k8s.io/kubernetes/test/e2e/dra/test-driver", "about 2 minutes on 2 cores"
    ),
}
"""What a node that gives pods devices by claims needs besides: Debian 12's containerd has neither CDI nor NRI."""

SCHEMA_PROGRAMS: Mapping[str, Program] = {
    "definition": Program(
        "definition", "fabric-injector/tests/cluster/tools/definition", "about 2 minutes on 2 cores"
    )
}
"""What judges the CustomResourceDefinition as the oldest Kubernetes does."""

WORKFLOW_PROGRAMS: Mapping[str, Program] = {
    "actionlint": Program(
        "actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "some seconds"
    )
}
"""What judges the workflows of .github."""

ALERT_PROGRAMS: Mapping[str, Program] = {
    "promtool": Program(
        "promtool",
        "github.com/prometheus/prometheus/cmd/promtool",
        "about 2 minutes on 2 cores",
        "remove_all_sd",
    )
}
"""What judges the alerts, without the clouds' service discovery."""

CERTIFICATE_PROGRAMS: Mapping[str, Program] = {
    "certmanager": Program(
        "certmanager",
        "fabric-injector/tests/cluster/tools/certmanager",
        "about 3 minutes on 2 cores",
    )
}
"""What keeps certificates where that is left to cert-manager."""

CHART_PROGRAMS: Mapping[str, Program] = {
    "helm": Program("helm", "helm.sh/helm/v4/cmd/helm", "about 3 minutes on 2 cores")
}
"""What renders the chart."""

SIMULATION_PROGRAMS: Mapping[str, Program] = {
    "kwok": Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", "about 2 minutes on 2 cores")
}
"""What plays the nodes of a job that is larger than this machine."""
