"""Whole jobs: every pod of a manifest is decided, and the job must run afterwards as it did before.

Each case is a job as people write them. All of its pods with accelerators get the same devices and networks, no text is changed, nobody
waits for what nobody publishes; the case says which pods wait for what, whose variables move, and which pods are left alone.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import pods
from tests.profiles import profiles
from tests.worlds import PROFILES, world
from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.injection import wait
from webhook.core.model import Object
from webhook.core.reconcile.jobs import Jobs
from webhook.core.reconcile.member import read_member
from webhook.core.review import Verdict, decide
from webhook.dry_run.judge import PodResult, dry_run

WORLD = world()
GPU = "nvidia.com/gpu"
OWN = {"master-addr:own", "local-addr:own"}
LOCAL = {"local-addr:own"}
ZERO = {"master-addr"}


def c(text: str, name: str = "main", gpu: str = GPU, **env: Any) -> Object:
    """Return a container that runs a shell's text; ``{"path"}`` is a fieldRef; with *gpu* empty it asks for no accelerator."""
    found: Object = {"name": name, "image": "registry.example.com/image:1"}
    if text:
        found["command"] = ["bash", "-c", text]
    entries = [_variable(key, value) for key, value in env.items()]
    resources: Object = {"limits": {gpu: "8"}} if gpu else {}
    return found | {"env": entries, "resources": resources}


def _variable(name: str, value: str | set[str]) -> Object:
    if isinstance(value, str):
        return {"name": name, "value": value}
    (path,) = value
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def spec(*containers: Object) -> Object:
    return {"spec": {"containers": list(containers)}}


def kind(version: str, name: str, **body: Any) -> Object:
    return {"apiVersion": version, "kind": name, "metadata": {"name": "ddp"}, "spec": body}


