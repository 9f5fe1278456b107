"""Whole jobs: every pod of a job is decided, and the job must run afterwards as it did before.

All of its pods with accelerators get the same devices and networks, no text is changed, nobody waits for what nobody publishes.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import pods
from tests.core.manifests import (
    WORLD,
    gains,
    judge,
    needs,
    nobody_waits_in_vain,
    published,
    workload,
)
from tests.profiles import profiles
from tests.worlds import PROFILES
from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.review import Verdict, decide

OWN = {"master-addr:own", "local-addr:own"}
LOCAL = {"local-addr:own"}
ZERO = {"master-addr"}
TRAIN = "torchrun --nnodes=2 --master_addr=$MASTER_ADDR t.py"
BOTH = {"MASTER_ADDR", "PET_MASTER_ADDR"}
STAY: list[set[str]] = [set(), set()]


def roles(first: str, others: str, role: str = "driver", host: str = "") -> Object:
    """Return a leader and two workers, whose MASTER_ADDR is *host* unless it is empty."""
    env = {"env": {"MASTER_ADDR": host}} if host else {}
    return {role: {"run": first, **env}, "workers": {"run": others, "replicas": 2, **env}}


NAMES_STAY = [
    '[ "$POD_NAME" = "${MASTER_ADDR%%.*}" ] && R=0 || R=1; torchrun --node_rank=$R --master_addr=$MASTER_ADDR t.py',
    "[[ $MASTER_ADDR == $POD_NAME.* ]] && R=0; torchrun --node_rank=$R --master_addr=$MASTER_ADDR t.py",
    'R=${MASTER_ADDR%%.*}; if [ "$HOSTNAME" = "$R" ]; then torchrun --node_rank=0 --master_addr=$MASTER_ADDR t.py; fi',
    "case $MASTER_ADDR in $HOSTNAME*) R=0;; esac; torchrun --node_rank=$R --master_addr=$MASTER_ADDR t.py",
    "echo $MASTER_ADDR | grep ^$HOSTNAME && R=0; torchrun --node_rank=$R --master_addr=$MASTER_ADDR t.py",
    'until nslookup "$MASTER_ADDR"; do sleep 1; done; torchrun --master_addr=$MASTER_ADDR t.py',
    "H=$MASTER_ADDR; nslookup $H; torchrun --master_addr=$H t.py",
    "for h in $MASTER_ADDR; do drill $h; done; torchrun --master_addr=$MASTER_ADDR t.py",
    "resolvectl query $MASTER_ADDR; torchrun --master_addr=$MASTER_ADDR t.py",
]


@pytest.mark.parametrize("variable", ["MASTER_ADDR", "HEAD_NODE", "RDZV_ENDPOINT"])
@pytest.mark.parametrize("text", NAMES_STAY)
def test_a_name_stays_where_the_text_does_more_with_it(text: str, variable: str) -> None:
    for kind, host, waits in (
        ("StatefulSet", "train-0.train", [LOCAL, set()]),
        ("JobSet", "train-w-0-0.train", [LOCAL]),
    ):
        one = {"run": text.replace("MASTER_ADDR", variable), "env": {variable: host}}
        found = judge(workload(kind, {"w": one}))
        assert [needs(pod.after) for pod in found] == waits, [pod.decisions for pod in found]
        assert all(published(pod.after) <= {"PET_LOCAL_ADDR"} for pod in found)
    found = judge(workload("PyTorchJob", {"Master": text, "Worker": text}))
    assert [needs(pod.after) for pod in found] == [OWN, ZERO]
    moved = [published(pod.after) - {"PET_LOCAL_ADDR"} for pod in found]
    assert moved == [{"PET_MASTER_ADDR"}] * 2


UNHEARD = [
    "# torchrun --nnodes=1\n{}",
    "{} --standalone-eval",
    "{} --standalone",
    "{} --broker redis://localhost:0",
    "etcd --standalone & {}",
    "torchrun --standalone prepare.py; {}",
    "torchrun --rdzv_backend=etcd --rdzv_endpoint=etcd:2379 prepare.py; {}",
    "torchrun --nnodes=1 prepare.py; {}",
    "torchrun --rdzv_endpoint=localhost:0 prepare.py && {}",
]


@pytest.mark.parametrize("on_all", [False, True], ids=["rank 0", "all"])
@pytest.mark.parametrize("text", UNHEARD)
def test_a_text_that_looks_like_one_node_changes_nothing(text: str, on_all: bool) -> None:
    said = text.format(TRAIN)
    other = said if on_all else TRAIN
    head = "train-driver-0-0.train"

    def told(row: Object) -> list[object]:
        return [
            (one.job, one.rendezvous, needs(one.after), published(one.after)) for one in judge(row)
        ]

    odd, plain = ({"Master": one, "Worker": two} for one, two in ((said, other), (TRAIN, TRAIN)))
    assert told(workload("PyTorchJob", odd)) == told(workload("PyTorchJob", plain))
    odd, plain = roles(said, other, host=head), roles(TRAIN, TRAIN, host=head)
    assert told(workload("JobSet", odd)) == told(workload("JobSet", plain))


@pytest.mark.parametrize("leader", ["driver", "main", "node", "rank0", "trainer", "head"])
def test_the_leader_of_a_jobset_or_volcano_job_may_have_any_name(leader: str) -> None:
    plugins: Object = {"plugins": {"svc": [], "env": []}}
    for kind, host, more in (
        ("JobSet", f"train-{leader}-0-0.train", {}),
        ("VolcanoJob", f"train-{leader}-0.train", plugins),
    ):
        row = workload(kind, roles(TRAIN, TRAIN, leader, host), **more)
        row["roles"][leader]["env"] = {"MASTER_ADDR": "localhost"}
        found = judge(row)
        assert [needs(pod.after) for pod in found] == [set(), ZERO, ZERO]
        assert len({pod.job for pod in found}) == 1
        nobody_waits_in_vain((pod.job, pod.rendezvous, pod.after) for pod in found)


SYSTEMS = (
    "grove indexed-job jobset kubedl-pytorchjob kubeflow-pytorchjob kubeflow-trainer lws "
    "mpijob-worker statefulset stormservice torch-on-k8s torchx-volcano volcano-pod volcano-pytorch"
)
JOBS = [
    *([f"pods/{system}-{number}.yaml" for number in (0, 1)] for system in SYSTEMS.split()),
    ["pods/raycluster-head.yaml", "pods/raycluster-worker.yaml"],
    ["live/statefulset/ddp-0.review.json", "live/statefulset/ddp-1.review.json"],
]
SCRAPS = [
    *NAMES_STAY,
    *UNHEARD,
    *("torchrun", "--nnodes=1", "--master_addr=$MASTER_ADDR", "mpirun", "x"),
    *("'", '"', "$(", "; ", " ", "\n", "#"),
]


def admit(job: list[str], edited: set[int], text: str) -> list[Verdict]:
    """Decide about the pods of a fixture job, some of which run another text."""
    members = [pods.load(name) for name in job]
    for number in edited:
        pods.set_command(members[number], "bash", "-c", text)
    return [decide(pod, "train", PROFILES, WORLD) for pod in members]


@given(
    job=st.sampled_from(JOBS),
    number=st.integers(0, 1),
    text=st.lists(st.sampled_from(SCRAPS), max_size=4).map("".join) | st.text(max_size=40),
)
@settings(deadline=None, max_examples=100)
def test_one_members_text_decides_only_about_its_own_variables(
    job: list[str], number: int, text: str
) -> None:
    before = admit(job, set(), "")
    by_torchx = before[0].system == "torchx"  # it writes one text for all replicas of a role
    after = admit(job, {0, 1} if by_torchx else {number}, text)
    for plain, edited in zip(before, after, strict=True):
        assert edited.allowed
        assert gains(edited.pod, edited.pod) == gains(plain.pod, plain.pod)
        assert edited.system == plain.system
        assert by_torchx or (edited.job, edited.role) == (plain.job, plain.role)
    nobody_waits_in_vain((one.job, one.role, one.pod) for one in after)


def test_each_fixture_job_is_one_job() -> None:
    for job in JOBS:
        found = admit(job, set(), "")
        assert len({(one.system, one.job) for one in found}) == 1


def of_trainjob(number: int, role: str, text: str) -> Object:
    """Return a pod of a TrainJob whose runtime starts its ranks by MPI: it sets no variable of torch."""
    pod = pods.load(f"pods/kubeflow-trainer-{number}.yaml")
    pods.drop_env(pod, *(entry["name"] for entry in pod["spec"]["containers"][0]["env"]))
    pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] = role
    pod["spec"]["volumes"] = [
        {"name": "mpi-ssh-auth", "secret": {"secretName": "llama-mpi-ssh-auth"}}
    ]
    return pods.set_command(pod, "bash", "-c", text)


def test_a_launcher_that_trains_is_treated_as_the_nodes_are() -> None:
    found = [
        decide(pod, "train", PROFILES, WORLD)
        for pod in (
            of_trainjob(0, "launcher", "deepspeed --hostfile h t.py"),
            of_trainjob(1, "node", "/usr/sbin/sshd -De"),
        )
    ]
    assert len({(one.system, one.job, gains(one.pod, one.pod)) for one in found}) == 1
    assert [needs(one.pod) for one in found] == [set(), set()]


PROFILE_OF_ITS_OWN = profiles(
    """
