"""Reviews: the answers to the API server, byte for byte what it accepts, and what is decided about whole pods."""

import base64
import copy
import json
from random import Random
from typing import Any

import jsonpatch
import pytest

from tests import pods
from tests.hostile.broken import broken, deep
from tests.pods import plain
from tests.profiles import profiles
from tests.worlds import PROFILES, namespace, network, world
from webhook.core import names
from webhook.core.errors import MalformedReview, Unavailable
from webhook.core.model import Namespace, NetworkDefinition, Object, Outcome, Reason
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, answer_review, decide
from webhook.world.objects import ObjectsWorld

POD_RESOURCE = {"group": "", "version": "v1", "resource": "pods"}


def judge(
    pod: Object, cluster: ObjectsWorld | None = None, using: Profiles = PROFILES, **options: Any
) -> Verdict:
    """Decide, having checked what holds for every decision: input untouched, patch applies, a second pass changes nothing."""
    cluster = cluster or world()
    before = copy.deepcopy(pod)
    verdict = decide(pod, "train", using, cluster, **options)
    assert pod == before
    operations = json.loads(json.dumps(verdict.operations))
    assert jsonpatch.apply_patch(before, operations) == verdict.pod
    if verdict.allowed and not verdict.observed:
        again = decide(json.loads(json.dumps(verdict.pod)), "train", using, cluster, **options)
        assert again.operations == []
        assert (again.allowed, again.job, again.role) == (True, verdict.job, verdict.role)
    return verdict


def review(pod: object, **request: Any) -> bytes:
    fields = {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "resource": POD_RESOURCE,
        "namespace": "train",
        "operation": "CREATE",
        "object": pod,
        "dryRun": False,
        **request,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": fields}
    ).encode()


def respond(body: bytes, cluster: ObjectsWorld | None = None) -> Object:
    answer = json.loads(answer_review(body, PROFILES, cluster or world()).body)
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: Object = answer["response"]
    assert response["uid"] == "d15da131-33e5-4793-a38e-1c77b3690cde"
    assert ("patch" in response) == ("patchType" in response)
    return response


@pytest.mark.parametrize("name", pods.all_names())
@pytest.mark.parametrize("profile", ["shared", "rails", "everything"])
def test_every_real_pod_is_allowed_and_judged_the_same_twice(name: str, profile: str) -> None:
    verdict = judge(pods.load(name), world(profile=profile))
    assert verdict.allowed
    assert verdict.profile == profile
    assert (verdict.reason == "injected") == (
        profile == "everything" or "mpijob-launcher" not in name
    )


def test_a_complete_pod_is_consistent_in_all_its_parts() -> None:
    verdict = judge(pods.load("pods/volcano-pod-1.yaml"), world(profile="rails"))
    container = verdict.pod["spec"]["containers"][0]
    metadata = verdict.pod["metadata"]
    assert metadata["annotations"][names.NETWORKS] == "rails/rail-0,rails/rail-1"
    for part in ("limits", "requests"):
        assert {
            key: container["resources"][part][key]
            for key in container["resources"][part]
            if "rail" in key
        } == {
            "nvidia.com/rail_0": "1",
            "nvidia.com/rail_1": "1",
        }
    assert container["securityContext"]["capabilities"] == {"add": ["IPC_LOCK"]}
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert (values["NCCL_SOCKET_IFNAME"], values["GLOO_SOCKET_IFNAME"]) == ("=net1", "net1")
    assert metadata["labels"][names.JOB] == verdict.job
    assert metadata["labels"][names.RENDEZVOUS] == verdict.role == "worker"
    assert metadata["annotations"][names.RENDEZVOUS_NETWORK] == "rails/rail-0@net1/any"
    assert metadata["annotations"][names.CONTAINER] == "train-1"
    status = json.loads(metadata["annotations"][names.STATUS])
    assert status["profile"] == "rails"
    assert verdict.revision == status["revision"] == PROFILES.profiles["rails"].revision
    assert verdict.told[:2] == ["networks:injected", "devices:injected"]
    assert {"networks", "devices", "ipc-lock", "rendezvous", "environment"} <= set(
        status["injected"]
    )
    assert judge(verdict.pod, world(profile="rails")).reason == "unchanged"
    assert status["skipped"] == {}, "nobody asked for node selectors or a sidecar"


