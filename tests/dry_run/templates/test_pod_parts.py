"""What a pod takes over from its template: quantities as they are written, nothing shared with another pod."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.kinds import container, find, pytorch_job, template, workload
from webhook.core.model import Object
from webhook.dry_run.templates import find_templates, parse_documents


def test_copies_limits_to_requests_and_keeps_quantities_as_written() -> None:
    resources = {
        "limits": {"cpu": "2000m", "rdma/hca": 1, "memory": "4096M"},
        "requests": {"cpu": "1900m"},
    }
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        **template(
            container("main", resources=resources),
            container("plain", resources={}),
            initContainers=[container("init", resources=resources)],
        ),
    }
    [found] = find(manifest).pods
    expected = {"cpu": "1900m", "rdma/hca": 1, "memory": "4096M"}
    assert found.pod["spec"]["containers"][0]["resources"]["requests"] == expected
    assert found.pod["spec"]["initContainers"][0]["resources"]["requests"] == expected
    assert found.pod["spec"]["containers"][1]["resources"] == {}


def test_separates_what_yaml_aliases_share() -> None:
    text = """
    kind: StatefulSet
    apiVersion: apps/v1
    metadata: {name: db}
    spec:
      template:
        spec:
          containers:
          - {name: a, image: i, env: &env [{name: A, value: b}]}
          - {name: b, image: i, env: *env}
    """
    [found] = find_templates(parse_documents(text)).pods
    first, second = found.pod["spec"]["containers"]
    assert first["env"] == second["env"]
    assert first["env"] is not second["env"]


NULL = template(container("main", resources={"limits": {"cpu": 1, "nvidia.com/gpu": None}}))


@pytest.mark.parametrize(
    ("manifest", "limits"),
    [
        (workload("batch/v1", "Job", "a", {"template": NULL}), {"cpu": 1, "nvidia.com/gpu": "0"}),
        (pytorch_job(pytorchReplicaSpecs={"Worker": {"template": NULL}}), {"cpu": 1}),
    ],
    ids=["Kubernetes' own kinds", "custom resources"],
)
def test_reads_a_null_amount_as_the_api_server_does(manifest: Object, limits: Object) -> None:
    [found] = find(manifest).pods
    assert found.pod["spec"]["containers"][0]["resources"]["limits"] == limits
