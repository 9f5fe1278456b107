"""Recognise Grove's PodCliqueSets whose user started several nodes in them.

A replica of a PodCliqueSet holds cliques of pods, and scaling groups of cliques. Grove has no rule for who leads: users compose the
name of rank 0 from its variables, ``$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-leader-0.$(GROVE_HEADLESS_SERVICE)``.
Source: ai-dynamo/grove operator/api/common/labels.go, operator/internal/controller/podclique/components/pod/pod.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "grove"
PREFIX = "grove.io/"
PODCLIQUE = PREFIX + "podclique"
POD_INDEX = PREFIX + "podclique-pod-index"
PODGANG = "grove.io/podgang"
REPLICA_INDEX = PREFIX + "podcliqueset-replica-index"
PODCLIQUESET = "app.kubernetes.io/part-of"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a PodCliqueSet; None for other pods."""
    clique = labels.get(PODCLIQUE)
    if clique is None:
        return None
    podcliqueset = labels.get(PODCLIQUESET) or clique
    replica = f"{podcliqueset}-{labels.get(REPLICA_INDEX, '0')}"
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=replica,
        job_id=replica,
        is_candidate=podspec.own_name(pod) == f"{clique}-0",
        belongs=numbered(replica, ".+-"),
        kind=f"PodCliqueSet {podcliqueset}",
    )