def test_what_a_step_puts_into_a_list_of_an_earlier_one_is_told_as_injected() -> None:
    """The pod has no volume of its own: shared memory makes the list that ncclConf writes into."""
    using = profiles("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  ncclConf: true
""")
    pod = pods.load("pods/jobset-1.yaml")
    pod["spec"].pop("volumes", None)
    verdict = judge(pod, using=using)
    told = {decision.step: decision.outcome for decision in verdict.decisions}
    assert told["shared-memory"] is told["nccl-conf"] is Outcome.INJECTED
    again = judge(verdict.pod, using=using)
    assert {decision.step: decision.outcome for decision in again.decisions}[
        "nccl-conf"
    ] is Outcome.KEPT


def test_our_keys_and_the_network_status_are_never_trusted() -> None:
    forged = dict.fromkeys((*names.OWN_ANNOTATIONS, *names.FOREIGN_STALE_ANNOTATIONS), "10.6.6.6")
    labels = {names.JOB: "victim-0123456789", names.RENDEZVOUS: "master"}
    pod = pods.load("pods/jobset-1.yaml")
    pod["metadata"]["annotations"].update(forged)
    pod["metadata"]["labels"].update(labels)
    found = judge(pod).pod["metadata"]
    assert found["labels"][names.JOB] != "victim-0123456789"
    assert found["labels"][names.RENDEZVOUS] == "worker"
    for key in (
        names.MASTER_ADDR,
        names.MASTER_HOST,
        names.LOCAL_ADDR,
        names.NETWORK_STATUS,
        names.NETWORKS_STATUS,
    ):
        assert key not in found["annotations"]
    assert "10.6.6.6" not in json.dumps(found)
    alone = plain(dict(labels))
    alone["metadata"]["annotations"] = dict(forged)
    left = judge(alone).pod["metadata"]
    assert left["labels"] == {}
    assert left["annotations"] == {}


def skipped(verdict: Verdict, reason: Reason) -> str:
    assert verdict.allowed
    [decision] = verdict.decisions
    assert (decision.step, decision.outcome, decision.reason) == (
        "profile",
        Outcome.SKIPPED,
        reason,
    )
    assert verdict.reason == reason
    return decision.message


def denied(verdict: Verdict, reason: Reason) -> str:
    assert (verdict.allowed, verdict.code, verdict.reason, verdict.operations) == (
        False,
        422,
        reason,
        [],
    )
    return verdict.message


def test_a_windows_pod_gets_no_linux_wait() -> None:
    """The API server refuses a Linux security context in it."""
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    pod["spec"]["os"] = {"name": "windows"}
    verdict = judge(pod)
    assert verdict.allowed
    assert (verdict.job, verdict.role) == ("", "")
    assert verdict.pod["spec"]["initContainers"] == pod["spec"]["initContainers"]
    assert [one.reason for one in verdict.decisions if one.step == "rendezvous"] == [Reason.WINDOWS]


def test_a_pod_on_the_nodes_network_waits_for_no_address() -> None:
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    pod["spec"]["hostNetwork"] = True
    verdict = judge(pod)
    assert (verdict.allowed, verdict.role) == (True, "")
    assert verdict.pod["spec"]["initContainers"] == pod["spec"]["initContainers"]
    [decision] = [one for one in verdict.decisions if one.step == "rendezvous"]
    assert (decision.outcome, decision.reason) == (Outcome.SKIPPED, Reason.HOST_NETWORK)


def test_a_network_without_addresses_gives_no_rendezvous() -> None:
    bare = ObjectsWorld([namespace("train"), network("default/rdma-net", ipam={})])
    verdict = judge(pods.load("pods/kubeflow-pytorchjob-1.yaml"), bare)
    assert (verdict.reason, verdict.role) == ("injected", "")
    [decision] = [one for one in verdict.decisions if one.step == "rendezvous"]
    assert (decision.outcome, decision.reason) == (Outcome.SKIPPED, Reason.NO_IPAM)


@pytest.mark.parametrize(
    ("family", "addresses", "name", "everywhere"),
    [
        pytest.param("any", "192.168.0.0/16", "bert-worker-0", False, id="names-come-after-digits"),
        pytest.param(
            "any", "192.168.0.0/16", "0-bert-worker", True, id="a-name-that-starts-with-a-digit"
        ),
        pytest.param("any", "fd00::/64", "bert-worker-0", True, id="a-network-of-ipv6-alone"),
        pytest.param(
            "IPv6", "192.168.0.0/16", "bert-worker-0", True, id="ipv6-as-the-profile-says"
        ),
    ],
)
def test_a_worker_gives_its_own_address_where_its_name_could_sort_before_rank_zeros(
    family: str, addresses: str, name: str, everywhere: bool
) -> None:
    using = profiles(
        f"{{shared: {{networks: [{{network: default/rdma-net}}], rendezvous: {{ipFamily: {family}}}}}}}"
    )
    cluster = ObjectsWorld(
        [
            namespace("train"),
            network("default/rdma-net", ipam={"type": "whereabouts", "range": addresses}),
        ]
    )
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    pod["metadata"]["name"] = name
    container = judge(pod, cluster, using).pod["spec"]["containers"][0]
    assert ("PET_LOCAL_ADDR" in [entry["name"] for entry in container["env"]]) is everywhere


def test_the_status_tells_which_steps_found_what_they_would_have_given() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    for name, value in (("NCCL_SOCKET_IFNAME", "=net1"), ("GLOO_SOCKET_IFNAME", "net1")):
        pods.add_env(pod, name, value)
    status = json.loads(
        judge(pod, world(profile="rails")).pod["metadata"]["annotations"][names.STATUS]
    )
    assert status["kept"] == ["shared-memory", "environment"]
    assert "environment" not in status["injected"]


def test_the_status_of_a_pod_with_broken_text_is_written_all_the_same() -> None:
    """Explain judges what an API server sends, and only Python's own JSON reader takes half of a surrogate pair."""
    pod = plain({"kueue.x-k8s.io/pod-group-name": "\ud800"})
    status = judge(pod, world(profile="everything")).pod["metadata"]["annotations"][names.STATUS]
    assert status.isascii()
    assert "group \ud800" in json.loads(status)["skipped"]["rendezvous"]


def test_pods_that_are_left_alone_say_why() -> None:
    torchx = pods.load("pods/volcano-pod-1.yaml")
    assert "plain pod" in skipped(judge(plain()), Reason.UNKNOWN_SYSTEM)
    assert names.PROFILE in skipped(judge(torchx, world(profile=None)), Reason.NO_PROFILE)
    skipped(judge(plain({names.PROFILE: "none"})), Reason.OPTED_OUT)
    skipped(judge(torchx, world(profile="none")), Reason.OPTED_OUT)
    empty = pods.load("pods/volcano-pod-1.yaml")
    empty["spec"]["containers"] = []
    assert skipped(judge(empty), Reason.INVALID_POD) == "the pod has no containers"


def test_a_pod_of_no_system_is_injected_where_it_or_the_profile_asks() -> None:
    for verdict in (
        judge(plain({names.PROFILE: "shared"})),
        judge(plain(), world(profile="everything")),
    ):
        assert verdict.reason == "injected"
        container = verdict.pod["spec"]["containers"][0]
        assert container["resources"]["limits"] == {"rdma/hca": "1"}
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/dev/shm"}
        assert verdict.pod["metadata"]["annotations"][names.NETWORKS] == "default/rdma-net"
        [rendezvous] = [each for each in verdict.decisions if each.step == "rendezvous"]
        assert (rendezvous.outcome, rendezvous.reason) == (Outcome.SKIPPED, Reason.UNKNOWN_SYSTEM)
        assert names.JOB not in verdict.pod["metadata"]["labels"]


def on_gpus(pod: Object, *command: str, resource: str = "nvidia.com/gpu") -> Object:
    pod["spec"]["containers"][0]["resources"] = {"limits": {resource: "8"}}
    return pods.set_command(pod, *command)


def test_a_pod_that_looks_like_training_and_is_left_alone_is_warned_of() -> None:
    verdict = judge(on_gpus(plain(), "torchrun", "--nnodes=2", "t.py"))
    assert (verdict.reason, verdict.operations) == (Reason.UNKNOWN_SYSTEM, [])
    assert verdict.warnings == (
        "a plain pod, of no training system that is known, though it asks for nvidia.com/gpu and starts a launcher; label the pod "
        "fabric-injector.io/profile=shared to inject it all the same, or fabric-injector.io/profile=none to leave it alone",
    )
    assert respond(review(on_gpus(plain(), "mpirun", "t")))["warnings"]


@pytest.mark.parametrize(
    "pod",
    [
        on_gpus(plain(), "python", "t.py"),
        on_gpus(plain(), "torchrun", "--standalone", "t.py"),
        on_gpus(plain(), "torchrun", "--nnodes=2", "t.py", resource="google.com/tpu"),
        pods.set_command(plain(), "torchrun", "--nnodes=2", "t.py"),
        pods.load("pods/mpijob-launcher.yaml"),
    ],
    ids=["no-launcher", "one-node", "tpu", "no-accelerator", "role"],
)
def test_other_pods_that_are_left_alone_are_not_warned_of(pod: Object) -> None:
    verdict = judge(pod)
    assert (verdict.operations, verdict.warnings) == ([], ())


def test_a_pod_on_tpus_is_injected_only_where_it_asks_itself() -> None:
    for pod in (plain(), pods.load("pods/jobset-1.yaml")):
        on_gpus(pod, "python", "t.py", resource="google.com/tpu")
        message = skipped(judge(pod, world(profile="everything")), Reason.TPU)
        assert "google.com/tpu" in message
        pod["metadata"]["labels"][names.PROFILE] = "shared"
        verdict = judge(pod)
        assert verdict.reason == "injected"
        assert names.JOB not in verdict.pod["metadata"]["labels"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("default/rdma-net", "injected"),
        ('[{"name": "other"}, {"name": "rdma-net", "namespace": "default"}]', "injected"),
        ("rdma-net", Reason.UNKNOWN_SYSTEM),
        ("default/other", Reason.UNKNOWN_SYSTEM),
        ("a/b/c", Reason.UNKNOWN_SYSTEM),
    ],
)
def test_a_pod_whose_own_annotation_names_the_profiles_network_is_completed(
    value: str, reason: str
) -> None:
    pod = plain()
    pod["metadata"]["annotations"] = {names.NETWORKS: value}
    verdict = judge(pod, world(network("train/other")))
    assert verdict.reason == reason
    if reason == "injected":
        assert verdict.pod["spec"]["containers"][0]["resources"]["limits"] == {"rdma/hca": "1"}


