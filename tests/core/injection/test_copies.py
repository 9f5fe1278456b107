"""Copies of injected pods, as ``kubectl debug`` makes them: none waits in vain."""

from typing import Any

import pytest

from tests import pods
from tests.core.builders import environment
from tests.core.test_review import judge
from tests.pods import minimal_container, minimal_pod
from tests.profiles import profiles
from tests.tables import table
from tests.worlds import world
from webhook.core import names, podspec
from webhook.core.injection import wait
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict

MEETING = [
    "indexed-job-1",
    "jobset-1",
    "kubedl-pytorchjob-1",
    "kubeflow-pytorchjob-0",
    "kubeflow-pytorchjob-1",
    "kubeflow-trainer-1",
    "statefulset-1",
    "torch-on-k8s-1",
    "torchx-volcano-0",
    "torchx-volcano-1",
    "volcano-pod-1",
]
WITHOUT_FILE = "{rdma: {networks: [{network: default/rdma-net, resource: rdma/hca}]}}"
WITHOUT_RENDEZVOUS = "{rdma: {pods: all, rendezvous: {enabled: false}}}"
WITH_FILE = profiles(WITHOUT_FILE.replace("]}}", "], ncclConf: true}}"))


def injected(name: str) -> Object:
    verdict = judge(pods.load(f"pods/{name}.yaml"), world(profile="rdma"), WITH_FILE)
    assert wait.needs(verdict.pod)
    return verdict.pod