shared: {networks: [{network: default/rdma-net}], container: {env: [{name: PET_RDZV_CONF, value: join_timeout=1800}]}}
name: {networks: [{network: default/rdma-net}], rendezvous: {rankZero: name}}
without: {networks: [{network: default/rdma-net}], rendezvous: {enabled: false}}
"""
)


@pytest.mark.parametrize(
    ("profile", "waits", "moves"),
    [
        ("shared", [OWN, ZERO], [BOTH, BOTH]),
        ("name", [LOCAL, ZERO], [set(), BOTH]),
        ("without", STAY, STAY),
    ],
)
def test_a_profile_may_set_or_leave_what_torchrun_is_told(
    profile: str, waits: list[set[str]], moves: list[set[str]]
) -> None:
    zero, one = (
        decide(
            pods.load(f"pods/kubeflow-pytorchjob-{number}.yaml"),
            "train",
            PROFILE_OF_ITS_OWN,
            WORLD,
            profile=profile,
        )
        for number in (0, 1)
    )
    assert [needs(each.pod) for each in (zero, one)] == waits
    assert [published(each.pod) - {"PET_LOCAL_ADDR"} for each in (zero, one)] == moves
    values = [
        podspec.env_value(each.pod["spec"]["containers"][0], "PET_RDZV_CONF")
        for each in (zero, one)
    ]
    own = ["join_timeout=1800,is_host=1", "join_timeout=1800"]
    assert values == (own if profile == "shared" else [None, None])