def test_pods_that_can_never_work_are_denied_with_what_to_do() -> None:
    torchx = pods.load("pods/volcano-pod-1.yaml")
    message = denied(judge(torchx, world(profile="typo")), Reason.UNKNOWN_PROFILE)
    assert message.startswith(
        "namespace train: label fabric-injector.io/profile: no profile is named 'typo'; "
    )
    assert message.endswith("use one of: everything, rails, shared"), (
        "here-only is not for namespace train"
    )
    slip = denied(judge(torchx, world(profile="shraed")), Reason.UNKNOWN_PROFILE)
    assert slip.endswith("'shraed'; did you mean shared? use one of: everything, rails, shared")
    labelled = plain({names.PROFILE: "typo"})
    assert "pod plain: label" in denied(judge(labelled), Reason.UNKNOWN_PROFILE)
    assert "allowedNamespaces" in denied(
        judge(torchx, world(profile="here-only")), Reason.NAMESPACE_NOT_ALLOWED
    )
    labelled = plain({names.PROFILE: "here-only"})
    assert "pod plain: label" in denied(judge(labelled), Reason.NAMESPACE_NOT_ALLOWED)
    absent = ObjectsWorld([namespace("train")])
    assert "default/rdma-net" in denied(judge(torchx, absent), Reason.NETWORK_ABSENT)
    torchx["metadata"]["annotations"][names.NETWORKS] = "a/b/c"
    assert "a/b/c" in denied(judge(torchx), Reason.BAD_NETWORKS)


