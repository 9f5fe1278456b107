"""What is told of a profile that is named where neither the webhook nor a controller reads it."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.kinds import PLAIN, find, workload
from webhook.core.model import Object
from webhook.core.names import PROFILE

LABEL = {"labels": {PROFILE: "none"}}
ANNOTATION = {"annotations": {PROFILE: "none"}}
LABELLED_TEMPLATE = {**PLAIN, "metadata": LABEL}


@pytest.mark.parametrize(
    ("metadata", "template", "note"),
    [
        ({}, PLAIN, ""),
        (
            LABEL,
            PLAIN,
            f"label {PROFILE} of the Deployment itself counts for nothing: write it into metadata.labels of its pod template",
        ),
        (
            ANNOTATION,
            PLAIN,
            f"annotation {PROFILE} of the Deployment counts for nothing: it is a label of pods and namespaces",
        ),
        (LABEL, LABELLED_TEMPLATE, ""),
        ({"labels": {"team": "a"}, "annotations": {"a": "b"}}, PLAIN, ""),
    ],
    ids=["nowhere", "label", "annotation", "both", "others"],
)
def test_a_profile_of_the_workload_itself(metadata: Object, template: Object, note: str) -> None:
    made = workload("apps/v1", "Deployment", "web", {"template": template})
    made["metadata"] |= metadata
    assert [pod.notes for pod in find(made).pods] == [(note,) if note else ()]


@pytest.mark.parametrize(
    ("metadata", "note"),
    [
        (LABEL, ""),
        (
            ANNOTATION,
            f"annotation {PROFILE} of the Pod counts for nothing: it is a label of pods and namespaces",
        ),
    ],
    ids=["label", "annotation"],
)
def test_a_profile_of_a_pod(metadata: Object, note: str) -> None:
    [pod] = find(
        {"apiVersion": "v1", "kind": "Pod", **PLAIN, "metadata": {"name": "p", **metadata}}
    ).pods
    assert pod.notes == ((note,) if note else ())


def test_a_workload_without_pods_has_no_note() -> None:
    made = workload("apps/v1", "Deployment", "web", {"replicas": 0, "template": PLAIN})
    made["metadata"] |= LABEL
    assert find(made).pods == ()