def debugged(pod: Object) -> Object:
    """Copy as ``kubectl debug --copy-to`` does: annotations and spec, without labels and owners."""
    metadata = {"name": "copy", "namespace": "train", "annotations": pod["metadata"]["annotations"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}


def labelled(pod: Object, **labels: str) -> Object:
    kept = {**(pod["metadata"].get("labels") or {}), **labels}
    return {**pod, "metadata": {**pod["metadata"], "labels": kept}}


def opted_out(pod: Object) -> Object:
    return labelled(pod, **{names.PROFILE: names.PROFILE_NONE})


def check_starts(verdict: Verdict) -> None:
    """Check that nothing is left which waits, or which takes an address that nobody publishes."""
    assert verdict.allowed, verdict.message
    spec = verdict.pod["spec"]
    assert names.WAIT_CONTAINER not in [one["name"] for one in spec.get("initContainers") or []]
    assert not {names.WAIT_VOLUME, names.NCCL_CONF_VOLUME} & {
        one["name"] for one in spec.get("volumes") or []
    }
    for container in spec["containers"]:
        assert not [
            entry["name"] for entry in container.get("env") or [] if podspec.is_published(entry)
        ]
        mounted = [mount["name"] for mount in container.get("volumeMounts") or []]
        assert names.NCCL_CONF_VOLUME not in mounted
    [warning] = [one for one in verdict.decisions if one.outcome is Outcome.WARNED]
    assert warning.reason is Reason.STALE_MANIFEST
    assert "is a copy of an injected pod" in warning.message
    assert verdict.warnings


@pytest.mark.parametrize("name", MEETING)
def test_a_debug_copy_starts(name: str) -> None:
    pod = debugged(injected(name))
    verdict = judge(pod, world(profile="rdma"), profiles(WITHOUT_FILE))
    if verdict.job:
        assert wait.needs(verdict.pod), "it is known by its annotations: a member as any other"
    else:
        check_starts(verdict)


@table(
    "label, profile, read, reason",
    {
        "opts out": ({names.PROFILE: names.PROFILE_NONE}, "rdma", WITH_FILE, "opted-out"),
        # its caches may be older than the API server's, or its selectors wider
        "in a namespace without a profile": ({}, None, WITH_FILE, "no-profile"),
        "injected without a rendezvous": ({}, "rdma", profiles(WITHOUT_RENDEZVOUS), "injected"),
    },
)
@pytest.mark.parametrize("name", MEETING)
def test_a_saved_manifest_starts(
    name: str, label: dict[str, str], profile: str | None, read: Profiles, reason: str
) -> None:
    verdict = judge(labelled(injected(name), **label), world(profile=profile), read)
    assert verdict.reason == reason
    check_starts(verdict)


def test_a_copy_that_still_gets_nccls_file_waits_for_nothing() -> None:
    networks = "[{network: default/rdma-net, resource: rdma/hca}]"
    text = f"{{rdma: {{networks: {networks}, ncclConf: true, rendezvous: {{enabled: false}}}}}}"
    verdict = judge(injected("kubeflow-pytorchjob-1"), world(profile="rdma"), profiles(text))
    assert wait.needs(verdict.pod) == []
    assert names.ENV_NCCL_CONF in str(verdict.pod["spec"]["initContainers"])
    assert names.WAIT_VOLUME not in str(verdict.pod["spec"])


@pytest.mark.parametrize("name", MEETING)
def test_a_saved_manifest_of_a_job_that_meets_waits_as_before(name: str) -> None:
    pod = injected(name)
    assert judge(pod, world(profile="rdma"), WITH_FILE).pod["spec"] == pod["spec"]


def test_an_address_variable_holds_the_name_again() -> None:
    verdict = judge(opted_out(injected("kubeflow-pytorchjob-1")), world(profile="rdma"), WITH_FILE)
    held, before = (
        environment(verdict.pod),
        environment(pods.load("pods/kubeflow-pytorchjob-1.yaml")),
    )
    assert {name: held[name] for name in before} == before
    [warning] = verdict.warnings
    assert warning == (
        "pod bert-worker-0 is a copy of an injected pod, for which no address is published here "
        "(pod bert-worker-0: label fabric-injector.io/profile is none): its wait step is removed, "
        "MASTER_ADDR again holds rank 0's name, "
        "PET_MASTER_ADDR again holds rank 0's name"
    )


def test_a_wait_without_variables_goes_too() -> None:
    """Somebody took the variables out, and left the init container."""
    pod = injected("kubeflow-pytorchjob-1")
    env = pod["spec"]["containers"][0]["env"]
    pod["spec"]["containers"][0]["env"] = [
        entry for entry in env if not podspec.is_published(entry)
    ]
    check_starts(judge(opted_out(pod), world(profile="rdma"), WITH_FILE))


@pytest.mark.parametrize("more", [[], [{"name": "URL", "value": "tcp://$(MASTER_ADDR):1"}]])
def test_one_that_cannot_do_without_the_address_is_denied(more: list[Object]) -> None:
    source = {"fieldRef": {"fieldPath": f"metadata.annotations['{names.MASTER_HOST}']"}}
    env = [{"name": "MASTER_ADDR", "valueFrom": source}, *more]
    command = ["torchrun", "t.py"] if more else ["torchrun", "--rdzv_endpoint=$(MASTER_ADDR):1"]
    container = minimal_container(env=env, command=command)
    verdict = judge(minimal_pod(container), world(profile="rdma"), WITH_FILE)
    assert not verdict.allowed
    assert verdict.reason == Reason.STALE_MANIFEST
    assert "apply the manifest that it was made from" in verdict.message


def test_a_volume_that_another_container_mounts_stays() -> None:
    pod = injected("kubeflow-pytorchjob-1")
    mount: dict[str, Any] = {"name": names.WAIT_VOLUME, "mountPath": "/addresses"}
    pod["spec"]["containers"].append(minimal_container("look", volumeMounts=[mount]))
    verdict = judge(opted_out(pod), world(profile="rdma"), WITH_FILE)
    assert names.WAIT_VOLUME in [volume["name"] for volume in verdict.pod["spec"]["volumes"]]


@pytest.mark.parametrize("name", ["mpijob-worker-0", "raycluster-worker"])
def test_a_copy_that_only_writes_nccls_file_is_left_as_it_is(name: str) -> None:
    """It waits for nothing, and its training container needs the file that is mounted."""
    pod = judge(pods.load(f"pods/{name}.yaml"), world(profile="rdma"), WITH_FILE).pod
    assert names.NCCL_CONF_VOLUME in str(pod)
    assert judge(debugged(pod), world(profile="rdma"), WITH_FILE).pod["spec"] == pod["spec"]