SELECTIVE = profiles(
    """
    shared:
      networks: [{network: default/rdma-net, resource: rdma/hca}]
      pod: {spec: {nodeSelector: {fabric: roce}}}
    """
)


def test_all_faults_of_a_pod_are_told_at_once() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["spec"]["nodeSelector"] = {"fabric": "ib"}
    pod["spec"]["containers"][0]["resources"] = {"limits": {"rdma/hca": "1.5"}}
    verdict = judge(pod, using=SELECTIVE)
    assert [(each.step, each.outcome) for each in verdict.decisions] == [
        ("devices", Outcome.DENIED),
        ("node-selector", Outcome.DENIED),
    ]
    first, other = verdict.message.split(". Also: ")
    assert first.startswith("pod train-t4rcs9x6sv1m-train-1-0: container train-1")
    assert other.startswith("spec.nodeSelector")
    assert verdict.reason is Reason.BAD_RESOURCE
    observed = judge(pod, world(mode="observe"), SELECTIVE)
    assert len([warning for warning in observed.warnings if "would be denied" in warning]) == 2


def test_all_networks_that_cannot_be_attached_are_told_but_few_of_very_many() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["metadata"]["annotations"][names.NETWORKS] = "default/rdma-net,typo,default/other"
    message = judge(pod).message
    assert "element 2 names network train/typo, which does not exist" in message
    assert (
        ". Also: annotation k8s.v1.cni.cncf.io/networks: element 3 names network default/other, "
        in message
    )
    asked = []

    def count(_namespace: str, name: str) -> NetworkDefinition | None:
        asked.append(name)
        if name == "n3":
            raise Unavailable("no answer")
        return None

    counting = ObjectsWorld([namespace("train")])
    counting.network = count

    pod["metadata"]["annotations"][names.NETWORKS] = ",".join(f"m{index}" for index in range(100))
    assert len(judge(pod, counting).decisions) == 5
    assert asked == ["m0", "m1", "m2", "m3", "m4"]
    pod["metadata"]["annotations"][names.NETWORKS] = "n1,n2,n3,n4"
    assert len(judge(pod, counting).decisions) == 2
    pod["metadata"]["annotations"][names.NETWORKS] = "n3,n1"
    with pytest.raises(Unavailable):
        decide(pod, "train", PROFILES, counting)


