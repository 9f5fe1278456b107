"""Plans: what is decided about a pod, where a review shows only a part of it."""

from dataclasses import replace
from typing import Any

import pytest

from tests import pods
from tests.profiles import profiles
from tests.tables import table
from tests.worlds import world
from webhook.core import names
from webhook.core.decide import Skip, make_plan
from webhook.core.errors import Unavailable
from webhook.core.job_key import job_key
from webhook.core.model import Namespace, Object, Reason
from webhook.core.plan import Plan

RAIL = "networks: [{network: default/rdma-net}]"
WORKER = "kubeflow-pytorchjob-1"
NO_MASTER = "indexed-job-1"
"""A rank that meets by an endpoint of its own, once that is its command's."""
OWNER = {"kind": "Job", "name": "ddp", "uid": "u-1", "controller": True}


def plan(spec: str, pod: Object | str = WORKER, **changes: Any) -> Plan | Skip:
    known = replace(profiles(f"p: {{{spec}}}"), **changes)
    found = pods.load(f"pods/{pod}.yaml") if isinstance(pod, str) else pod
    return make_plan(found, Namespace("train", {names.PROFILE: "p"}), known, world())


def planned(spec: str, pod: Object | str = WORKER, **changes: Any) -> Plan:
    found = plan(spec, pod, **changes)
    assert isinstance(found, Plan)
    return found


def elsewhere(*words: str) -> Object:
    """Return a rank that names its endpoint itself."""
    pod = pods.drop_env(pods.load(f"pods/{NO_MASTER}.yaml"), "MASTER_ADDR")
    pod["metadata"]["ownerReferences"] = [OWNER]
    return pods.set_command(
        pod, "torchrun", "--rdzv_backend=etcd", "--rdzv_endpoint=etcd:2379", "--nnodes=2", *words
    )


def test_a_source_is_shown_the_pod() -> None:
    asked = '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"r"}]'
    pod = pods.load(f"pods/{WORKER}.yaml")
    pod["metadata"]["annotations"] = {
        names.GKE_INTERFACES: asked,
        names.GKE_DEFAULT_INTERFACE: "eth0",
    }
    found = planned("rendezvous: {addressSource: gke}", pod)
    assert found.rendezvous_network is not None
    assert (found.rendezvous_network.key, found.other_interfaces) == ("r", ("eth1",))


def test_a_rank_without_accelerators_may_be_left_out() -> None:
    pod = pods.load(f"pods/{WORKER}.yaml")
    pod["spec"]["containers"][0]["resources"] = {}
    found = plan(f"pods: accelerators, {RAIL}", pod)
    assert isinstance(found, Skip)
    assert "for pods with accelerators" in found.decision.message


def test_the_container_of_the_training_system_trains() -> None:
    pod = pods.load(f"pods/{WORKER}.yaml")
    pod["spec"]["containers"][0]["resources"] = {}
    pod["spec"]["containers"].insert(0, {"name": "log", "command": ["torchrun", "log.py"]})
    assert planned(RAIL, pod).container_name == "pytorch"


def test_a_pod_that_is_left_out_names_its_profile() -> None:
    pod = pods.load(f"pods/{WORKER}.yaml")
    pod["spec"]["os"] = {"name": "windows"}
    found = plan(RAIL, pod)
    assert isinstance(found, Skip)
    assert (found.decision.reason, found.profile) == (Reason.WINDOWS, "p")


def test_the_key_of_ranks_without_rank_zero_is_that_of_their_owner() -> None:
    local = f"{RAIL}, addressVariables: [VLLM_HOST_IP]"
    first, second = elsewhere(), elsewhere()
    first["metadata"]["name"], second["metadata"]["name"] = "ddp-0-a", "ddp-1-b"
    keys = [found.job for pod in (first, second) if (found := planned(local, pod).rendezvous)]
    assert keys == [job_key("ddp", planned(local, first).system, "u-1", "", "")] * 2


def test_a_pod_that_names_the_network_itself_is_completed() -> None:
    pod = pods.plain()
    pod["metadata"]["annotations"] = {names.NETWORKS: "rail-0"}
    space = Namespace("rails", {names.PROFILE: "p"})
    known = profiles("p: {networks: [{network: rail-0}]}")
    assert isinstance(make_plan(pod, space, known, world()), Plan)


def test_a_rank_that_meets_elsewhere_waits_for_its_devices() -> None:
    found = planned(f"{RAIL}, deviceVariables: [NCCL_IB_HCA]", elsewhere())
    assert found.rendezvous is not None
    assert found.why_no_rendezvous is None
    assert (found.rendezvous.role, found.rendezvous.rank_zero) == ("worker", "")
    assert found.rendezvous.job.startswith("ddp-")
    assert planned(RAIL, elsewhere()).rendezvous is None, "no variable asks for them"


def test_a_pod_with_its_own_address_is_told_why_it_has_none() -> None:
    spec = f"{RAIL}, addressVariables: [OWN], rendezvous: {{enabled: false}}"
    why = planned(spec, elsewhere()).why_no_rendezvous
    assert why is not None
    assert why.message == "profile p says rendezvous: {enabled: false}"


def test_on_the_nodes_network_nobody_gives_an_address() -> None:
    pod = pods.load(f"pods/{WORKER}.yaml")
    pod["spec"]["hostNetwork"] = True
    why = planned(RAIL, pod).why_no_rendezvous
    assert why is not None
    assert why.message.endswith("Multus gives it no secondary address")


def test_the_system_names_the_training_container() -> None:
    pod = pods.load(f"pods/{WORKER}.yaml")
    [own] = pod["spec"]["containers"]
    own["resources"] = {}
    pod["spec"]["containers"].insert(0, pods.minimal_container("logs"))
    assert planned(RAIL, pod).container_name == own["name"]


def test_claims_that_nobody_serves_are_known() -> None:
    assert planned(RAIL, claims_problem="no claims here").claims_problem == "no claims here"


def test_a_pod_without_containers_is_still_one_of_its_system() -> None:
    pod = pods.load(f"pods/{WORKER}.yaml")
    pod["spec"]["containers"] = []
    found = plan(RAIL, pod)
    assert isinstance(found, Skip)
    assert (found.system, found.profile) == ("pytorchjob", "p")


@table("name, raised", {"the new one": ("new", True), "another": ("other", False)})
def test_a_new_profile_is_asked_for_by_its_name(name: str, raised: bool) -> None:
    cluster = world()
    cluster.has_profile = lambda each: each == "new"
    space = Namespace("train", {names.PROFILE: name})
    with pytest.raises(Exception) as told:  # noqa: PT011  # which of two
        make_plan(pods.plain(), space, profiles("p: {}"), cluster)
    assert isinstance(told.value, Unavailable) is raised
