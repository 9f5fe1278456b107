"""What `explain` finds of pods that were not injected, or not wholly: a job that trains well, with one thing broken."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.hostile import cluster_of
from tests.diagnose.scenes import SPACE, Scene, ago
from tests.worlds import network
from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.diagnose.collect.job import Target, read_job
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.injected import lacks_injection
from webhook.diagnose.listing import Unread

CHECK = "see fabric-injector check, which tells whether the webhook is called; then restart the job"
RESTART = "restart the job; where that does not help, see fabric-injector check, which tells whether the webhook is called"


def test_a_pod_of_an_unlabelled_namespace() -> None:
    scene = Scene()
    scene.labels.clear()
    scene.pods = {"bert-worker-0": scene.created(1)}
    found = findings(scene, "injection")
    assert texts(found) == [
        "fail pod bert-worker-0: not injected: neither the pod nor namespace research carries the label fabric-injector.io/profile"
    ]
    assert (
        found[0].action
        == "kubectl label namespace research fabric-injector.io/profile=PROFILE, then restart the job"
    )


def test_a_pod_of_no_training_system() -> None:
    scene = Scene(0)
    pod = scene.created(1)
    pod["metadata"] |= {"labels": {}, "ownerReferences": []}
    scene.pods = {"bert-worker-0": pod}
    [found] = findings(scene, "injection")
    assert texts([found]) == [
        "fail pod bert-worker-0: not injected: a plain pod, of no training system that is known, though it asks for nvidia.com/gpu and "
        "starts a launcher"
    ]
    assert found.action == (
        "label the pod fabric-injector.io/profile=shared to inject it all the same, or fabric-injector.io/profile=none to leave it "
        "alone, then restart the job"
    )


def test_a_pod_without_injection_that_is_being_deleted_is_nobodys_fault() -> None:
    """`check` passes it over too."""
    scene = Scene(1)
    pod = scene.created(1)
    pod["metadata"]["deletionTimestamp"] = ago(minutes=1)
    scene.pods["bert-worker-0"] = pod
    assert not lacks_injection(pod)
    assert findings(scene, "injection") == []


def test_a_job_that_opted_out_is_as_it_should_be() -> None:
    scene = Scene(1)
    for number, pod in enumerate((scene.created(0), scene.created(1))):
        pod["metadata"]["labels"][names.PROFILE] = "none"
        scene.bind(pod)
        scene.pods[f"bert-worker-{number - 1}" if number else "bert-master-0"] = pod
    assert findings(scene) == []


def test_one_pod_that_opted_out_of_a_job_cannot_reach_the_others() -> None:
    scene = Scene(2)
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "none"
    scene.bind(pod)
    scene.pods["bert-worker-0"] = pod
    assert one(scene) == (
        "fail pod bert-worker-0: is left out, and others of its job are not: they meet on another network; "
        "label fabric-injector.io/profile is none"
    )


def test_a_namespace_that_only_observes() -> None:
    scene = Scene()
    scene.labels[names.MODE] = "observe"
    scene.pods = {"bert-worker-0": scene.created(1)}
    assert one(scene, "namespaces") == (
        "warn pod bert-worker-0: nothing was injected: label fabric-injector.io/mode of namespace research only observes; "
        "without it profile shared would inject networks, devices, ipc-lock, shared-memory, rendezvous, environment"
    )
    [row] = explain(scene.reading).as_json()["members"]
    assert row["would_inject"] == [
        "networks",
        "devices",
        "ipc-lock",
        "shared-memory",
        "rendezvous",
        "environment",
    ]


def test_a_namespace_that_only_observes_is_known_without_profiles() -> None:
    scene = Scene()
    scene.labels[names.MODE] = "observe"
    scene.changes = {"profiles": None}
    scene.pods = {"bert-worker-0": scene.created(1)}
    assert one(scene, "namespaces") == (
        "warn pod bert-worker-0: nothing was injected: label fabric-injector.io/mode of namespace research only observes"
    )


def test_says_what_would_be_denied_or_left_alone_where_a_namespace_only_observes() -> None:
    scene = Scene()
    scene.labels[names.MODE] = "observe"
    pod, other = scene.created(1), scene.created(2)
    pod["metadata"]["labels"][names.PROFILE] = "shard"
    other["metadata"]["labels"][names.PROFILE] = "none"
    scene.pods = {"bert-worker-0": pod, "bert-worker-1": other}
    denied, left = texts(findings(scene, "namespaces"))
    assert (
        "without it it would be denied: label fabric-injector.io/profile: no profile is named 'shard'"
        in denied
    )
    assert left.endswith(
        "without it it would be left alone: label fabric-injector.io/profile is none"
    )


@pytest.mark.parametrize(
    ("labelled", "why", "action"),
    [
        (
            "",
            "was created before its namespace was labelled, or while the webhook was not called or only observed",
            RESTART,
        ),
        (
            ago(minutes=20),
            "was created before its namespace was labelled, or while the webhook was not called or only observed",
            RESTART,
        ),
        (
            ago(minutes=19),
            "was created before its namespace was labelled, or while the webhook was not called or only observed",
            RESTART,
        ),
        (
            ago(minutes=21),
            "was created without injection, though its namespace was labelled: "
            "the webhook was not called, only observed, or had other profiles",
            CHECK,
        ),
    ],
    ids=["unknown", "same second", "later", "earlier"],
)
def test_a_worker_that_was_not_injected_when_it_was_created(
    labelled: str, why: str, action: str
) -> None:
    scene = Scene()
    scene.changes = {"labelled": labelled}
    scene.pods["bert-worker-1"] = scene.created(2)
    [found] = findings(scene, "injection")
    assert texts([found]) == [f"fail pod bert-worker-1: {why}; today it would get profile shared"]
    assert found.action == action


@pytest.mark.parametrize("profiles", ["read", "unread"])
def test_the_webhook_configuration_is_gone(profiles: str) -> None:
    scene = Scene()
    scene.pods["bert-worker-1"] = scene.created(2)
    scene.changes = {"configured": False, **({"profiles": None} if profiles == "unread" else {})}
    [found] = findings(scene, "configuration")
    gets = "; with it, it would get profile shared" if profiles == "read" else ""
    assert texts([found]) == [
        "fail pod bert-worker-1: was created without injection, and MutatingWebhookConfiguration zz-fabric-injector does not exist "
        f"now: no pod is sent to the webhook{gets}"
    ]
    assert (
        found.action
        == "let an administrator apply the manifests of fabric-injector again, then restart the job"
    )
    assert findings(scene, "injection") == []
    scene.changes["configured"] = True
    assert findings(scene, "configuration") == []


def test_whether_the_webhook_configuration_is_there_is_asked_where_a_pod_lacks_injection() -> None:
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-fabric-injector"
    scene = Scene()
    connection = cluster_of(scene)
    assert read_job(connection, Target("job", "bert"), SPACE).configured is None
    assert f"GET {path}" not in connection.asked, "all are injected"
    scene.pods["bert-worker-1"] = scene.created(2)
    connection = cluster_of(scene)
    assert read_job(connection, Target("job", "bert"), SPACE).configured is False
    connection.objects[path] = {"metadata": {"name": "zz-fabric-injector"}}
    assert read_job(connection, Target("job", "bert"), SPACE).configured is True
    connection.spoil = lambda request, *answer: (403, b"{}") if request.endswith(path) else answer
    read = read_job(connection, Target("job", "bert"), SPACE)
    assert (
        read.configured,
        [each for each in read.unread if "configuration" in each.what.lower()],
    ) == (None, [])


def test_a_pod_that_names_its_profile_in_an_unlabelled_namespace() -> None:
    scene = Scene()
    scene.labels.clear()
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "shared"
    scene.pods = {"bert-worker-0": pod}
    [found] = findings(scene, "injection")
    assert found.message == (
        "was created without injection, for its namespace carries no label fabric-injector.io/profile, without which only component "
        "pod-opt-in lets the webhook be called; today it would get profile shared"
    )
    assert found.action.startswith(
        "kubectl label namespace research fabric-injector.io/profile=PROFILE"
    )


def test_pods_that_the_webhook_was_not_called_for() -> None:
    scene = Scene()
    pod = scene.created(2)
    pod["metadata"]["creationTimestamp"] = ago(minutes=5)
    scene.pods["bert-worker-1"] = pod
    found = first(scene)
    assert found.message == (
        "was created without injection, though older pods of the job were injected (the webhook was not called, or only observed); "
        "today it would get profile shared"
    )
    assert found.action == CHECK


def test_a_pod_that_names_a_profile_that_is_not() -> None:
    scene = Scene()
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "shard"
    scene.pods = {"bert-worker-0": pod}
    assert first(scene).message == (
        "nothing was injected, and today it would be denied: label fabric-injector.io/profile: no profile is named 'shard'; "
        "did you mean shared? use one of: shared"
    )


def test_a_network_without_addresses_leaves_the_rendezvous_out() -> None:
    scene = Scene(0)
    scene.networks["default", "rdma-net"] = network("default/rdma-net", ipam={})
    scene.pods = {"bert-worker-0": scene.admitted(scene.created(1))}
    found = texts(findings(scene, "injection"))
    assert (
        "warn pod bert-worker-0: not injected: rendezvous: network default/rdma-net has no IPAM, so its interface gets no address"
        in found
    )


def test_profiles_that_are_not_known() -> None:
    scene = Scene()
    scene.changes = {"profiles": None, "unread": (Unread("profiles", "cannot be read"),)}
    assert texts(findings(scene)) == ["warn profiles: cannot be read"]
    scene.pods["bert-worker-1"] = scene.created(2)
    assert texts(findings(scene, "injection")) == [
        "warn pod bert-worker-1: nothing was injected, and why is unknown"
    ]


def test_a_status_that_was_changed_by_hand() -> None:
    scene = Scene(0)
    scene.master["metadata"]["annotations"][names.STATUS] = "{profile: shared}"
    told = [each.message for each in explain(scene.reading).findings if each.topic == "injection"]
    assert told == [
        "annotation fabric-injector.io/status, which says what was injected, cannot be read"
    ]


def test_what_admission_warns_of() -> None:
    def mount_devices(pod: Object) -> None:
        pod["spec"]["volumes"] = [{"name": "ib", "hostPath": {"path": "/dev/infiniband"}}]
        pod["spec"]["containers"][0]["volumeMounts"] = [
            {"name": "ib", "mountPath": "/dev/infiniband"}
        ]

    scene = Scene(0, before=mount_devices)
    del scene.master["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"]
    scene.profiles = parse_profiles("profiles: {shared: {networks: [{network: default/rdma-net}]}}")
    assert one(scene, "injection").startswith(
        "warn pod bert-master-0 (rank 0): host-devices: container pytorch mounts /dev/infiniband of the node, but may open nothing"
    )


def test_tells_which_volume_pod_security_keeps_from_the_pod() -> None:
    scene = Scene(0)
    text = "{networks: [{network: default/rdma-net}], podSecurity: skip, volumes: [{name: sys, hostPath: {path: /sys}}]}"
    scene.profiles = parse_profiles(f"profiles: {{shared: {text}}}")
    scene.labels[names.POD_SECURITY_ENFORCE] = "baseline"
    scene.pods = {"bert-worker-0": scene.admitted(scene.created(1))}
    [found] = [each for each in texts(findings(scene, "injection")) if "volume sys" in each]
    assert found.startswith(
        "warn pod bert-worker-0: profile: label pod-security.kubernetes.io/enforce: baseline of namespace "
    )