def test_a_pod_that_only_its_annotation_makes_ours_is_denied_for_that_alone() -> None:
    pod = plain()
    pod["metadata"]["annotations"] = {names.NETWORKS: "default/rdma-net,typo"}
    assert [each.reason for each in judge(pod).decisions] == [Reason.NETWORK_ABSENT]
    del pod["metadata"]["annotations"]
    assert skipped(judge(pod), Reason.UNKNOWN_SYSTEM)


def test_the_pods_label_is_stronger_than_the_namespaces() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["metadata"]["labels"][names.PROFILE] = "rails"
    assert judge(pod).profile == "rails"
    assert judge(pod, profile="shared").profile == "shared"


def test_observe_decides_and_tells_but_changes_and_denies_nothing() -> None:
    verdict = judge(pods.load("pods/volcano-pod-1.yaml"), world(mode="observe"))
    assert (verdict.allowed, verdict.observed, verdict.operations, verdict.reason) == (
        True,
        True,
        [],
        "injected",
    )
    assert any("networks would be injected" in warning for warning in verdict.warnings)
    wrong = judge(pods.load("pods/volcano-pod-1.yaml"), world(profile="typo", mode="observe"))
    assert (wrong.allowed, wrong.reason) == (True, Reason.UNKNOWN_PROFILE)
    assert any("would be denied" in warning for warning in wrong.warnings)


def test_a_namespace_label_newer_than_the_cache_counts() -> None:
    for objects in ([], [namespace("train", None)]):
        cluster = ObjectsWorld([*objects, network("default/rdma-net")])
        cluster.fresh_namespace = lambda name: Namespace(name, {names.PROFILE: "shared"})
        assert (
            decide(pods.load("pods/volcano-pod-1.yaml"), "train", PROFILES, cluster).reason
            == "injected"
        )


def test_a_pod_that_names_its_profile_costs_no_request_for_its_namespace() -> None:
    def fail(name: str) -> Namespace | None:
        raise Unavailable(f"namespace {name} was asked for")

    cluster = ObjectsWorld([namespace("train", None), network("default/rdma-net")])
    cluster.fresh_namespace = fail
    assert decide(plain({names.PROFILE: "shared"}), "train", PROFILES, cluster).reason == "injected"
    with pytest.raises(Unavailable, match="was asked for"):
        decide(plain(), "train", PROFILES, cluster)


