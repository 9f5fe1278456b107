"""The operators that are run: where the source of each is, what is built of it, and the manifests that it ships."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

DEPLOYMENTS = Path(__file__).parent / "deployments"


class Operator(NamedTuple):
    """One operator.

    *source* is a Go module, whose own go.sum pins all else, or a URL to clone with git; *programs* maps each of its Deployments
    to a Go package; *manifests* is a folder for kustomize or a file; *arguments* are added to those of the Deployments;
    *edits* maps texts of the manifests to what administrators make of them. *definitions* is a folder with its
    CustomResourceDefinitions, where the manifests are ours and lack them.
    """

    name: str
    source: str
    version: str
    programs: Mapping[str, str]
    manifests: str
    namespace: str
    arguments: tuple[str, ...] = ()
    edits: Mapping[str, str] = MappingProxyType({})
    definitions: str = ""


VOLCANO = Operator(
    "volcano",
    "https://github.com/volcano-sh/volcano",
    "v1.15.1",
    {
        "volcano-admission": "./cmd/webhook-manager",
        "volcano-controllers": "./cmd/controller-manager",
        "volcano-scheduler": "./cmd/scheduler",
    },
    "installer/volcano-development.yaml",
    "volcano-system",
)
"""Its Go module needs a part of its repository that the module leaves out: it is built from a clone."""
TRAINING_OPERATOR = Operator(
    "training-operator",
    "github.com/kubeflow/training-operator",
    "v1.8.1",
    {"training-operator": "./cmd/training-operator.v1"},
    "manifests/overlays/standalone",
    "kubeflow",
    ("--pytorch-init-container-image=fabric-injector.test/trainer:dash",),
)
JOBSET = Operator(
    "jobset",
    "sigs.k8s.io/jobset",
    "v0.10.1",
    {"jobset-controller-manager": "."},
    "config/default",
    "jobset-system",
)
LWS = Operator(
    "lws",
    "sigs.k8s.io/lws",
    "v0.7.0",
    {"lws-controller-manager": "./cmd"},
    "config/default",
    "lws-system",
)
KUEUE = Operator(
    "kueue",
    "sigs.k8s.io/kueue",
    "v0.19.2",
    {"kueue-controller-manager": "./cmd/kueue"},
    "config/default",
    "kueue-system",
    edits={
        '# - "kubeflow.org/pytorchjob"': '- "kubeflow.org/pytorchjob"',  # since 0.19 it is not among the defaults
        "#waitForPodsReady:": "waitForPodsReady: {timeout: 10m}",
    },
)
MCAD = Operator(
    "mcad",
    "https://github.com/project-codeflare/multi-cluster-app-dispatcher",
    "v1.40.0",
    {"mcad-controller": "./cmd/kar-controllers"},
    str(DEPLOYMENTS / "mcad.yaml"),
    "mcad-system",
    definitions="deployment/mcad-controller/crds",
)
