"""Recognise the slurmd nodes of Slinky's Slurm; MASTER_ADDR is set for each Slurm job, not for the pod.

Source: SlinkyProject/slurm-operator api/v1beta1/well_known.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object, Reason
from webhook.core.workloads.training_pod import TrainingPod

SYSTEM = "slurm"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | None:
    """Describe a slurmd node; None for other pods."""
    if labels.get("app.kubernetes.io/name") != "slurmd" or not any(
        label.startswith(("slinky.slurm.net/", "nodeset.slinky.slurm.net/")) for label in labels
    ):
        return None
    return TrainingPod(
        SYSTEM,
        "slurmd",
        None,
        Reason.NO_PROCESS_GROUP,
        "Slurm sets MASTER_ADDR for each of its jobs",
    )
