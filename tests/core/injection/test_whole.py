"""A fabric is given whole or not at all: half of it is worse than none."""

from typing import Any

import pytest

from tests import pods
from tests.core.injection.test_device_variables import rank_of_c10d
from tests.core.test_review import judge
from tests.pods import minimal_container, minimal_pod
from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names, podspec
from webhook.core.injection.wait import needs
from webhook.core.model import Object, Outcome, Reason
from webhook.core.review import Verdict
from webhook.world.objects import ObjectsWorld

TYPE = "node.kubernetes.io/instance-type"
CONTAINER = """
  container:
    resources: {limits: {hugepages-2Mi: 1Gi}}
    env: [{name: FI_PROVIDER, value: efa}]
"""
REST = f"""{CONTAINER}
    volumeMounts: [{{name: sys, mountPath: /host}}]
  pod:
    spec:
      volumes: [{{name: sys, hostPath: {{path: /sys}}}}]
      initContainers:
        - name: daemon
          image: "a.io/b:1"
          restartPolicy: Always
          securityContext: {{privileged: true}}
          volumeMounts: [{{name: sys, mountPath: /s}}]
"""
EFA = "quantities: [{resource: vpc.amazonaws.com/efa, byNodeType: {p5: 32}}]"
OF_NETWORK = "networks: [{network: default/rdma-net, resource: rdma/hca}]"
WORKER = "pods/kubeflow-pytorchjob-1.yaml"


def decided(
    pod: Object, said: str, labels: dict[str, str] | None = None, rest: str = REST
) -> Verdict:
    using = profiles(f"rdma:\n  {said}{rest}")
    space = namespace("train", "rdma")
    space["metadata"]["labels"].update(labels or {})
    cluster = ObjectsWorld([space, network("default/rdma-net")])
    verdict = judge(pod, cluster, using)
    assert verdict.allowed, verdict.message
    again = judge(verdict.pod, cluster, using)
    assert (again.allowed, again.operations) == (True, [])
    return verdict


def trainer(**spec: Any) -> Object:
    container = minimal_container(
        "trainer", resources={"limits": {"nvidia.com/gpu": 8, "memory": "1Gi"}}
    )
    return minimal_pod(
        container, metadata={"name": "train-0", "labels": {names.PROFILE: "rdma"}}, **spec
    )


def warned(verdict: Verdict, reason: Reason) -> str:
    [told] = [
        each.message
        for each in verdict.decisions
        if each.outcome is Outcome.WARNED and each.reason is reason and each.step == "profile"
    ]
    return told


def test_a_pod_of_an_unknown_node_type_gets_nothing_of_a_profile_whose_devices_depend_on_it() -> (
    None
):
    pod = trainer()
    verdict = decided(pod, EFA)
    assert verdict.pod["spec"] == pod["spec"]
    assert (verdict.system, verdict.profile) == ("", "rdma")
    told = warned(verdict, Reason.UNKNOWN_QUANTITY)
    assert "how many of vpc.amazonaws.com/efa it needs is not known" in told
    assert "the pod is left alone, since the rest of profile rdma is of no use without that" in told


@pytest.mark.parametrize("known", ["node", "own"])
def test_a_pod_whose_devices_are_known_gets_all(known: str) -> None:
    pod = trainer(nodeSelector={TYPE: "p5"}) if known == "node" else trainer()
    if known == "own":
        pod["spec"]["containers"][0]["resources"]["limits"]["vpc.amazonaws.com/efa"] = 4
    own = decided(pod, EFA).pod["spec"]["containers"][0]
    assert own["resources"]["limits"]["hugepages-2Mi"] == "1Gi"
    assert own["resources"]["limits"]["vpc.amazonaws.com/efa"] in ("32", 4)
    assert podspec.env_value(own, "FI_PROVIDER") == "efa"


