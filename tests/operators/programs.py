"""The operators that are run: where the source of each is, what is built of it, and the manifests that it ships."""

from collections.abc import Mapping
from typing import NamedTuple


class Operator(NamedTuple):
    """One operator.

    *source* is a Go module, whose own go.sum pins all else, or a URL to clone with git; *programs* maps each of its Deployments
    to a Go package; *manifests* is a folder for kustomize or a file; *resource* is a custom resource that it serves. *arguments* are
    added to those of the Deployments; *left_out* is a resource of the folder's kustomization.yaml that is left out.
    """

    name: str
    source: str
    version: str
    programs: Mapping[str, str]
    manifests: str
    namespace: str
    resource: str
    arguments: tuple[str, ...] = ()
    left_out: str = ""


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
    "jobs.batch.volcano.sh",
)
"""Its Go module needs a part of its repository that the module leaves out: it is built from a clone."""
TRAINING_OPERATOR = Operator(
    "training-operator",
    "github.com/kubeflow/training-operator",
    "v1.8.1",
    {"training-operator": "./cmd/training-operator.v1"},
    "manifests/overlays/standalone",
    "kubeflow",
    "pytorchjobs.kubeflow.org",
    ("--pytorch-init-container-image=fabric-injector.test/trainer:dash",),
)
JOBSET = Operator(
    "jobset",
    "sigs.k8s.io/jobset",
    "v0.10.1",
    {"jobset-controller-manager": "."},
    "config/default",
    "jobset-system",
    "jobsets.jobset.x-k8s.io",
)
TRAINER = Operator(
    "trainer",
    "github.com/kubeflow/trainer/v2",
    "v2.0.0",
    {"kubeflow-trainer-controller-manager": "./cmd/trainer-controller-manager"},
    "manifests/overlays/manager",
    "kubeflow-system",
    "trainjobs.trainer.kubeflow.org",
    left_out="../../third-party/jobset",  # a URL; JobSet is installed here as an operator of its own
)
LWS = Operator(
    "lws",
    "sigs.k8s.io/lws",
    "v0.7.0",
    {"lws-controller-manager": "./cmd"},
    "config/default",
    "lws-system",
    "leaderworkersets.leaderworkerset.x-k8s.io",
)
