"""Rendezvous: which variables move, on whom, and what the wait container waits for."""

from typing import Any

import pytest
import yaml

from tests import pods
from tests.core.builders import attachment, carry_out, environment, outcomes, plan, profile
from tests.pods import add_env, drop_env, set_command
from tests.tables import table
from webhook import __version__
from webhook.core import names
from webhook.core.injection import rendezvous, wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import INSTALLED
from webhook.core.profiles import RendezvousSettings as Settings
from webhook.core.profiles.grammar import Seconds, WaitImage
from webhook.core.workloads import TrainingPod, recognise

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def load(name: str) -> Object:
    return pods.load(f"pods/{name}.yaml")


def run_in_shell(name: str, text: str) -> Object:
    return set_command(load(name), "bash", "-c", text)


def plan_for(pod: Object, container: int = 0, **tweaks: Any) -> Plan:
    found = recognise(pod)
    assert isinstance(found, TrainingPod)
    why = Decision("rendezvous", Outcome.SKIPPED, found.reason, found.message)
    stays = None if found.rendezvous else why
    drawn = {"training_pod": found, "rendezvous": found.rendezvous, "why_no_rendezvous": stays}
    return plan(pod, attachment("default/rdma-net"), container=container, **{**drawn, **tweaks})


def meet(pod: Object, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(rendezvous.inject, pod, plan_for(pod, **tweaks))


def waits_for(pod: Object) -> list[str]:
    every = pod["spec"].get("initContainers") or []
    found = [one["command"][4:] for one in every if one["name"] == names.WAIT_CONTAINER]
    assert len(found) <= 1
    return found[0] if found else []


def elastic(number: int) -> Object:
    pod = drop_env(load("kubeflow-pytorchjob-1"), "MASTER_ADDR", "PET_MASTER_ADDR", "PET_NNODES")
    pod["metadata"]["name"] = f"bert-worker-{number}"
    if number == 0:
        pod["metadata"]["labels"]["training.kubeflow.org/job-role"] = "master"
    add_env(pod, "PET_NNODES", "1:3")
    return add_env(pod, "PET_RDZV_ENDPOINT", "bert-worker-0:29400")


def test_an_elastic_pytorchjob_keeps_its_endpoint_and_tells_scripts_the_address() -> None:
    zero, one = meet(elastic(0))[0], meet(elastic(1))[0]
    for pod in (zero, one):
        assert environment(pod)["PET_RDZV_ENDPOINT"] == "bert-worker-0:29400"
        assert environment(pod)["MASTER_ADDR"] == "@master-addr"
    assert environment(zero)["PET_LOCAL_ADDR"] == "@local-addr"
    assert waits_for(one) == ["master-addr"]


def test_with_a_master_and_elastic_policy_the_other_address_stays() -> None:
    pod = add_env(load("kubeflow-pytorchjob-1"), "PET_RDZV_ENDPOINT", "bert-worker-0:29400")
    pod["metadata"]["name"] = "bert-worker-1"
    found = environment(meet(pod)[0])
    assert found["MASTER_ADDR"] == found["PET_MASTER_ADDR"] == "bert-master-0"


def test_every_occurrence_in_every_container_moves() -> None:
    before = add_env(load("kubeflow-pytorchjob-1"), "MASTER_ADDR", "bert-master-0")
    env = [{"name": "MASTER_ADDR", "value": "bert-master-0"}]
    before["spec"]["containers"].append(pods.minimal_container("monitor", env=env))
    pod, _ = meet(before)
    every = [entry for one in pod["spec"]["containers"] for entry in one["env"]]
    entries = [entry for entry in every if entry["name"] == "MASTER_ADDR"]
    assert len(entries) == 3
    assert all("valueFrom" in entry and "value" not in entry for entry in entries)
    assert pod["spec"]["initContainers"][0] == before["spec"]["initContainers"][0]


def test_every_member_gives_its_own_address_where_names_could_sort_first() -> None:
    pod, _ = meet(load("kubeflow-pytorchjob-1"), local_address_everywhere=True)
    assert environment(pod)["PET_LOCAL_ADDR"] == "@local-addr"
    assert waits_for(pod) == ["master-addr", "local-addr:own"]


def init_containers(pod: Object) -> list[str]:
    return [one["name"] for one in pod["spec"]["initContainers"]]


def test_the_wait_container_is_last_once_and_never_moved() -> None:
    pod, _ = meet(load("kubeflow-pytorchjob-1"))
    assert init_containers(pod) == ["init-pytorch", names.WAIT_CONTAINER]
    pod["spec"]["initContainers"].append({"name": "late", "image": "registry.example.com/late:1"})
    again, decisions = meet(pod)
    assert init_containers(again) == ["init-pytorch", names.WAIT_CONTAINER, "late"]
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.ALREADY_THERE)]