def test_a_member_of_a_job_that_meets_on_a_network_still_meets_there() -> None:
    """The others may wait for its address."""
    before = pods.load(WORKER)
    for_nccl = "ncclConf: true\n  deviceVariables: [NCCL_IB_HCA]"
    verdict = decided(before, f"{OF_NETWORK}\n  {for_nccl}\n  {EFA}")
    own = verdict.pod["spec"]["containers"][0]
    assert needs(verdict.pod) == ["master-addr"]
    limits = podspec.limits(own)
    assert limits["rdma/hca"] == "1"
    assert not {"hugepages-2Mi", "vpc.amazonaws.com/efa"} & limits.keys()
    assert not podspec.has_env(own, "FI_PROVIDER")
    assert own["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    assert "daemon" not in [one["name"] for one in podspec.init_containers(verdict.pod)]
    assert not {"sys", names.NCCL_CONF_VOLUME} & {
        volume["name"] for volume in podspec.volumes(verdict.pod)
    }
    assert not podspec.has_env(own, "NCCL_IB_HCA")
    told = warned(verdict, Reason.UNKNOWN_QUANTITY)
    assert told.endswith(
        "it gets the networks of profile rdma, where its job meets, and no other part of it"
    )
    assert [each.step for each in verdict.decisions if each.reason is Reason.UNKNOWN_QUANTITY] == [
        "profile"
    ]


def test_a_rank_that_meets_elsewhere_keeps_the_network_that_rank_zero_names_to_nccl() -> None:
    pod = rank_of_c10d(1)
    own = decided(pod, f"{OF_NETWORK}\n  {EFA}").pod["spec"]["containers"][0]
    assert podspec.env_value(own, "NCCL_SOCKET_IFNAME") == "=net1"
    assert not podspec.has_env(own, "FI_PROVIDER")


@pytest.mark.parametrize(
    ("part", "labels"), [(EFA, {}), ("podSecurity: skip", {names.POD_SECURITY_ENFORCE: "baseline"})]
)
def test_a_member_that_meets_by_a_claim_keeps_the_claim(part: str, labels: dict[str, str]) -> None:
    """Its address comes from there alone: without, its whole job would wait for ever."""
    by_claim = "claims: [{name: nic, requests: [{name: nic, deviceClassName: a.io}]}]\n"
    by_claim += "  rendezvous: {addressSource: claim, network: nic@net1}"
    verdict = decided(pods.load(WORKER), f"{by_claim}\n  {part}", labels)
    assert needs(verdict.pod) == ["master-addr"]
    own = podspec.containers(verdict.pod)[0]
    assert own["resources"]["claims"] == [{"name": "fabric-nic"}]
    assert [each["name"] for each in verdict.pod["spec"]["resourceClaims"]] == ["fabric-nic"]
    assert not podspec.has_env(own, "FI_PROVIDER")


def test_a_network_without_devices_needs_no_ipc_lock() -> None:
    verdict = decided(pods.load(WORKER), f"networks: [{{network: default/rdma-net}}]\n  {EFA}")
    assert not podspec.containers(verdict.pod)[0].get("securityContext")


@pytest.mark.parametrize("level", ["baseline", "restricted"])
def test_a_pod_whose_parts_pod_security_refuses_gets_nothing(level: str) -> None:
    pod = trainer()
    labels = {names.POD_SECURITY_ENFORCE: level}
    verdict = decided(pod, "podSecurity: skip", labels)
    assert verdict.pod == pod
    told = warned(verdict, Reason.POD_SECURITY)
    assert (
        "refuses volume sys (hostPath), container trainer (capability IPC_LOCK), container daemon (privileged)"
        in told
    )
    assert decided(pod, "podSecurity: ignore", labels).pod != pod
    assert decided(pod, "podSecurity: skip").pod != pod


def test_only_ipc_lock_is_left_out_by_itself() -> None:
    """A raised memlock limit of the nodes stands for it."""
    labels = {names.POD_SECURITY_ENFORCE: "baseline"}
    verdict = decided(trainer(), "podSecurity: skip", labels, rest=CONTAINER)
    own = verdict.pod["spec"]["containers"][0]
    assert podspec.env_value(own, "FI_PROVIDER") == "efa"
    assert not own.get("securityContext")


@pytest.mark.parametrize(
    ("name", "mounts"), [("mine", [{"name": "mine", "mountPath": "/host"}]), ("sys", [])]
)
def test_what_the_pod_brings_itself_is_not_refused_by_us(name: str, mounts: list[Object]) -> None:
    own = {"name": "daemon", "image": "a.io/b:2", "restartPolicy": "Always"}
    pod = trainer(initContainers=[own], volumes=[{"name": name, "hostPath": {"path": "/sys"}}])
    pod["spec"]["containers"][0]["volumeMounts"] = mounts
    verdict = decided(pod, "podSecurity: skip", {names.POD_SECURITY_ENFORCE: "baseline"})
    assert podspec.env_value(verdict.pod["spec"]["containers"][0], "FI_PROVIDER") == "efa"


def test_a_windows_pod_asks_no_pod_security_for_what_it_does_not_get() -> None:
    verdict = decided(
        trainer(os={"name": "windows"}),
        "podSecurity: skip",
        {names.POD_SECURITY_ENFORCE: "baseline"},
    )
    told = [(each.outcome, each.reason) for each in verdict.decisions if each.step == "profile"]
    assert told == [(Outcome.SKIPPED, Reason.WINDOWS), (Outcome.INJECTED, Reason.ADDED)]
