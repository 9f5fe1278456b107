"""Members of one job: a worker waits only for a rank 0 that is recognised too, under the same key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import pods
from tests.core.workloads.recognised import member, rendezvous
from tests.pods import add_env, drop_env, set_command
from webhook.core import names
from webhook.core.model import Object, Reason
from webhook.core.workloads import recognise


def one_job(master: Object, worker: Object) -> None:
    assert (rendezvous(master).role, rendezvous(worker).role) == ("master", "worker")
    assert rendezvous(master).job == rendezvous(worker).job


def field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def pair(
    pattern: str, drop: tuple[str, ...] = ("MASTER_ADDR", "MASTER_PORT")
) -> tuple[Object, Object]:
    master, worker = (drop_env(pods.load(pattern.format(index)), *drop) for index in (0, 1))
    return master, worker


REPLICATED = {
    "statefulset": ("pods/statefulset-{}.yaml", "ddp-0.ddp"),
    "indexed-job": ("pods/indexed-job-{}.yaml", "ddp-0.ddp"),
    "jobset": ("pods/jobset-{}.yaml", "ddp-workers-0-0.ddp"),
    "lws": ("pods/lws-{}.yaml", "mnmt-0.mnmt"),
}
SPELLINGS: dict[str, Callable[[Object, str], Object]] = {
    "namespace-by-reference": lambda pod, host: add_env(
        with_field(pod, "NAMESPACE", "metadata.namespace"),
        "MASTER_ADDR",
        f"{host}.$(NAMESPACE).svc.cluster.local",
    ),
    "domain-hidden": lambda pod, host: add_env(pod, "MASTER_ADDR", f"{host}.$(DOMAIN)"),
    "port-hidden": lambda pod, host: add_env(pod, "RDZV_ENDPOINT", f"{host}:$(PORT)"),
    "option-takes-a-variable-of-any-name": lambda pod, host: add_env(
        set_command(pod, "torchrun", "--rdzv_endpoint=$(HEAD):29500", "t.py"), "HEAD", host
    ),
    "option-of-accelerate-takes-it": lambda pod, host: add_env(
        set_command(pod, "accelerate", "launch", "--main_process_ip", "$(HEAD)", "t.py"),
        "HEAD",
        host,
    ),
    "option-takes-it-in-a-shell": lambda pod, host: add_env(
        set_command(pod, "sh", "-c", 'torchrun --rdzv_endpoint "${HEAD_NODE}:29500" t.py'),
        "HEAD_NODE",
        host,
    ),
    "variable-in-two-addresses": lambda pod, host: add_env(
        add_env(add_env(pod, "HEAD", host), "MASTER_ADDR", "$(HEAD)"),
        "RDZV_ENDPOINT",
        "$(HEAD):29500",
    ),
    "name-of-an-earlier-pass-is-empty": lambda pod, host: add_env(
        add_env(pod, names.ENV_MASTER_NAME, ""), "MASTER_ADDR", host
    ),
    "label-by-reference": lambda pod, host: add_env(
        with_field(annotated(pod, "labels", host), "HEAD", "metadata.labels['example.com/head']"),
        "MASTER_ADDR",
        "$(HEAD)",
    ),
    "annotation-by-reference": lambda pod, host: add_env(
        with_field(
            annotated(pod, "annotations", host), "HEAD", "metadata.annotations['example.com/head']"
        ),
        "MASTER_ADDR",
        "$(HEAD)",
    ),
    "namespace-in-the-name": lambda pod, host: add_env(
        with_field(of_namespace(pod, host.partition("-")[0]), "NAMESPACE", "metadata.namespace"),
        "MASTER_ADDR",
        host.replace(host.partition("-")[0], "$(NAMESPACE)"),
    ),
    "variable-before-an-option-of-a-script": lambda pod, host: add_env(
        set_command(pod, "python", "t.py", "--dist-url", "tcp://10.0.0.9:1"), "MASTER_ADDR", host
    ),
    "first-of-equals": lambda pod, host: add_env(
        add_env(pod, "INIT_METHOD", f"tcp://{host}:1"), "DIST_URL", "tcp://10.0.0.9:1"
    ),
    "option-takes-the-pods-own-address": lambda pod, host: add_env(
        set_command(
            with_field(pod, "IP", "status.podIP"), "torchrun", "--master_addr=$(IP)", "t.py"
        ),
        "MASTER_ADDR",
        host,
    ),
    "option-takes-the-pods-own-name": lambda pod, host: add_env(
        set_command(
            with_field(pod, "ME", "metadata.name"), "torchrun", "--master_addr=$(ME)", "t.py"
        ),
        "MASTER_ADDR",
        host,
    ),
    "pieces": lambda pod, host: add_env(
        add_env(pieces(pod, 24), "HEAD", f"{''.join(f'$(P{at})' for at in range(12))}{host}"),
        "MASTER_ADDR",
        f"{''.join(f'$(P{at})' for at in range(12, 24))}$(HEAD)",
    ),
    "last-entry-counts": lambda pod, host: add_env(
        add_env(pod, "MASTER_ADDR", "10.0.0.9"), "MASTER_ADDR", host
    ),
}


def with_field(pod: Object, name: str, path: str) -> Object:
    pod["spec"]["containers"][0]["env"].append(field(name, path))
    return pod


def pieces(pod: Object, count: int) -> Object:
    for at in range(count):
        add_env(pod, f"P{at}", "")
    return pod


def of_namespace(pod: Object, namespace: str) -> Object:
    pod["metadata"]["namespace"] = namespace
    return pod


def annotated(pod: Object, where: str, host: str) -> Object:
    pod["metadata"].setdefault(where, {})["example.com/head"] = host
    return pod


@pytest.mark.parametrize(("pattern", "host"), REPLICATED.values(), ids=REPLICATED)
@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_an_address_is_understood_in_every_spelling(
    spell: Callable[[Object, str], Object], pattern: str, host: str
) -> None:
    master, worker = pair(pattern, ("MASTER_ADDR", "MASTER_PORT", "LWS_LEADER_ADDRESS"))
    one_job(spell(master, host), spell(worker, host))
    assert rendezvous(master).rank_zero == host.partition(".")[0]


HIDDEN = ["$(HEAD)", "$HEAD", "ddp-$(INDEX).ddp", "`head`", "", "ddp-0." + "x" * 2000]


@pytest.mark.parametrize("value", HIDDEN, ids=lambda value: value[:20])
def test_an_address_whose_first_label_is_hidden_names_nobody(value: str) -> None:
    _, worker = pair("pods/statefulset-{}.yaml")
    assert member(add_env(worker, "MASTER_ADDR", value)).reason is Reason.NO_MASTER


@pytest.mark.parametrize("value", ["$(LONG)", "$(HALF).$(HALF_TOO)", "$(SELF)", "$(THIS)"])
def test_an_address_made_of_too_long_texts_or_of_itself_names_nobody(value: str) -> None:
    _, worker = pair("pods/statefulset-{}.yaml")
    for name, text in {
        "LONG": "ddp-0." + "x" * 2000,
        "HALF": "ddp-0." + "x" * 600,
        "HALF_TOO": "x" * 600,
        "SELF": "$(SELF)",
        "THIS": "$(THAT)",
        "THAT": "$(THIS)",
    }.items():
        add_env(worker, name, text)
    assert member(add_env(worker, "MASTER_ADDR", value)).reason is Reason.NO_MASTER


def test_an_address_is_followed_through_many_variables() -> None:
    _, worker = pair("pods/statefulset-{}.yaml")
    add_env(worker, "V0", "ddp-0.ddp")
    for link in range(1, 200):
        add_env(worker, f"V{link}", f"$(V{link - 1})")
    assert rendezvous(add_env(worker, "MASTER_ADDR", "$(V199)")).rank_zero == "ddp-0"


@pytest.mark.parametrize(("references", "named"), [(16, True), (17, False)])
def test_an_address_of_so_many_variables_is_read(references: int, named: bool) -> None:
    _, worker = pair("pods/statefulset-{}.yaml")
    for index in range(references):
        add_env(worker, f"V{index}", "ddp-0.ddp" if not index else "")
    found = member(
        add_env(worker, "MASTER_ADDR", "".join(f"$(V{index})" for index in range(references)))
    )
    assert (found.reason is Reason.NO_MASTER) is not named


@pytest.mark.parametrize(
    "option", ["--rdzv_endpoint=$(HEAD):29500", "--master_addr $ELSEWHERE", "--master_addr=$(BAD)"]
)
def test_an_option_that_takes_a_hidden_variable_names_nobody(option: str) -> None:
    _, worker = pair("pods/statefulset-{}.yaml")
    source = {"configMapKeyRef": {"name": "cluster", "key": "head"}}
    worker["spec"]["containers"][0]["env"].append({"name": "HEAD", "valueFrom": source})
    add_env(worker, "BAD", "/no/host")
    assert (
        member(set_command(worker, "sh", "-c", f"torchrun {option} t.py")).reason
        is Reason.NO_MASTER
    )


STRANGERS = {
    "another-statefulset": ("pods/statefulset-1.yaml", "ddp-master-0.ddp-master"),
    "another-indexed-job": ("pods/indexed-job-1.yaml", "ddp-head-0.ddp"),
    "a-pod-of-no-job-of-the-set": ("pods/jobset-1.yaml", "ddp-0.ddp"),
    "a-worker-of-a-group": ("pods/lws-1.yaml", "mnmt-0-2.mnmt"),
}


@pytest.mark.parametrize(("name", "host"), STRANGERS.values(), ids=STRANGERS)
def test_a_pod_that_only_begins_like_the_jobs_own_is_not_waited_for(name: str, host: str) -> None:
    """Such a rank 0 has another owner, hence another key: its address would never be published to this pod."""
    pod = drop_env(pods.load(name), "MASTER_ADDR", "LWS_LEADER_ADDRESS")
    assert member(add_env(pod, "MASTER_ADDR", host)).reason is Reason.USER_VALUE


@pytest.mark.parametrize(
    ("name", "host"),
    [("pods/volcano-pytorch-1.yaml", "bert-0.other"), ("pods/statefulset-0.yaml", "other-0.other")],
    ids=["first-of-its-task", "rank-zero"],
)
def test_a_pod_that_others_may_follow_publishes_though_its_own_variable_names_a_stranger(
    name: str, host: str
) -> None:
    found = rendezvous(add_env(drop_env(pods.load(name), "MASTER_ADDR"), "MASTER_ADDR", host))
    assert (found.role, found.is_certain, found.hosts, found.by_operator) == (
        "master",
        False,
        frozenset(),
        False,
    )


def leader(pod: Object, labels: dict[str, str], name: str) -> Object:
    pod["metadata"]["labels"].update(labels)
    pod["metadata"]["labels"].pop("jobset.sigs.k8s.io/coordinator", None)
    pod["metadata"]["name"] = pod["spec"]["hostname"] = name
    return pod


OWN = {
    "localhost": lambda pod: add_env(pod, "MASTER_ADDR", "localhost"),
    "any-address": lambda pod: add_env(pod, "MASTER_ADDR", "0.0.0.0"),
    "own-address": lambda pod: with_field(pod, "MASTER_ADDR", "status.podIP"),
    "own-name": lambda pod: with_field(pod, "MASTER_ADDR", "metadata.name"),
    "endpoint": lambda pod: set_command(
        pod, "torchrun", "--nnodes=2", "--rdzv_endpoint=localhost:29500", "t.py"
    ),
    "shell-hostname": lambda pod: set_command(
        pod, "sh", "-c", "torchrun --master_addr=$(hostname -f) t.py"
    ),
    "shell-hostname-in-backticks": lambda pod: set_command(
        pod, "sh", "-c", "torchrun --master_addr=`hostname` t.py"
    ),
    "kubelet-address": lambda pod: set_command(
        with_field(pod, "IP", "status.podIP"), "torchrun", "--rdzv-endpoint=$(IP):29500", "t.py"
    ),
}
LEADERS = {
    "volcano": (
        "pods/volcano-pytorch-{}.yaml",
        {"volcano.sh/task-spec": "master"},
        "bert-master-0",
        "bert-master-0",
    ),
    "volcano-without-index": (
        "pods/volcano-pytorch-{}.yaml",
        {"volcano.sh/task-spec": "master", "volcano.sh/task-index": ""},
        "bert-master-0",
        "bert-master-0",
    ),
    "jobset": (
        "pods/jobset-{}.yaml",
        {"jobset.sigs.k8s.io/replicatedjob-name": "leader"},
        "ddp-leader-0-0",
        "ddp-leader-0-0.ddp",
    ),
    "lws": ("pods/lws-{}.yaml", {}, "mnmt-0", "mnmt-0.mnmt"),
}


@pytest.mark.parametrize(("pattern", "labels", "name", "host"), LEADERS.values(), ids=LEADERS)
@pytest.mark.parametrize("say", OWN.values(), ids=OWN)
def test_a_leader_of_its_own_template_is_rank_zero_though_it_calls_itself_otherwise(
    say: Callable[[Object], Object], pattern: str, labels: dict[str, str], name: str, host: str
) -> None:
    master, worker = pair(pattern, ("MASTER_ADDR", "LWS_LEADER_ADDRESS"))
    one_job(say(leader(master, labels, name)), add_env(worker, "MASTER_ADDR", host))


@pytest.mark.parametrize("prefix", ["training.kubeflow.org/", ""], ids=["now", "before-1.6"])
@pytest.mark.parametrize("host", ["bert-worker-0", None], ids=["named", "unnamed"])
def test_worker_zero_leads_a_pytorchjob_without_a_master(prefix: str, host: str | None) -> None:
    found = [
        drop_env(pods.load("pods/kubeflow-pytorchjob-1.yaml"), "MASTER_ADDR", "PET_MASTER_ADDR")
        for _ in range(2)
    ]
    for index, pod in enumerate(found):
        pod["metadata"]["name"] = f"bert-worker-{index}"
        of_operator = {"job-name": "bert", "replica-type": "worker", "replica-index": str(index)}
        labels = {f"{prefix}{key}": value for key, value in of_operator.items()}
        pod["metadata"]["labels"] = {"group-name": "kubeflow.org", **labels}
        if host is not None:
            add_env(pod, "MASTER_ADDR", host if index else "localhost")
    found[0]["metadata"]["labels"][f"{prefix}job-role"] = "master"
    one_job(*found)
    assert rendezvous(found[1]).rank_zero == "bert-worker-0"


@pytest.mark.parametrize("pattern", ["pods/kubedl-pytorchjob-{}.yaml", "pods/torch-on-k8s-{}.yaml"])
def test_the_master_leads_though_no_pod_names_it(pattern: str) -> None:
    master, worker = pair(pattern)
    one_job(master, worker)
    assert rendezvous(worker).rank_zero == "bert-master-0"


@pytest.mark.parametrize(
    ("pattern", "label"),
    [
        ("pods/kubedl-pytorchjob-{}.yaml", "replica-type"),
        ("pods/kubeflow-pytorchjob-{}.yaml", "training.kubeflow.org/replica-type"),
        ("pods/torch-on-k8s-{}.yaml", "task-type"),
    ],
)
def test_a_pod_of_no_type_is_a_worker(pattern: str, label: str) -> None:
    master, worker = pair(pattern, ("MASTER_ADDR", "PET_MASTER_ADDR"))
    del worker["metadata"]["labels"][label]
    one_job(master, worker)


@pytest.mark.parametrize("known_by", ["controller", "label"])
def test_a_statefulset_is_known_by_its_controller_or_by_its_label(known_by: str) -> None:
    for index, role in enumerate(("master", "worker")):
        pod = pods.load(f"pods/statefulset-{index}.yaml")
        del pod["metadata"]["labels" if known_by == "controller" else "ownerReferences"]
        assert recognise(pod).system == "statefulset"
        assert rendezvous(pod).role == role


def test_a_trainjob_of_any_runtime_meets_where_its_pods_name_rank_zero() -> None:
    master, worker = pair("pods/kubeflow-trainer-{}.yaml", ("PET_MASTER_ADDR", "PET_NNODES"))
    one_job(
        *(
            add_env(set_command(pod, "python", "t.py"), "MASTER_ADDR", "llama-node-0-0.llama")
            for pod in (master, worker)
        )
    )


@pytest.mark.parametrize(
    "label", ["jobset.sigs.k8s.io/job-index", "batch.kubernetes.io/job-completion-index"]
)
def test_another_pod_of_the_leaders_template_is_no_rank_zero(label: str) -> None:
    pod = leader(pair("pods/jobset-{}.yaml")[0], LEADERS["jobset"][1], "ddp-leader-0-0")
    for where in ("labels", "annotations"):
        pod["metadata"][where][label] = "1"
    assert member(add_env(pod, "MASTER_ADDR", "localhost")).reason is Reason.SINGLE_NODE


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("pods/jobset-1.yaml", Reason.SINGLE_NODE),
        ("pods/lws-1.yaml", Reason.USER_VALUE),
        ("pods/statefulset-1.yaml", Reason.SINGLE_NODE),
    ],
)
def test_a_worker_on_localhost_is_a_process_group_of_its_own(name: str, reason: Reason) -> None:
    pod = drop_env(pods.load(name), "MASTER_ADDR", "LWS_LEADER_ADDRESS")
    assert member(add_env(pod, "MASTER_ADDR", "localhost")).reason is reason


def test_the_first_of_a_volcano_task_on_localhost_may_be_rank_zero_and_changes_nothing() -> None:
    pod = drop_env(pods.load("pods/volcano-pytorch-1.yaml"), "MASTER_ADDR", "WORLD_SIZE")
    found = rendezvous(add_env(pod, "MASTER_ADDR", "localhost"))
    assert (found.role, found.is_certain, found.hosts) == ("master", False, frozenset())


def test_a_host_name_that_a_volcano_task_chose_is_the_jobs_own() -> None:
    master, worker = pair("pods/volcano-pytorch-{}.yaml")
    master["spec"]["hostname"] = "head"
    one_job(
        add_env(master, "MASTER_ADDR", "head.bert"), add_env(worker, "MASTER_ADDR", "head.bert")
    )


def test_a_kueue_group_may_call_its_first_pod_localhost() -> None:
    found = []
    for index, address in enumerate(("localhost", "group-0.group")):
        pod = pods.plain(
            {
                "kueue.x-k8s.io/pod-group-name": "group",
                "kueue.x-k8s.io/pod-group-pod-index": str(index),
            },
            hostname=f"group-{index}",
        )
        found.append(add_env(set_command(pod, "torchrun", "t.py"), "MASTER_ADDR", address))
    one_job(*found)
