"""What is left out of a review is nowhere read or written: the answer is that of the whole review, byte for byte."""

from __future__ import annotations

import ast
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

import pytest

import webhook.core
from tests import hostile, pods
from tests.hostile import broken, forged, large
from webhook.core import review_fields, review_request
from webhook.core.errors import WebhookError
from webhook.core.model import Object
from webhook.core.review import Answer, answer_review
from webhook.core.review_fields import decode_fields

PROFILES = hostile.profiles()
WORLD = hostile.world()
CORE = Path(webhook.core.__file__).parent
FIELDS = {
    "Container": """args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy
        resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
        terminationMessagePolicy tty volumeDevices volumeMounts workingDir""",
    "Metadata": """annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels
        managedFields name namespace ownerReferences resourceVersion selfLink uid""",
    "Spec": """activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
        ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets initContainers
        nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates resourceClaims resources
        restartPolicy runtimeClassName schedulerName schedulingGates securityContext serviceAccount serviceAccountName
        setHostnameAsFQDN shareProcessNamespace subdomain terminationGracePeriodSeconds tolerations topologySpreadConstraints
        volumes workloadRef""",
    "Variable": "name value valueFrom",
    "BlockDevice": "devicePath name",
    "Mount": "mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr",
}
"""All fields of each part. Source: Kubernetes 1.36 API reference, core/v1 and meta/v1."""
NAMED_FOR_ANOTHER_REASON = {
    "BlockDevice": {"name"},  # of everything else
    "Container": {
        "terminationMessagePath",
        "terminationMessagePolicy",
    },  # of a container that is added
    "Metadata": {
        "deletionTimestamp",
        "generation",
        "uid",
    },  # of a pod that the controller sees, of a profile, of an owner
    "Mount": {"readOnly", "subPath"},  # of a mount that is added
}


def review(pod: Object, namespace: str, **request: Any) -> bytes:
    """Return a review as the API server sends it."""
    asked = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {"username": "someone"},
        "object": {"apiVersion": "v1", "kind": "Pod", **pod, "status": {"phase": "Pending"}},
        "options": {"kind": "CreateOptions"},
        **request,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    ).encode()


def answered(body: bytes, *, whole: bool = False) -> Any:
    """Return what becomes of a review, but for the pod that the verdict holds; *whole*: no field of it is left out."""
    try:
        with pytest.MonkeyPatch.context() as changed:
            if whole:
                changed.setattr(review_request, "decode_fields", lambda _: None)
            answer: Answer = answer_review(body, PROFILES, WORLD)
    except WebhookError as error:
        return type(error), str(error)
    verdict = answer.verdict and replace(answer.verdict, pod={})
    return answer.body, verdict, answer.uid, answer.namespace, answer.name, answer.dry_run


@pytest.mark.parametrize("name", pods.all_names())
@pytest.mark.parametrize("space", list(hostile.SPACES))
def test_every_fixture_is_answered_as_when_read_whole(name: str, space: str) -> None:
    body = review(pods.load(name), space)
    assert decode_fields(body) is not None
    assert answered(body) == answered(body, whole=True)


@pytest.mark.parametrize("seed", range(3))
def test_forged_and_broken_reviews_are_answered_as_when_read_whole(seed: int) -> None:
    random = Random(seed)
    samples = [
        *map(pods.load, pods.all_names()),
        *map(large.rich, ("pods/jobset-1.yaml", "pods/kubeflow-pytorchjob-0.yaml")),
    ]
    kinds: Counter[Any] = Counter()
    for _ in range(300):
        pod = forged.forged(random.choice(samples), random, random.randint(0, 3))
        asked = json.loads(review(pod, random.choice(list(hostile.SPACES))))
        if random.random() < 0.7:
            asked = broken.broken(asked, random, random.randint(1, 3))
        body = json.dumps(asked).encode()
        found = answered(body)
        assert found == answered(body, whole=True), body
        kinds[found[0] if found[0] in WebhookError.__subclasses__() else "answered"] += 1
    assert kinds["answered"] > 40, kinds
    assert len(kinds) > 1, kinds


@pytest.mark.parametrize(
    "text",
    [
        '{"request": {"uid": "\\ud800"}}',
        '{"request": {"object": ' + "[" * 3000 + "]" * 3000 + "}}",
        '{"request": {"managedFields": ' + "[" * 3000 + "]" * 3000 + "}}",
        '{"request": {"uid": 1e999}}',
        '{"request": [1, 2',
        '{"request": {}} x',
        "[]",
        "",
        "\ufeff{}",
    ],
)  # fmt: skip
def test_what_is_no_review_is_told_as_when_read_whole(text: str) -> None:
    body = text.encode("utf-8", "surrogatepass")
    found = answered(body)
    assert found[1]
    assert found == answered(body, whole=True)


def test_what_is_left_out_is_what_no_one_reads() -> None:
    body = review(
        {
            "metadata": {"name": "a", "managedFields": [{"manager": "kubectl"}]},
            "spec": {"dnsPolicy": "Default"},
        },
        "plain",
    )
    found = decode_fields(body)
    assert found is not None
    assert found["request"]["object"] == {"metadata": {"name": "a"}, "spec": {}}


@cache
def named_by_the_core() -> set[str]:
    """Return every text that stands in a file that reads pods."""
    wings = (CORE, *(CORE / wing for wing in ("injection", "networks", "workloads")))
    trees = [ast.parse(path.read_text()) for wing in wings for path in wing.glob("*.py")]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("part", FIELDS)
def test_every_field_that_the_core_names_is_decoded(part: str) -> None:
    decoded = set(get_type_hints(getattr(review_fields, part)))
    left_out = set(FIELDS[part].split()) - decoded - NAMED_FOR_ANOTHER_REASON.get(part, set())
    assert decoded <= set(FIELDS[part].split())
    assert sorted(left_out & named_by_the_core()) == []