def test_an_unknown_namespace_cannot_be_judged() -> None:
    with pytest.raises(Unavailable, match="namespace train"):
        decide(plain(), "train", PROFILES, ObjectsWorld([]))


def test_the_answer_carries_a_patch_that_gives_the_pod() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    response = respond(review(pod))
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    patched = jsonpatch.apply_patch(pod, json.loads(base64.b64decode(response["patch"])))
    assert patched == decide(pod, "train", PROFILES, world()).pod


def test_an_unchanged_pod_has_no_patch() -> None:
    assert respond(review(plain())) == {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "allowed": True,
    }


def test_a_denial_carries_code_and_message() -> None:
    response = respond(review(plain({names.PROFILE: "typo"})))
    assert response["allowed"] is False
    assert "patch" not in response
    message = response["status"].pop("message")
    assert response["status"] == {"code": 422, "status": "Failure", "reason": "Invalid"}
    assert message.startswith("pod plain: label")


def test_warnings_hold_no_control_characters() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["spec"]["containers"][0]["securityContext"] = {"runAsUser": 1000}
    pod["spec"]["containers"][0]["name"] = "train\n\x1b[31m"
    warnings = respond(review(pod))["warnings"]
    assert warnings
    assert all(warning.isprintable() for warning in warnings)


@pytest.mark.parametrize(
    "request_of_no_new_pod",
    [
        {"operation": "UPDATE"},
        {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}},
        {"subResource": "eviction"},
    ],
)
def test_what_is_no_new_pod_is_allowed_as_it_is(request_of_no_new_pod: Object) -> None:
    assert respond(review({"anything": 1}, **request_of_no_new_pod)) == {
        "uid": "d15da131-33e5-4793-a38e-1c77b3690cde",
        "allowed": True,
    }


def test_a_generated_name_is_told_with_the_answer() -> None:
    answer = answer_review(review(pods.load("pods/jobset-1.yaml"), dryRun=True), PROFILES, world())
    assert (answer.name, answer.namespace, answer.dry_run) == ("ddp-workers-0-1-", "train", True)


MALFORMED: list[tuple[bytes, str]] = [
    (b"", "is not JSON"),
    (b"\xff", "is not JSON"),
    (b'{"a": NaN}', "is not JSON"),
    (b'"\\ud800"', "is not JSON"),
    (b"[" * 100_000, "is not JSON"),
    (b"[]", "expected an AdmissionReview of admission.k8s.io/v1: Expected `object`, got `array`"),
    (b"{}", "admission.k8s.io/v1"),
    (
        b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}',
        "admission.k8s.io/v1",
    ),
    (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        "missing required field `request`",
    ),
    (review({}, uid=5), "request.uid"),
    (review({}, uid=""), "request.uid"),
    (review({}, namespace=None), "request.namespace"),
    *(
        (review({}, **{key: 5}), f"Expected `str | null`, got `int` - at `$.request.{key}`")
        for key in ("name", "operation", "subResource")
    ),
    (review(None), "request.object: expected an object, found nothing"),
    (review({"spec": {"containers": 5}}), "request.object.spec.containers"),
]


@pytest.mark.parametrize(
    ("body", "message"), MALFORMED, ids=[str(index) for index in range(len(MALFORMED))]
)
def test_what_is_no_review_is_refused_by_name(body: bytes, message: str) -> None:
    with pytest.raises(MalformedReview) as refused:
        answer_review(body, PROFILES, world())
    assert message in str(refused.value)


