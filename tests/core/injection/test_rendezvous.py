"""Rendezvous: which variables and arguments move, on whom, and what the wait container waits for."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests import pods
from tests.core.builders import attachment, carry_out, outcomes, plan, profile
from tests.pods import add_env, drop_env, set_command
from webhook import __version__
from webhook.core import names
from webhook.core.injection import rendezvous, wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.profiles import INSTALLED
from webhook.core.profiles import RendezvousSettings as Settings
from webhook.core.workloads import TrainingPod, recognise

C10D = "torchrun --rdzv_backend=c10d --rdzv_endpoint=$(MASTER_ADDR):29500 --nnodes=2 train.py"


def plan_for(pod: Object, container: int = 0, **tweaks: Any) -> Plan:
    found = recognise(pod)
    assert isinstance(found, TrainingPod)
    stays = None if found.rendezvous else Decision("rendezvous", Outcome.SKIPPED, found.reason, found.message)
    settings = {"training_pod": found, "rendezvous": found.rendezvous, "why_no_rendezvous": stays, **tweaks}
    return plan(pod, attachment("default/rdma-net"), container=container, **settings)


def meet(pod: Object, **tweaks: Any) -> tuple[Object, list[Decision]]:
    return carry_out(rendezvous.inject, pod, plan_for(pod, **tweaks))


def environment(pod: Object, container: int = 0) -> dict[str, str]:
    """Return each variable as text; a published one as ``@master-addr``."""
    found = {}
    for entry in pod["spec"]["containers"][container].get("env") or []:
        path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath", "")
        assert not ("value" in entry and "valueFrom" in entry)
        found[entry["name"]] = f"@{path.split('/')[1][:-2]}" if names.PREFIX in path else entry.get("value", "?")
    return found


def waits_for(pod: Object) -> list[str]:
    found = [one for one in pod["spec"].get("initContainers") or [] if one["name"] == names.WAIT_CONTAINER]
    assert len(found) <= 1
    return found[0]["command"][4:] if found else []


def test_torchx_rank_zero_keeps_its_endpoint_and_gives_its_own_address() -> None:
    pod, decisions = meet(pods.load("pods/volcano-pod-0.yaml"))
    found = environment(pod)
    assert found["TORCHX_RANK0_HOST"] == "localhost"
    assert found["PET_LOCAL_ADDR"] == "@local-addr"
    assert found["MASTER_ADDR"] == "@master-addr"
    assert found["PET_RDZV_CONF"] == "is_host=1"
    assert found["VC_TRAIN_0_HOSTS"] == "?"
    assert waits_for(pod) == ["master-addr:own", "local-addr:own"]
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]


def test_a_torchx_worker_takes_the_address_where_its_command_reads_it() -> None:
    before = pods.load("pods/volcano-pod-1.yaml")
    pod, _ = meet(before)
    found = environment(pod)
    assert found["VC_TRAIN_0_HOSTS"] == "@master-host"
    assert found["VC_TRAIN_1_HOSTS"] == "?"
    assert found["MASTER_ADDR"] == "@master-addr"
    assert "PET_LOCAL_ADDR" not in found
    assert "PET_RDZV_CONF" not in found
    assert waits_for(pod) == ["master-addr"]
    order = [entry["name"] for entry in pod["spec"]["containers"][0]["env"]]
    assert [name for name in order if name.startswith("VC_")] == [
        entry["name"] for entry in before["spec"]["containers"][0]["env"] if entry["name"].startswith("VC_")
    ]


def test_a_hyphen_in_a_torchx_role_is_cured() -> None:
    before = pods.load("pods/volcano-pod-1.yaml")
    set_command(
        before, "bash", "-c", "torchrun --rdzv_endpoint ${VC_TRAIN-LLM_0_HOSTS:=localhost}:29500 --nnodes 2 train.py"
    )
    pod, _ = meet(before)
    assert environment(pod)["VC_TRAIN"] == "@master-host"


SAME_ON_ALL = [
    ("pods/kubeflow-pytorchjob-{}.yaml", ["MASTER_ADDR", "PET_MASTER_ADDR"]),
    ("pods/kubeflow-trainer-{}.yaml", ["PET_MASTER_ADDR", "MASTER_ADDR"]),
    ("pods/jobset-{}.yaml", ["MASTER_ADDR"]),
    ("pods/indexed-job-{}.yaml", ["MASTER_ADDR"]),
    ("pods/statefulset-{}.yaml", ["MASTER_ADDR"]),
    ("pods/lws-{}.yaml", ["LWS_LEADER_ADDRESS", "MASTER_ADDR"]),
    ("pods/kubedl-pytorchjob-{}.yaml", ["MASTER_ADDR"]),
    ("pods/torch-on-k8s-{}.yaml", ["MASTER_ADDR"]),
    ("pods/volcano-pytorch-{}.yaml", ["MASTER_ADDR"]),
]


@pytest.mark.parametrize(("pattern", "variables"), SAME_ON_ALL, ids=[row[0] for row in SAME_ON_ALL])
def test_the_address_variables_are_the_same_on_all_ranks(pattern: str, variables: list[str]) -> None:
    master, _ = meet(pods.load(pattern.format(0)))
    worker, _ = meet(pods.load(pattern.format(1)))
    for variable in variables:
        assert environment(master)[variable] == environment(worker)[variable] == "@master-addr"
    assert environment(master)["PET_RDZV_CONF"] == "is_host=1"
    assert environment(master)["PET_LOCAL_ADDR"] == "@local-addr"
    assert "PET_RDZV_CONF" not in environment(worker)
    assert "PET_LOCAL_ADDR" not in environment(worker)
    assert waits_for(worker) == ["master-addr"]


@pytest.mark.parametrize(("number", "who"), [(0, "rank 0"), (1, "a worker")])
def test_says_where_the_addresses_will_come_from(number: int, who: str) -> None:
    _, [decision] = meet(pods.load(f"pods/kubeflow-pytorchjob-{number}.yaml"))
    assert decision.message == (
        f"{who} of job bert-6025ea2866: its addresses come from net1 of default/rdma-net once Multus has given them"
    )


C10D_PODS = ["pods/kubeflow-pytorchjob-{}.yaml", "pods/volcano-pytorch-{}.yaml", "pods/indexed-job-{}.yaml"]


@pytest.mark.parametrize("in_shell", [False, True], ids=["plain", "sh-c"])
@pytest.mark.parametrize("pattern", C10D_PODS)
def test_a_c10d_endpoint_of_the_users_own_is_hosted_by_rank_zero(pattern: str, in_shell: bool) -> None:
    command = ("sh", "-c", C10D.replace("$(MASTER_ADDR)", "$MASTER_ADDR")) if in_shell else tuple(C10D.split())
    master, _ = meet(set_command(pods.load(pattern.format(0)), *command))
    worker, _ = meet(set_command(pods.load(pattern.format(1)), *command))
    assert environment(master)["MASTER_ADDR"] == environment(worker)["MASTER_ADDR"] == "@master-host"
    assert environment(master)["PET_RDZV_CONF"] == "is_host=1"
    assert environment(master)["PET_LOCAL_ADDR"] == "@local-addr"
    assert master["spec"]["containers"][0]["command"] == list(command)


def with_source(pod: Object, name: str, source: Object) -> Object:
    pod["spec"]["containers"][0]["env"].append({"name": name, "valueFrom": source})
    return pod


ACCELERATE = ("accelerate", "launch", "--num_machines=2", "--main_process_ip=$(MASTER_ADDR)")
KEEPS: dict[str, Callable[[Object], Object]] = {
    "command-holds-rdzv-conf": lambda pod: set_command(pod, *C10D.split(), "--rdzv_conf=timeout=900"),
    "command-holds-rdzv-conf-with-dash": lambda pod: set_command(pod, "sh", "-c", C10D + " --rdzv-conf is_host=true"),
    "variable-says-is-host": lambda pod: add_env(pod, "PET_RDZV_CONF", "timeout=900,is_host=0"),
    "variable-is-hidden": lambda pod: with_source(pod, "PET_RDZV_CONF", {"configMapKeyRef": {"name": "c", "key": "k"}}),
    "command-sets-the-variable": lambda pod: set_command(pod, "sh", "-c", "PET_RDZV_CONF=timeout=900 " + C10D),
    "accelerate-c10d": lambda pod: set_command(pod, *ACCELERATE, "--rdzv_backend", "c10d", "t.py"),
    "accelerate-by-file": lambda pod: set_command(pod, *ACCELERATE, "--config_file", "accelerate.yaml", "t.py"),
    "hostname-is-the-address": lambda pod: set_command(
        pod, "bash", "-c", "if [[ $(hostname) == ${MASTER_ADDR%%.*} ]]; then RANK=0; fi; torchrun t.py"
    ),
    "address-is-the-hostname": lambda pod: set_command(
        pod, "sh", "-c", '[ "$MASTER_ADDR" = "$HOSTNAME" ] && export RANK=0; torchrun t.py'
    ),
    "the-image-brings-the-shell": lambda pod: set_command(pod, '[ "$MASTER_ADDR" = "$HOSTNAME" ] && export RANK=0'),
}


@pytest.mark.parametrize("change", KEEPS.values(), ids=KEEPS)
def test_rank_zero_keeps_its_name_where_nobody_would_host_the_store(change: Callable[[Object], Object]) -> None:
    pod, decisions = meet(change(pods.load("pods/kubeflow-pytorchjob-0.yaml")))
    found = environment(pod)
    assert (found["MASTER_ADDR"], found["PET_MASTER_ADDR"]) == ("bert-master-0", "bert-master-0")
    assert found.get("PET_RDZV_CONF") in (None, "timeout=900,is_host=0", "?"), "as the user wrote it"
    assert found["PET_LOCAL_ADDR"] == "@local-addr"
    assert waits_for(pod) == ["local-addr:own"]
    assert (Outcome.KEPT, Reason.KEEPS_NAME) in outcomes(decisions)


WHY_KEPT = {
    "command-holds-rdzv-conf": "its command holds --rdzv_conf, so that torchrun reads no PET_RDZV_CONF",
    "variable-says-is-host": "its PET_RDZV_CONF says is_host",
    "variable-is-hidden": "its PET_RDZV_CONF is not known here",
    "command-sets-the-variable": "its command sets PET_RDZV_CONF itself",
    "accelerate-c10d": "accelerate launch does not pass PET_RDZV_CONF on to torchrun",
    "hostname-is-the-address": "its command compares its host name with the address",
}


@pytest.mark.parametrize(("case", "why"), WHY_KEPT.items(), ids=WHY_KEPT)
def test_says_why_rank_zero_keeps_its_name(case: str, why: str) -> None:
    _, decisions = meet(KEEPS[case](pods.load("pods/kubeflow-pytorchjob-0.yaml")))
    assert decisions[-1].message == f"rank 0 keeps its address variables: {why}"


def test_rank_zero_keeps_its_name_where_the_profile_says_so() -> None:
    by_name = profile(rendezvous=Settings(rank_zero="name"))
    pod, decisions = meet(pods.load("pods/kubeflow-pytorchjob-0.yaml"), profile=by_name)
    worker, _ = meet(pods.load("pods/kubeflow-pytorchjob-1.yaml"), profile=by_name)
    assert environment(pod)["MASTER_ADDR"] == "bert-master-0"
    assert decisions[-1].message == "rank 0 keeps its address variables: profile rdma says rankZero: name"
    assert environment(worker)["MASTER_ADDR"] == "@master-addr"


def test_is_host_joins_a_configuration_that_is_there() -> None:
    pod, _ = meet(add_env(pods.load("pods/kubeflow-pytorchjob-0.yaml"), "PET_RDZV_CONF", "timeout=900"))
    assert environment(pod)["PET_RDZV_CONF"] == "timeout=900,is_host=1"


OWN_LOCAL: dict[str, Callable[[Object], Object]] = {
    "variable": lambda pod: add_env(pod, "PET_LOCAL_ADDR", "192.168.7.7"),
    "flag": lambda pod: set_command(pod, "torchrun", "--local-addr", "192.168.7.7", "train.py"),
    "flag-with-underscore": lambda pod: set_command(pod, "sh", "-c", "torchrun --local_addr=192.168.7.7 train.py"),
}


@pytest.mark.parametrize("change", OWN_LOCAL.values(), ids=OWN_LOCAL)
def test_a_users_own_local_address_is_respected(change: Callable[[Object], Object]) -> None:
    pod, _ = meet(change(pods.load("pods/kubeflow-pytorchjob-0.yaml")))
    assert environment(pod).get("PET_LOCAL_ADDR") in (None, "192.168.7.7")
    assert waits_for(pod) == ["master-addr:own"]


def elastic(number: int) -> Object:
    pod = drop_env(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "MASTER_ADDR", "PET_MASTER_ADDR", "PET_NNODES")
    pod["metadata"]["name"] = f"bert-worker-{number}"
    if number == 0:
        pod["metadata"]["labels"]["training.kubeflow.org/job-role"] = "master"
    add_env(pod, "PET_NNODES", "1:3")
    return add_env(pod, "PET_RDZV_ENDPOINT", "bert-worker-0:29400")


def test_an_elastic_pytorchjob_moves_the_host_of_the_endpoint_on_the_others_only() -> None:
    zero, one = meet(elastic(0))[0], meet(elastic(1))[0]
    assert environment(zero)["PET_RDZV_ENDPOINT"] == "bert-worker-0:29400"
    assert environment(zero)["PET_LOCAL_ADDR"] == "@local-addr"
    assert environment(one)["PET_RDZV_ENDPOINT"] == f"$({names.ENV_MASTER_HOST}):29400"
    assert environment(one)[names.ENV_MASTER_HOST] == "@master-host"
    order = [entry["name"] for entry in one["spec"]["containers"][0]["env"]]
    assert order.index(names.ENV_MASTER_HOST) < order.index("PET_RDZV_ENDPOINT")


def test_with_a_master_and_elastic_policy_the_other_address_stays() -> None:
    pod = add_env(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "PET_RDZV_ENDPOINT", "bert-worker-0:29400")
    pod["metadata"]["name"] = "bert-worker-1"
    found = environment(meet(pod)[0])
    assert found["MASTER_ADDR"] == found["PET_MASTER_ADDR"] == "bert-master-0"
    assert found["PET_RDZV_ENDPOINT"] == f"$({names.ENV_MASTER_HOST}):29400"


ARGUMENTS = [
    ("joined", ["tune", "run", "--rdzv_endpoint=llama-node-0-0.llama:29500", "x"], 2, "--rdzv_endpoint=$(H):29500"),
    ("apart", ["tune", "--rdzv-endpoint", "llama-node-0-0.llama:29500", "x"], 2, "$(H):29500"),
    ("shell", ["sh", "-c", "torchrun --master_addr llama-node-0-0.llama x"], 2, "torchrun --master_addr $(H) x"),
    ("scheme", ["python", "x.py", "--dist-url=tcp://llama-node-0-0.llama:2"], 2, "--dist-url=tcp://$(H):2"),
    (
        "beside another option",
        ["torchrun", "--rdzv_endpoint=llama-node-0-0.llama:29500", "--rdzv_id=llama-node-0-0.llama", "x"],
        2,
        "--rdzv_id=llama-node-0-0.llama",
    ),
    (
        "quoted",
        ["sh", "-c", "torchrun --rdzv_endpoint='llama-node-0-0.llama:1' x"],
        2,
        "torchrun --rdzv_endpoint='$(H):1' x",
    ),
]


@pytest.mark.parametrize(
    ("command", "index", "expected"), [row[1:] for row in ARGUMENTS], ids=[row[0] for row in ARGUMENTS]
)
def test_an_address_in_an_argument_moves(command: list[str], index: int, expected: str) -> None:
    before = set_command(drop_env(pods.load("pods/kubeflow-trainer-1.yaml"), "PET_MASTER_ADDR"), *command)
    pod, _ = meet(before)
    assert pod["spec"]["containers"][0]["command"][index] == expected.replace("$(H)", f"$({names.ENV_MASTER_HOST})")
    assert environment(pod)[names.ENV_MASTER_HOST] == "@master-host"
    assert waits_for(pod) == ["master-addr"]


def test_every_occurrence_in_every_container_moves() -> None:
    before = add_env(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "MASTER_ADDR", "bert-master-0")
    sidecar = {
        "name": "monitor",
        "image": "registry.example.com/monitor:1",
        "env": [{"name": "MASTER_ADDR", "value": "bert-master-0"}],
    }
    before["spec"]["containers"].append(sidecar)
    pod, _ = meet(before)
    entries = [entry for one in pod["spec"]["containers"] for entry in one["env"] if entry["name"] == "MASTER_ADDR"]
    assert len(entries) == 3
    assert all("valueFrom" in entry and "value" not in entry for entry in entries)
    assert pod["spec"]["initContainers"][0] == before["spec"]["initContainers"][0]


def test_a_variable_made_of_the_address_follows_by_itself() -> None:
    before = add_env(pods.load("pods/lws-1.yaml"), "MASTER_ADDR", "$(LWS_LEADER_ADDRESS)")
    add_env(before, "ENDPOINT", "$(MASTER_ADDR):29500")
    found = environment(meet(before)[0])
    assert found["MASTER_ADDR"] == "$(LWS_LEADER_ADDRESS)"
    assert found["LWS_LEADER_ADDRESS"] == "@master-host"


def test_an_address_made_of_the_pods_own_labels_moves() -> None:
    before = drop_env(pods.load("pods/jobset-1.yaml"), "MASTER_ADDR")
    path = "metadata.labels['jobset.sigs.k8s.io/jobset-name']"
    with_source(before, "JOBSET", {"fieldRef": {"apiVersion": "v1", "fieldPath": path}})
    add_env(before, "MASTER_ADDR", "$(JOBSET)-workers-0-0.$(JOBSET)")
    assert environment(meet(before)[0])["MASTER_ADDR"] == "@master-addr"


def test_every_member_gives_its_own_address_where_names_could_sort_first() -> None:
    pod, _ = meet(pods.load("pods/kubeflow-pytorchjob-1.yaml"), local_address_everywhere=True)
    assert environment(pod)["PET_LOCAL_ADDR"] == "@local-addr"
    assert waits_for(pod) == ["master-addr", "local-addr:own"]


def test_the_wait_container_is_last_once_and_never_moved() -> None:
    pod, _ = meet(pods.load("pods/kubeflow-pytorchjob-1.yaml"))
    assert [one["name"] for one in pod["spec"]["initContainers"]] == ["init-pytorch", names.WAIT_CONTAINER]
    pod["spec"]["initContainers"].append({"name": "late", "image": "registry.example.com/late:1"})
    again, decisions = meet(pod)
    assert [one["name"] for one in again["spec"]["initContainers"]] == ["init-pytorch", names.WAIT_CONTAINER, "late"]
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.ALREADY_THERE)]


def test_another_injectors_container_is_served_on_the_second_pass() -> None:
    pod, _ = meet(pods.load("pods/jobset-1.yaml"))
    env = [{"name": "MASTER_ADDR", "value": "ddp-workers-0-0.ddp"}]
    pod["spec"]["containers"].insert(0, {"name": "proxy", "image": "registry.example.com/proxy:1", "env": env})
    again, _ = meet(pod, container=1)
    assert environment(again, 0)["MASTER_ADDR"] == "@master-addr"
    assert [one["name"] for one in again["spec"]["initContainers"]] == [names.WAIT_CONTAINER]


def wait_container(before: Object, **tweaks: Any) -> Object:
    pod, _ = meet(before, **tweaks)
    [found] = [one for one in pod["spec"]["initContainers"] if one["name"] == names.WAIT_CONTAINER]
    return dict(found)


def test_the_wait_container_asks_for_no_device() -> None:
    before = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    same = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "8", "rdma/hca": "1"}
    before["spec"]["containers"][0]["resources"] = {"limits": same, "requests": dict(same)}
    found = wait_container(before)
    expected = {"cpu": "64", "memory": "256Gi"}
    assert found["resources"] == {"limits": expected, "requests": expected}
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"} in found["env"]
    assert found["image"] == before["spec"]["containers"][0]["image"]
    assert found["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "1"}}, id="burstable"),
        pytest.param({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}, id="no-memory"),
        pytest.param({"requests": {"cpu": "2", "memory": "1Gi"}}, id="no-limits"),
        pytest.param(
            {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}, id="guaranteed"
        ),
        pytest.param({"limits": {"cpu": 2, "memory": "1Gi"}}, id="guaranteed-by-default"),
        pytest.param({"limits": {"cpu": "many", "memory": "1Gi"}}, id="not-a-quantity"),
    ],
)
def test_the_wait_container_asks_for_as_much_as_the_training_container(resources: Object) -> None:
    """A LimitRange with a ratio or a minimum that takes the training container takes the wait container too."""
    before = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    before["spec"]["containers"][0]["resources"] = resources
    assert wait_container(before)["resources"] == resources


def test_a_container_of_the_same_name_is_made_to_wait() -> None:
    before = pods.load("pods/kubeflow-pytorchjob-1.yaml")
    theirs = {"name": names.WAIT_CONTAINER, "image": "x", "args": ["master-host"], "restartPolicy": "Always"}
    before["spec"]["initContainers"].append(theirs)
    found = wait_container(before)
    assert found["command"][3:] == [names.WAIT_CONTAINER, "master-addr"]
    assert "args" not in found
    assert "restartPolicy" not in found


def test_the_wait_container_passes_restricted_where_the_training_container_does() -> None:
    before = pods.load("pods/kubeflow-pytorchjob-1.yaml")
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
    settings = Settings(wait_image="registry.example.com/busybox:1", timeout_seconds=90)
    found = wait_container(pods.load("pods/kubeflow-pytorchjob-1.yaml"), profile=profile(rendezvous=settings))
    assert found["image"] == "registry.example.com/busybox:1"
    assert "imagePullPolicy" not in found
    assert {"name": "FABRIC_INJECTOR_TIMEOUT", "value": "90"} in found["env"]


def test_our_own_image_waits_without_a_shell() -> None:
    settings = profile(rendezvous=Settings(wait_image=INSTALLED))
    before = pods.load("pods/kubeflow-pytorchjob-1.yaml")
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
    found = wait_container(pods.load("pods/kubeflow-pytorchjob-1.yaml"))
    assert found["command"][:4] == ["sh", "-c", wait.script(), names.WAIT_CONTAINER]


def test_without_rendezvous_nothing_changes_and_the_reason_is_told() -> None:
    before = pods.load("pods/mpijob-worker-0.yaml")
    pod, decisions = meet(before)
    assert pod == before
    assert outcomes(decisions) == [(Outcome.SKIPPED, Reason.NO_PROCESS_GROUP)]


@pytest.mark.parametrize(
    "command",
    ['[ "$MASTER_ADDR" = x ] && hostname; torchrun t.py', "hostname; torchrun --master_addr $MASTER_ADDR t.py [x]"],
)
def test_a_host_name_that_is_not_compared_keeps_nothing(command: str) -> None:
    pod, _ = meet(set_command(pods.load("pods/kubeflow-pytorchjob-0.yaml"), "sh", "-c", command))
    assert environment(pod)["MASTER_ADDR"] == "@master-addr"


LONG = {
    "tests": "[" * 300_000 + "] hostname MASTER_ADDR",
    "assignments": "MASTER_ADDR=bert-master-0;" * 12_000,
    "look-ups": "nslookup $MASTER_ADDR;" * 13_000,
    "options": "--master_addr " * 20_000,
    "nested-defaults": "${A:-" * 60_000 + ":",
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_very_long_command_is_read_to_its_end(text: str) -> None:
    """A search that went back for each of its starts would take minutes here."""
    pod, decisions = meet(
        set_command(pods.load("pods/kubeflow-pytorchjob-0.yaml"), "sh", "-c", text + "; torchrun t.py")
    )
    assert pod["spec"]["containers"][0]["command"][2].endswith("; torchrun t.py")
    assert environment(pod)["PET_RDZV_CONF"] == "is_host=1"
    assert decisions[0].outcome is Outcome.INJECTED


def test_accelerate_with_a_static_rendezvous_moves_on_rank_zero_too() -> None:
    pod, _ = meet(set_command(pods.load("pods/kubeflow-pytorchjob-0.yaml"), *ACCELERATE, "--machine_rank=0", "t.py"))
    assert environment(pod)["MASTER_ADDR"] == "@master-addr"


SHELL_TEXTS = [
    ("export MASTER_ADDR=ddp-0.ddp; python t.py", "export MASTER_ADDR=$(MASTER_ADDR); python t.py", "@master-addr"),
    (
        "export MASTER_ADDR=ddp-0.ddp; torchrun --rdzv_endpoint=$MASTER_ADDR:29500 t.py",
        "export MASTER_ADDR=$(H); torchrun --rdzv_endpoint=$MASTER_ADDR:29500 t.py",
        "@master-host",
    ),
    ("RDZV_ENDPOINT='ddp-0.ddp:1' ./run.sh", "RDZV_ENDPOINT='$(H):1' ./run.sh", "@master-addr"),
    ("INIT_METHOD=tcp://ddp-0.ddp:1 ./run.sh", "INIT_METHOD=tcp://$(H):1 ./run.sh", "@master-addr"),
    (
        "export MASTER_ADDR=ddp-0.ddp OTHER=ddp-0.ddp",
        "export MASTER_ADDR=$(MASTER_ADDR) OTHER=ddp-0.ddp",
        "@master-addr",
    ),
]


@pytest.mark.parametrize(("before", "after", "address"), SHELL_TEXTS)
def test_an_address_that_a_shell_sets_moves(before: str, after: str, address: str) -> None:
    for name in ("pods/statefulset-0.yaml", "pods/statefulset-1.yaml"):
        pod = set_command(drop_env(pods.load(name), "MASTER_ADDR", "MASTER_PORT"), "sh", "-c", before)
        result, _ = meet(pod)
        assert result["spec"]["containers"][0]["command"][2] == after.replace("$(H)", f"$({names.ENV_MASTER_HOST})")
        assert environment(result)["MASTER_ADDR"] == address


def test_a_variable_of_any_name_that_an_option_takes_moves() -> None:
    pod = drop_env(pods.load("pods/statefulset-1.yaml"), "MASTER_ADDR", "MASTER_PORT")
    add_env(set_command(pod, "torchrun", "--rdzv_endpoint=$(HEAD):29500", "t.py"), "HEAD", "ddp-0.ddp")
    assert environment(meet(pod)[0])["HEAD"] == "@master-host"


def test_the_pods_own_name_and_address_stay_though_an_option_takes_them() -> None:
    pod = drop_env(pods.load("pods/lws-0.yaml"), "LWS_LEADER_ADDRESS")
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
    with_source(pod, "IP", source)
    result, _ = meet(set_command(pod, "torchrun", "--rdzv_endpoint=$(IP):29500", "t.py"))
    assert [entry for entry in result["spec"]["containers"][0]["env"] if entry["name"] == "IP"] == [
        {"name": "IP", "valueFrom": source}
    ]
    assert environment(result)["PET_RDZV_CONF"] == "is_host=1"


LOOK_UPS = [
    (
        "until nslookup $MASTER_ADDR; do sleep 1; done; torchrun t.py",
        "until nslookup $NAME; do sleep 1; done; torchrun t.py",
    ),
    ("IP=$(getent hosts ${MASTER_ADDR} | cut -d' ' -f1)", "IP=$(getent hosts ${NAME} | cut -d' ' -f1)"),
    ('until dig +short "$MASTER_ADDR"; do :; done', 'until dig +short "$NAME"; do :; done'),
    ("nslookup $(MASTER_ADDR) && t", "nslookup $(NAME) && t"),
    ("ping -c1 $MASTER_ADDR; run --host $MASTER_ADDR", "ping -c1 $MASTER_ADDR; run --host $MASTER_ADDR"),
    ("nslookup $MASTER_ADDRESSES $OTHER", "nslookup $MASTER_ADDRESSES $OTHER"),
]


@pytest.mark.parametrize(("before", "after"), LOOK_UPS)
def test_a_shell_looks_up_the_name_and_not_the_address(before: str, after: str) -> None:
    """No name server answers for a secondary address, so that a loop around nslookup would never end."""
    pod, _ = meet(set_command(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "sh", "-c", before))
    assert pod["spec"]["containers"][0]["command"][2] == re.sub(r"\bNAME\b", names.ENV_MASTER_NAME, after)
    assert environment(pod)["MASTER_ADDR"] == "@master-addr"
    assert environment(pod)[names.ENV_MASTER_NAME] == "bert-master-0"


def test_rank_zeros_name_follows_the_variables_that_it_is_made_of() -> None:
    """The kubelet puts in only what stands before; a name with ``$(DOMAIN)`` in it would be looked up for ever."""
    pod = drop_env(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "MASTER_ADDR", "PET_MASTER_ADDR")
    with_source(pod, "DOMAIN", {"configMapKeyRef": {"name": "cluster", "key": "domain"}})
    add_env(pod, "MASTER_ADDR", "bert-master-0.$(DOMAIN)")
    found = environment(meet(pod)[0])
    assert found[names.ENV_MASTER_NAME] == "bert-master-0.$(DOMAIN)"
    assert list(found).index("DOMAIN") < list(found).index(names.ENV_MASTER_NAME)


def test_rank_zeros_name_outweighs_an_endpoint_of_the_users_own_in_a_later_pass() -> None:
    pod = drop_env(pods.load("pods/statefulset-1.yaml"), "MASTER_ADDR")
    add_env(set_command(pod, "torchrun", "--rdzv_endpoint=ddp-0.ddp:29500", "t.py"), "PET_RDZV_ENDPOINT", "10.0.0.9:1")
    once, _ = meet(pod)
    first, second = plan_for(pod).rendezvous, plan_for(once).rendezvous
    assert first is not None
    assert first == second


@pytest.mark.parametrize("own", ["127.0.0.1", "localhost"])
def test_a_rank_zero_that_also_calls_itself_local_is_known_by_its_name_to_a_later_pass(own: str) -> None:
    pod = drop_env(pods.load("pods/statefulset-0.yaml"), "MASTER_ADDR")
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
    pod = pods.load("pods/kubeflow-pytorchjob-0.yaml")
    for entry in pod["spec"]["containers"][0]["env"]:
        if entry["name"] == "MASTER_ADDR":
            del entry["value"]
    once, _ = meet(pod)
    again, _ = meet(once)
    assert again == once
    assert "master-addr:own" in once["spec"]["initContainers"][0]["command"]