def pytorchjob(master: Object, worker: Object) -> Object:
    roles = {"Master": (master, 1), "Worker": (worker, 2)}
    specs = {
        role: {"replicas": count, "template": spec(one)} for role, (one, count) in roles.items()
    }
    return kind("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=specs)


def job(container: Object, *more: Object) -> Object:
    size = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    return kind("batch/v1", "Job", **size, template=spec(container, *more))


def jobset(**roles: Object) -> Object:
    replicated = [
        {
            "name": role,
            "template": {"spec": job(one)["spec"] | {"completions": count, "parallelism": count}},
        }
        for count, (role, one) in zip((1, 2), roles.items(), strict=False)
    ]
    return kind("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=replicated)


def statefulset(*containers: Object) -> Object:
    return kind("apps/v1", "StatefulSet", replicas=2, serviceName="ddp", template=spec(*containers))


def volcano(**tasks: Object) -> Object:
    found = [
        {"name": task, "replicas": count, "template": spec(one)}
        for count, (task, one) in zip((1, 2), tasks.items(), strict=False)
    ]
    return kind("batch.volcano.sh/v1alpha1", "Job", tasks=found, plugins={"svc": [], "env": []})


def lws(leader: Object, worker: Object) -> Object:
    template = {"size": 2, "leaderTemplate": spec(leader), "workerTemplate": spec(worker)}
    return kind(
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", replicas=1, leaderWorkerTemplate=template
    )


def raycluster(head: Object, worker: Object) -> Object:
    group = {"groupName": "gpus", "replicas": 2, "rayStartParams": {}, "template": spec(worker)}
    return kind(
        "ray.io/v1",
        "RayCluster",
        headGroupSpec={"rayStartParams": {}, "template": spec(head)},
        workerGroupSpecs=[group],
    )


class Case(NamedTuple):
    """A job and what becomes of its pods, the first shown first: what each waits for, and which of its variables move."""

    manifest: Object
    waits: list[set[str]]
    moves: list[set[str]]
    left_alone: frozenset[int] = frozenset()


TOKENIZE = "torchrun --standalone --nproc_per_node=1 tokenize.py && torchrun train.py"
TRAIN = "torchrun --nnodes=2 --master_addr=$MASTER_ADDR t.py"
BOTH = {"MASTER_ADDR", "PET_MASTER_ADDR"}
HEAD = "ddp-driver-0-0.ddp"
STAY: list[set[str]] = [set(), set()]
CASES: dict[str, Case] = {
    "a PyTorchJob whose Master tokenizes alone first": Case(
        pytorchjob(c(TOKENIZE, "pytorch"), c("torchrun train.py", "pytorch")),
        [OWN, ZERO],
        [BOTH, BOTH],
    ),
    "a PyTorchJob of an image's own entrypoint": Case(
        pytorchjob(c("", "pytorch"), c("", "pytorch")), [OWN, ZERO], [BOTH, BOTH]
    ),
    "a PyTorchJob whose sidecar stands alone": Case(
        pytorchjob(
            c("torchrun t.py", "pytorch"), c("torchrun t.py", "pytorch", PET_STANDALONE="1")
        ),
        [OWN, ZERO],
        [BOTH, BOTH],
    ),
    "a PyTorchJob that meets at etcd": Case(
        pytorchjob(
            *[c("torchrun --rdzv_backend=etcd-v2 --rdzv_endpoint=etcd:2379 t.py", "pytorch")] * 2
        ),
        [OWN, ZERO],
        [BOTH, BOTH],
    ),
    "a StatefulSet": Case(
        statefulset(c(TRAIN, MASTER_ADDR="ddp-0.ddp")), [OWN, ZERO], [{"MASTER_ADDR"}] * 2
    ),
    "a StatefulSet of an image's own entrypoint": Case(
        statefulset(c("", MASTER_ADDR="ddp-0.ddp")), STAY, STAY
    ),
    "a StatefulSet of a script's file": Case(
        statefulset(c("./run.sh", MASTER_ADDR="ddp-0.ddp")), STAY, STAY
    ),
    "a StatefulSet of processors": Case(
        statefulset(
            c("tail -f log", "log-agent", ""), c(TRAIN, "pytorch", "", MASTER_ADDR="ddp-0.ddp")
        ),
        [OWN, ZERO],
        [{"MASTER_ADDR"}] * 2,
    ),
    "an indexed Job of c10d": Case(
        job(c("torchrun --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 t.py", HEAD="ddp-0.ddp")),
        [LOCAL, set()],
        STAY,
    ),
    "an indexed Job whose text names rank 0": Case(
        job(c("torchrun --rdzv_backend=c10d --rdzv_endpoint=ddp-0.ddp:29500 t.py")),
        [LOCAL, set()],
        STAY,
    ),
    "an indexed Job that names rank 0 in a subshell": Case(
        job(c("(cd / && python t.py --master_addr ddp-0.ddp-svc)")), STAY, STAY
    ),
    "an indexed Job that asks for the answer of a launcher": Case(
        job(c("x=$(torchrun --nnodes=2 --master_addr=$MASTER_ADDR t.py)", MASTER_ADDR="ddp-0.ddp")),
        [set(), set()],
        STAY,
    ),
    "an indexed Job whose line goes on": Case(
        job(c("torchrun --nnodes=2 --master_addr=ddp-0.ddp\\\n  t.py")), [LOCAL, set()], STAY
    ),
    "a JobSet whose leader says localhost, named in text": Case(
        jobset(
            driver=c("torchrun --nnodes=3 --master_addr=localhost t.py"),
            workers=c(f"torchrun --nnodes=3 --master_addr={HEAD} t.py"),
        ),
        [set(), set(), set()],
        [set(), set(), set()],
    ),
    "a JobSet whose leader says localhost, named by a variable": Case(
        jobset(driver=c(TRAIN, MASTER_ADDR="localhost"), workers=c(TRAIN, MASTER_ADDR=HEAD)),
        [set(), ZERO, ZERO],
        [set(), {"MASTER_ADDR"}, {"MASTER_ADDR"}],
    ),
    "a JobSet whose leader takes its own address": Case(
        jobset(
            main=c(TRAIN, MASTER_ADDR={"status.podIP"}),
            node=c(TRAIN, MASTER_ADDR="ddp-main-0-0.ddp"),
        ),
        [set(), ZERO, ZERO],
        [set(), {"MASTER_ADDR"}, {"MASTER_ADDR"}],
    ),
    "a JobSet with a coordinator of no accelerator": Case(
        jobset(coordinator=c("sleep 100", gpu=""), workers=c("sleep 100", gpu="")),
        [set()] * 3,
        [set()] * 3,
        frozenset((0, 1, 2)),
    ),
    "a JobSet of JAX": Case(
        jobset(workers=c("python t.py", JAX_COORDINATOR_ADDRESS="ddp-workers-0-0.ddp")),
        [set()],
        [set()],
    ),
    "a Volcano Job whose master says localhost": Case(
        volcano(
            rank0=c("torchrun --nnodes=3 --master_addr=localhost t.py"),
            trainer=c("torchrun --nnodes=3 --master_addr=$VC_RANK0_HOSTS t.py"),
        ),
        [set(), set(), set()],
        [set(), set(), set()],
    ),
    "a Volcano Job that reads the hosts' file": Case(
        volcano(
            master=c("torchrun --nnodes=3 --master_addr=localhost t.py"),
            worker=c("torchrun --nnodes=3 --master_addr=$(cat /etc/volcano/master.host) t.py"),
        ),
        [set(), set(), set()],
        [set(), set(), set()],
    ),
    "databases and file servers": Case(
        statefulset(
            c(
                "",
                gpu="",
                REDIS_MASTER_ADDR="ddp-0.ddp",
                MASTER_HOST="ddp-0",
                VOLUME_MASTER_ADDRESS="ddp-0:1",
            )
        ),
        STAY,
        STAY,
        frozenset((0, 1)),
    ),
    "a LeaderWorkerSet of nginx": Case(
        lws(c("nginx", gpu=""), c("nginx", gpu="")), STAY, STAY, frozenset((0, 1))
    ),
    "vLLM on a LeaderWorkerSet": Case(
        lws(
            c(
                "vllm serve m --nnodes 2 --node-rank 0 --master-addr $LWS_LEADER_ADDRESS",
                VLLM_HOST_IP={"status.podIP"},
            ),
            c(
                "vllm serve m --nnodes 2 --node-rank 1 --master-addr $LWS_LEADER_ADDRESS",
                VLLM_HOST_IP={"status.podIP"},
            ),
        ),
        STAY,
        STAY,
    ),
    "SGLang on a LeaderWorkerSet": Case(
        lws(
            *[
                c(
                    "python3 -m sglang.launch_server --dist-init-addr $(LWS_LEADER_ADDRESS):20000 --nnodes 2"
                )
            ]
            * 2
        ),
        STAY,
        STAY,
    ),
    "Ray on a LeaderWorkerSet": Case(
        lws(
            c("ray start --head --block"),
            c("ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"),
        ),
        STAY,
        STAY,
    ),
    "KServe's look-up on a LeaderWorkerSet": Case(
        lws(
            *[c("DP_ADDRESS=$(getent hosts $LWS_LEADER_ADDRESS | cut -d' ' -f1); vllm serve m")] * 2
        ),
        STAY,
        STAY,
    ),
    "TPUs": Case(
        job(c(TRAIN, gpu="google.com/tpu", MASTER_ADDR="ddp-0.ddp")), STAY, STAY, frozenset((0, 1))
    ),
    "a Ray head without accelerator": Case(
        raycluster(c("ray start --head", "ray-head", ""), c("ray start", "ray-worker")),
        STAY,
        STAY,
        frozenset((0,)),
    ),
    "a user's settings of the rendezvous": Case(
        pytorchjob(*[c("torchrun t.py", "pytorch", PET_RDZV_CONF="join_timeout=1800")] * 2),
        [OWN, ZERO],
        [BOTH, BOTH],
    ),
}
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
for number, text in enumerate(NAMES_STAY):
    for name, waits in (("statefulset", [LOCAL, set()]), ("jobset", [LOCAL])):
        own = "ddp-0.ddp" if name == "statefulset" else "ddp-w-0-0.ddp"
        for variable in ("MASTER_ADDR", "HEAD_NODE", "RDZV_ENDPOINT"):
            one = c(text.replace("MASTER_ADDR", variable), **{variable: own})
            manifest = statefulset(one) if name == "statefulset" else jobset(w=one)
            CASES[f"{name} whose text does more with {variable}, {number}"] = Case(
                manifest, waits, [set()] * len(waits)
            )
    one = c(text, "pytorch")
    CASES[f"a PyTorchJob whose text does more with MASTER_ADDR, {number}"] = Case(
        pytorchjob(one, one), [OWN, ZERO], [{"PET_MASTER_ADDR"}] * 2
    )


def judge(manifest: Object) -> tuple[PodResult, ...]:
    found = dry_run(
        json.dumps(manifest), namespace="train", profile=None, profiles=PROFILES, world=WORLD
    )
    assert not any(one.broken for one in found.ignored)
    return found.pods


def needs(pod: Object) -> set[str]:
    return set(wait.needs(pod))


def published(pod: Object) -> set[str]:
    """Return the variables of an injected pod that take an address which is published, rank 0's or the pod's own."""
    path = f"metadata.annotations['{names.PREFIX}"
    entries = [entry for container in podspec.containers(pod) for entry in podspec.env(container)]
    return {
        one["name"]
        for one in entries
        if str(one.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")).startswith(path)
    }


def gains(before: Object, after: Object) -> str:
    """Return what a pod got of devices, networks and memory, as one text."""
    resources = [one.get("resources") for one in podspec.containers(after)]
    volumes = [one for one in podspec.volumes(after) if one["name"] == names.SHM_VOLUME]
    networks = podspec.annotations(after).get(names.NETWORKS)
    return json.dumps([find_pod_accelerator(before), resources, volumes, networks], sort_keys=True)


def nobody_waits_in_vain(found: Iterable[tuple[str, str, Object]]) -> None:
    """Check that whoever waits for rank 0 has one: *found* gives key, role and injected pod."""
    members = list(found)
    published_by = {key for key, role, _ in members if role == "master"}
    assert {key for key, _, pod in members if "master-addr" in needs(pod)} <= published_by


@pytest.mark.parametrize("name", CASES)
def test_a_job_is_decided_as_one(name: str) -> None:
    case = CASES[name]
    found = judge(case.manifest)
    assert [pod.allowed for pod in found] == [True] * len(case.waits), [
        pod.message for pod in found
    ]
    for pod in found:
        for before, after in zip(
            podspec.containers(pod.before), podspec.containers(pod.after), strict=True
        ):
            assert podspec.argv(before) == podspec.argv(after), "no text is ever changed"
    left_alone = {number for number, pod in enumerate(found) if pod.before == pod.after}
    assert left_alone == case.left_alone
    counted = [pod for number, pod in enumerate(found) if number not in left_alone]
    assert (
        len({gains(pod.before, pod.after) for pod in counted if find_pod_accelerator(pod.before)})
        <= 1
    )
    assert len({(pod.system, pod.profile) for pod in counted}) <= 1
    assert [needs(pod.after) for pod in found] == case.waits, [pod.decisions for pod in found]
    given = [published(pod.after) - {"PET_LOCAL_ADDR"} for pod in found]
    assert given == case.moves
    nobody_waits_in_vain((pod.job, pod.rendezvous, pod.after) for pod in found)


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
    for odd, plain in (
        (
            pytorchjob(c(said, "pytorch"), c(other, "pytorch")),
            pytorchjob(c(TRAIN, "pytorch"), c(TRAIN, "pytorch")),
        ),
        (
            jobset(driver=c(said, MASTER_ADDR=HEAD), workers=c(other, MASTER_ADDR=HEAD)),
            jobset(driver=c(TRAIN, MASTER_ADDR=HEAD), workers=c(TRAIN, MASTER_ADDR=HEAD)),
        ),
    ):
        found, expected = (
            [
                (one.job, one.rendezvous, needs(one.after), published(one.after))
                for one in judge(manifest)
            ]
            for manifest in (odd, plain)
        )
        assert found == expected


@pytest.mark.parametrize("leader", ["driver", "main", "node", "rank0", "trainer", "head"])
def test_the_leader_of_a_jobset_or_volcano_job_may_have_any_name(leader: str) -> None:
    host = {"jobset": f"ddp-{leader}-0-0.ddp", "volcano": f"ddp-{leader}-0.ddp"}
    for system, make in (("jobset", jobset), ("volcano", volcano)):
        found = judge(
            make(
                **{
                    leader: c(TRAIN, MASTER_ADDR="localhost"),
                    "others": c(TRAIN, MASTER_ADDR=host[system]),
                }
            )
        )
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
    "torchrun",
    "--nnodes=1",
    "--master_addr=$MASTER_ADDR",
    "'",
    '"',
    "$(",
    "; ",
    " ",
    "\n",
    "#",
    "mpirun",
    "x",
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
@settings(deadline=None, max_examples=300)
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


@pytest.mark.parametrize(
    "job", [job for job in JOBS if admit(job, set(), "")[0].job], ids=lambda job: job[0]
)
def test_the_controller_publishes_what_admitted_members_wait_for(job: list[str]) -> None:
    jobs, published, own = Jobs(), dict[str, dict[str, str]](), ("192.168.0.10", "192.168.0.11")
    members = []
    for number, verdict in enumerate(admit(job, set(), "")):
        metadata = {
            **verdict.pod["metadata"],
            "name": f"pod-{number}",
            "uid": f"uid-{number}",
            "namespace": "train",
        }
        network, _, rest = metadata["annotations"][names.RENDEZVOUS_NETWORK].partition("@")
        status = json.dumps(
            [{"name": network, "interface": rest.partition("/")[0], "ips": [own[number]]}]
        )
        metadata["annotations"] = {**metadata["annotations"], names.NETWORK_STATUS: status}
        members.append(needs(verdict.pod))
        jobs.update(("train", metadata["name"]), read_member({"metadata": metadata}))
    for unit in jobs.units():
        written = jobs.publication(unit)
        assert written is not None
        published[unit.name] = dict(written.annotations)
    for number, waits in enumerate(members):
        for need in waits:
            address = own[number] if need.startswith("local-addr") else own[0]
            assert published[f"pod-{number}"][names.PREFIX + need.partition(":")[0]] == address


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