OWN_VARIABLE: list[Object] = [
    {"value": ""},
    {"value": "bert-worker-0"},
    {"value": "localhost"},
    {"value": "$$(MASTER_ADDR)"},
    {"value": "$(MASTER_ADDR)"},
    {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {},
]


@pytest.mark.parametrize("value", OWN_VARIABLE, ids=str)
@pytest.mark.parametrize(
    "name",
    ["pods/kubeflow-pytorchjob-1.yaml", "pods/kubeflow-pytorchjob-0.yaml", "pods/jobset-1.yaml"],
)
@pytest.mark.parametrize("variable", [names.ENV_MASTER_NAME, "PET_MASTER_ADDR", "MY_MASTER_ADDR"])
def test_a_second_pass_agrees_whatever_the_user_writes_into_variables(
    name: str, variable: str, value: Object
) -> None:
    for place in (0, -1):
        pod = pods.load(name)
        entries = pod["spec"]["containers"][0].setdefault("env", [])
        entries.insert(place % (len(entries) + 1), {"name": variable, **copy.deepcopy(value)})
        judge(pod)


def test_a_second_pass_knows_the_plugin_by_which_a_job_meets() -> None:
    """Volcano's pytorch plugin, and a program that no launcher starts: the first pass has taken the address from its variable."""
    pod = pods.load("pods/volcano-pytorch-0.yaml")
    pods.set_command(pod, "python3", "train.py")
    assert "local-addr" in judge(pod).pod["metadata"]["annotations"][names.WAITS_FOR]


OF_THE_WAIT_STEPS_NAME: dict[str, tuple[str, Object]] = {
    "app": ("containers", {}),
    "init": ("initContainers", {"command": ["sh", "-c", "cp -r /data /scratch"]}),
    "sidecar": ("initContainers", {"restartPolicy": "Always"}),
    "words-more-than-ours": (
        "initContainers",
        {"command": ["python", "-m", "prepare", "data", "master-addr"]},
    ),
    "ours-with-arguments": (
        "initContainers",
        {"command": ["fabric-injector", "wait"], "args": ["local-addr"]},
    ),
    "ours-beside-the-training": (
        "initContainers",
        {"command": ["fabric-injector", "wait"], "restartPolicy": "Always"},
    ),
}


@pytest.mark.parametrize(
    ("kind", "more"), OF_THE_WAIT_STEPS_NAME.values(), ids=OF_THE_WAIT_STEPS_NAME
)
def test_a_container_with_the_name_of_the_wait_step_is_denied_where_there_is_one(
    kind: str, more: Object
) -> None:
    container = {"name": names.WAIT_CONTAINER, "image": "registry.example.com/a", **more}
    pod = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    pod["spec"][kind].append(container)
    told = f"container {names.WAIT_CONTAINER} has the name of the wait step; give it another name"
    assert denied(judge(pod), Reason.INVALID_POD) == f"pod bert-worker-0: {told}"
    both = profiles("{shared: {networks: [{network: default/rdma-net}], ncclConf: true}}")
    assert denied(judge(pod, using=both), Reason.INVALID_POD).count(told) == 1
    waitless = plain({names.PROFILE: "shared"})
    waitless["spec"][kind] = [*waitless["spec"].get(kind, []), container]
    verdict = judge(waitless)
    assert verdict.allowed
    assert container in verdict.pod["spec"][kind]


@pytest.mark.parametrize("seed", range(4))
def test_no_broken_review_breaks_the_answer(seed: int) -> None:
    random = Random(seed)
    clusters = [world(profile=profile) for profile in ("shared", "rails", "everything")]
    samples = [json.loads(review(pods.load(name))) for name in pods.all_names()]
    outcomes = {"answered": 0, "malformed": 0}
    for _ in range(300):
        value, cluster = (
            broken(random.choice(samples), random, random.randint(1, 4)),
            random.choice(clusters),
        )
        try:
            answer = answer_review(json.dumps(value).encode(), PROFILES, cluster)
        except (MalformedReview, Unavailable):
            outcomes["malformed"] += 1
            continue
        outcomes["answered"] += 1
        response = json.loads(answer.body)["response"]
        if "patch" in response:
            jsonpatch.apply_patch(
                value["request"]["object"], json.loads(base64.b64decode(response["patch"]))
            )
        if answer.verdict is not None and answer.verdict.allowed:
            again = answer_review(
                json.dumps(
                    {**value, "request": {**value["request"], "object": answer.verdict.pod}}
                ).encode(),
                PROFILES,
                cluster,
            )
            assert again.verdict is not None
            assert (again.verdict.message, again.verdict.operations) == ("", [])
            assert (again.verdict.job, again.verdict.role) == (
                answer.verdict.job,
                answer.verdict.role,
            )
    assert min(outcomes.values()) > 20, outcomes


def test_deep_nesting_where_nobody_reads_is_carried_along() -> None:
    pod = pods.load("pods/volcano-pod-1.yaml")
    pod["spec"]["overhead"] = deep(200)
    assert respond(review(pod))["allowed"] is True