def test_another_injectors_container_is_served_on_the_second_pass() -> None:
    pod, _ = meet(load("torch-on-k8s-1"))
    env = [{"name": "MASTER_ADDR", "value": "bert-master-0"}]
    pod["spec"]["containers"].insert(0, pods.minimal_container("proxy", env=env))
    again, _ = meet(pod, container=1)
    assert environment(again, 0)["MASTER_ADDR"] == "@master-addr"
    assert init_containers(again) == [names.WAIT_CONTAINER]


def wait_container(before: Object, **tweaks: Any) -> Object:
    pod, _ = meet(before, **tweaks)
    [found] = [one for one in pod["spec"]["initContainers"] if one["name"] == names.WAIT_CONTAINER]
    return dict(found)


def test_the_wait_container_is_written_as_the_controller_and_people_read_it() -> None:
    found = wait_container(load("kubeflow-pytorchjob-1"))
    told = {each["name"]: each["value"] for each in found["env"]}
    assert told.pop("FABRIC_INJECTOR_JOB").startswith("bert-")
    assert told == {
        "FABRIC_INJECTOR_RANK_ZERO": "bert-master-0",
        "FABRIC_INJECTOR_TIMEOUT": "1800",
        "NVIDIA_VISIBLE_DEVICES": "void",
    }
    mounts = [(each["mountPath"], each["readOnly"]) for each in found["volumeMounts"]]
    assert mounts == [(names.WAIT_MOUNT_PATH, True), (TOKEN_PATH, True)]
    assert found["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_the_wait_container_asks_for_no_device() -> None:
    before = load("kubeflow-pytorchjob-1")
    same = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8", "rdma/hca": "1"}
    before["spec"]["containers"][0]["resources"] = {"limits": same, "requests": dict(same)}
    found = wait_container(before)
    expected = {"cpu": "64", "memory": "256Gi"}
    assert found["resources"] == {"limits": expected, "requests": expected}
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in found["env"]
    assert found["image"] == before["spec"]["containers"][0]["image"]
    assert found["imagePullPolicy"] == "IfNotPresent"


@table(
    "resources",
    yaml.safe_load("""
burstable: {limits: {cpu: "4", memory: 1Gi}, requests: {cpu: "1"}}
no memory: {limits: {cpu: "1"}, requests: {cpu: "1"}}
no limits: {requests: {cpu: "2", memory: 1Gi}}
guaranteed: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: "1", memory: 1Gi}}
guaranteed by default: {limits: {cpu: 2, memory: 1Gi}}
not a quantity: {limits: {cpu: many, memory: 1Gi}}
storage: {limits: {ephemeral-storage: 8Gi}, requests: {ephemeral-storage: 1Gi}}
"""),
)
def test_the_wait_container_asks_for_as_much_as_the_training_container(resources: Object) -> None:
    """A LimitRange that takes the training container takes the wait container too."""
    before = load("kubeflow-pytorchjob-1")
    before["spec"]["containers"][0]["resources"] = resources
    assert wait_container(before)["resources"] == resources


def test_the_wait_container_leaves_nothing_to_add_for_the_service_account_plugin() -> None:
    """It mounts a token where nothing is mounted, and the webhook is then called again."""
    found = wait_container(load("kubeflow-pytorchjob-1"))
    [there] = [mount for mount in found["volumeMounts"] if mount["mountPath"] == TOKEN_PATH]
    assert there == {"name": names.WAIT_VOLUME, "mountPath": TOKEN_PATH, "readOnly": True}


def test_a_wait_container_that_holds_a_token_keeps_it() -> None:
    """As a pod of an earlier release does: two mounts at one path are not valid."""
    before, _ = meet(load("kubeflow-pytorchjob-1"))
    [waiting] = [
        one for one in before["spec"]["initContainers"] if one["name"] == names.WAIT_CONTAINER
    ]
    waiting["volumeMounts"][-1] = {"name": "api-access", "mountPath": TOKEN_PATH, "readOnly": True}
    assert wait_container(before)["volumeMounts"] == waiting["volumeMounts"]


def waiting_volume() -> tuple[Object, Object]:
    """Give a pod that waits, and its volume of addresses."""
    pod, _ = meet(load("kubeflow-pytorchjob-1"))
    [volume] = [one for one in pod["spec"]["volumes"] if one["name"] == names.WAIT_VOLUME]
    return pod, volume


def test_a_file_that_another_adds_to_the_volume_of_the_wait_container_stays() -> None:
    before, volume = waiting_volume()
    uid = {"path": "uid", "fieldRef": {"fieldPath": "metadata.uid"}}
    volume["downwardAPI"]["items"].append(uid)
    mount = {"name": names.WAIT_VOLUME, "mountPath": "/their"}
    before["spec"]["containers"][0].setdefault("volumeMounts", []).append(mount)
    assert meet(before)[0] == before


def test_a_volume_that_the_wait_container_alone_mounts_is_made_that_of_the_addresses() -> None:
    before, volume = waiting_volume()
    files = volume.pop("downwardAPI")
    volume["emptyDir"] = {}
    after, _ = meet(before)
    assert {"name": names.WAIT_VOLUME, "downwardAPI": files} in after["spec"]["volumes"]


def test_the_wait_container_passes_restricted_where_the_training_container_does() -> None:
    before = load("kubeflow-pytorchjob-1")
    before["spec"]["containers"][0]["securityContext"] = {
        "runAsUser": 1000,
        "runAsNonRoot": True,
        "privileged": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        "capabilities": {"add": ["IPC_LOCK"]},
    }
    assert wait_container(before)["securityContext"] == {
        "runAsUser": 1000,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_profile_may_give_the_wait_an_image_of_its_own() -> None:
    settings = Settings(
        wait_image=WaitImage("registry.example.com/busybox:1"), timeout_seconds=Seconds(90)
    )
    found = wait_container(load("kubeflow-pytorchjob-1"), profile=profile(rendezvous=settings))
    assert found["image"] == "registry.example.com/busybox:1"
    assert "imagePullPolicy" not in found
    assert {"name": "FABRIC_INJECTOR_TIMEOUT", "value": "90"} in found["env"]


def test_our_own_image_waits_without_a_shell() -> None:
    settings = profile(rendezvous=Settings(wait_image=WaitImage(INSTALLED)))
    before = load("kubeflow-pytorchjob-1")
    before["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    pod, _ = meet(before, profile=settings, own_image="registry.example.com/fabric-injector:1")
    found = pod["spec"]["initContainers"][-1]
    assert (found["image"], found["command"]) == (
        "registry.example.com/fabric-injector:1",
        ["fabric-injector", "wait", "master-addr"],
    )
    assert "imagePullPolicy" not in found, "that one is for the image of the training container"
    assert wait.needs(pod) == ["master-addr"]
    unknown, decisions = meet(pod, profile=settings)
    assert unknown == pod, "a dry run, which does not know the image, finds nothing to change"
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.ALREADY_THERE)]
    assert wait_container(before, profile=settings)["image"] == f"fabric-injector:{__version__}"


def test_the_script_travels_whole() -> None:
    found = wait_container(load("kubeflow-pytorchjob-1"))
    assert found["command"][:4] == ["sh", "-c", wait.SCRIPT, names.WAIT_CONTAINER]


LONG = {
    "tests": "[" * 300_000 + "] hostname MASTER_ADDR",
    "assignments": "MASTER_ADDR=bert-master-0;" * 12_000,
    "look-ups": "nslookup $MASTER_ADDR;" * 13_000,
    "options": "--master_addr " * 20_000,
    "nested-defaults": "${A:-" * 60_000 + ":",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_very_long_command_costs_no_more_than_its_length(text: str) -> None:
    """A search that went back for each of its starts would take minutes here."""
    pod, decisions = meet(run_in_shell("kubeflow-pytorchjob-0", text + "; torchrun t.py"))
    assert environment(pod)["PET_LOCAL_ADDR"] == "@local-addr"
    assert environment(pod)["MASTER_ADDR"] == (
        "@master-addr" if "MASTER_ADDR" not in text else "bert-master-0"
    )
    assert decisions[0].outcome is Outcome.INJECTED


@pytest.mark.parametrize("own", ["127.0.0.1", "localhost"])
def test_a_rank_zero_that_also_calls_itself_local_is_known_by_its_name_to_a_later_pass(
    own: str,
) -> None:
    pod = drop_env(load("statefulset-0"), "MASTER_ADDR")
    add_env(add_env(pod, "MASTER_ADDR", "ddp-0.ddp.train"), "INIT_METHOD", f"tcp://{own}:29500")
    once, _ = meet(pod)
    assert environment(once)[names.ENV_MASTER_NAME] == "ddp-0.ddp.train"
    again, _ = meet(once)
    assert again == once
    first, second = plan_for(pod).rendezvous, plan_for(once).rendezvous
    assert first is not None
    assert second is not None
    assert second.job == first.job


def test_a_later_pass_knows_that_rank_zero_has_moved_also_where_master_addr_is_empty() -> None:
    pod = load("kubeflow-pytorchjob-0")
    for entry in pod["spec"]["containers"][0]["env"]:
        if entry["name"] == "MASTER_ADDR":
            del entry["value"]
    once, _ = meet(pod)
    again, _ = meet(once)
    assert again == once
    assert "master-addr:own" in once["spec"]["initContainers"][0]["command"]
