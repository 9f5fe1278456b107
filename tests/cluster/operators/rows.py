"""Jobs whose rank 0 is named in one way or another, and how they must meet: each is a line of ROWS."""

from typing import NamedTuple

from webhook.core.model import Object

from .manifests import (
    container,
    etcd,
    in_order,
    indexed_job,
    jobset,
    last_after_first,
    leader_worker_set,
    pods_of,
    pytorchjob,
    torchrun,
    trainjob,
    volcano_job,
)

NEWEST = "2.15.0"
"""The version of torch that runs all rows."""
ADDRESS = "rank 0's address on the fabric"
C10D = "rank 0's address on the fabric, where torch shows it"
LEADER = "the leader's name, as LeaderWorkerSet writes it"
LOCAL_ADDR = "what torchrun on rank 0 was told to be its own address, else rank 0's full host name"
POD_IP = "rank 0's address on the pod network"
OWN = frozenset(("master-addr:own", "local-addr:own"))
LOCAL = frozenset(("local-addr:own",))
ZERO = frozenset(("master-addr",))
NOTHING: frozenset[str] = frozenset()
"""What a pod waits for."""
STAYS = (LOCAL, NOTHING)
"""Nobody waits for another; rank 0's own address is for c10d, which alone reads it."""

EVERY = ("2.3.1", "2.4.1", "2.6.0", NEWEST)
"""Versions of torch between which the meeting changed: 2.4 tells ranks its host's name, 2.6 and 2.3 the address it was given."""

FROM_2_4 = EVERY[1:]
"""Up to 2.3, torchrun gives all ranks the MASTER_ADDR that rank 0's node was given: a leader that says localhost is met by nobody."""


class Row(NamedTuple):
    """The objects of a job, and for each of its ranks what MASTER_ADDR must be in the training process, and what its pod waits for.

    *rank_zero*: the pod that must become rank 0, by the beginning of its name; empty where torch gives that to the first that comes,
    and *waits* are then in the order of the pods' names. *versions*: of torch, the newest alone where nothing of this depends on it.
    """

    manifests: tuple[Object, ...]
    rank_zero: str
    master_addr: tuple[str, ...]
    waits: tuple[frozenset[str], ...]
    versions: tuple[str, ...] = (NEWEST,)


NAME = "ddp-0.ddp"
HEAD = "ddp-driver-0-0.ddp"
PYTHON = container("python train.py", "pytorch")
TRAINER = container("torchrun train.py", "pytorch")
ALONE_FIRST = container(
    "torchrun --standalone --nnodes=1 --nproc_per_node=1 --no-python true && torchrun train.py",
    "pytorch",
)
LOCALHOST = container(torchrun("0", "localhost"))
DRIVER = container(torchrun("0"), MASTER_ADDR="localhost")
WORKER = container(torchrun("1"), MASTER_ADDR=HEAD)
KSERVE = (
    "until DP_ADDRESS=$(getent hosts $LWS_LEADER_ADDRESS | cut -d' ' -f1)"
    ' && [ "$DP_ADDRESS" ]; do sleep 1; done; '
)
RENDEZVOUS = "torchrun --nnodes=2 --nproc-per-node=1 --rdzv_backend="
MEETS = ((ADDRESS, ADDRESS), (OWN, ZERO))
"""All are given the address that rank 0 waits for too."""


def _of_server(kind: str) -> Row:
    """Give a LeaderWorkerSet whose programs bind to the leader's name, or register their own address, and train at that name."""
    one = container(f"python serve.py {kind} $LWS_LEADER_ADDRESS:6379 $LWS_WORKER_INDEX --nnodes 2")
    return Row((leader_worker_set(one),), "ddp-0", (LEADER, LEADER), (NOTHING, NOTHING))


def _of_etcd(backend: str, rank_zero: str, master_addr: str) -> Row:
    options = f"{backend} --rdzv_id=1 --rdzv_endpoint=etcd:2379"
    job = indexed_job(container(f"{RENDEZVOUS}{options} train.py"))
    return Row((etcd(), job), rank_zero, (master_addr,) * 2, STAYS)


def _of_one_text(text: str, variable: str = "MASTER_ADDR", value: str = NAME) -> Row:
    """Give an indexed Job whose two pods run one text, in which the variable names rank 0 and keeps the name."""
    one = container(text, "main", True, **{variable: value})
    return Row((indexed_job(one),), "ddp-0-", (NAME, NAME), STAYS)


def _of_volcano(host: str, versions: tuple[str, ...] = (NEWEST,)) -> Row:
    """Give a Volcano Job whose master says localhost and whose worker is told of it by what Volcano writes."""
    job = volcano_job(master=LOCALHOST, worker=container(torchrun("1", host)))
    names = ("localhost", "ddp-master-0.ddp")
    return Row((job,), "ddp-master-0", names, (NOTHING, NOTHING), versions)


def _of_localhost(job: Object, waits: frozenset[str], versions: tuple[str, ...] = FROM_2_4) -> Row:
    """Give a JobSet whose driver says localhost, which its worker names; *waits*: what for."""
    return Row((job,), "ddp-driver-0-0", ("localhost", HEAD), (NOTHING, waits), versions)


ROWS = {
    "PyTorchJob whose Master runs a torchrun of one node first": Row(
        (pytorchjob(Master=ALONE_FIRST, Worker=TRAINER),), "ddp-master-0", *MEETS, EVERY
    ),
    "PyTorchJob of python programs": Row(
        (pytorchjob(Master=PYTHON, Worker=PYTHON),), "ddp-master-0", *MEETS
    ),
    "JobSet whose driver says localhost, named in text": _of_localhost(
        jobset(driver=LOCALHOST, workers=container(torchrun("1", HEAD))), NOTHING
    ),
    "JobSet whose leader main takes its own address, named in text": Row(
        (
            jobset(
                main=container(torchrun("0"), MASTER_ADDR="{status.podIP}"),
                workers=container(torchrun("1", "ddp-main-0-0.ddp")),
            ),
        ),
        "ddp-main-0-0",
        (POD_IP, "ddp-main-0-0.ddp"),
        (NOTHING, NOTHING),
    ),
    "JobSet whose leader node says localhost, named by a variable": Row(
        (jobset(node=DRIVER, workers=container(torchrun("1"), MASTER_ADDR="ddp-node-0-0.ddp")),),
        "ddp-node-0-0",
        ("localhost", ADDRESS),
        (NOTHING, ZERO),
        FROM_2_4,
    ),
    "JobSet in order, the driver last": _of_localhost(
        in_order(jobset(workers=WORKER, driver=DRIVER)), ZERO
    ),
    "JobSet whose driver depends on the workers": _of_localhost(
        last_after_first(jobset(workers=WORKER, driver=DRIVER)), ZERO, (NEWEST,)
    ),
    "TrainJob": Row(
        (trainjob(container("torchrun train.py", "node")),), "ddp-node-0-0", *MEETS, EVERY
    ),
    "KubeDL's PyTorchJob": Row(pods_of("kubedl-pytorchjob"), "bert-master-0", *MEETS, EVERY),
    "torch-on-k8s' TorchJob": Row(pods_of("torch-on-k8s"), "bert-master-0", *MEETS),
    "Volcano master that says localhost, named by the hosts' file": _of_volcano(
        "$(cat /etc/volcano/master.host)", FROM_2_4
    ),
    "Volcano master that says localhost, named by the hosts' variable": _of_volcano(
        "$VC_MASTER_HOSTS"
    ),
    "names compared by [": _of_one_text(
        '[ "$HOSTNAME" = "${MASTER_ADDR%%.*}" ] && R=0 || R=1; ' + torchrun("$R")
    ),
    "names compared by [[": _of_one_text(
        "R=1; [[ $MASTER_ADDR == $HOSTNAME.* ]] && R=0; " + torchrun("$R")
    ),
    "names compared in another variable": _of_one_text(
        'H=${MASTER_ADDR%%.*}; if [ "$HOSTNAME" = "$H" ]; then R=0; else R=1; fi; ' + torchrun("$R")
    ),
    "names compared by case": _of_one_text(
        "case $MASTER_ADDR in $HOSTNAME.*) R=0;; *) R=1;; esac; " + torchrun("$R")
    ),
    "names compared by grep": _of_one_text(
        "echo $MASTER_ADDR | grep -q ^$HOSTNAME && R=0 || R=1; " + torchrun("$R")
    ),
    "names compared in HEAD_NODE": _of_one_text(
        '[ "$HOSTNAME" = "${HEAD_NODE%%.*}" ] && R=0 || R=1; ' + torchrun("$R", "$HEAD_NODE"),
        "HEAD_NODE",
    ),
    "names compared in RDZV_ENDPOINT": _of_one_text(
        '[ "$HOSTNAME" = "${RDZV_ENDPOINT%%.*}" ] && R=0 || R=1; torchrun --nnodes=2'
        " --nproc-per-node=1 --node_rank=$R --rdzv_endpoint=$RDZV_ENDPOINT train.py",
        "RDZV_ENDPOINT",
        f"{NAME}:29500",
    ),
    "c10d at a name in text": Row(
        (indexed_job(container(f"{RENDEZVOUS}c10d --rdzv_endpoint=ddp-0.ddp:29500 train.py")),),
        "ddp-0-",
        (C10D, C10D),
        STAYS,
        EVERY,
    ),
    "c10d at the name in a variable": _of_one_text(
        f"{RENDEZVOUS}c10d --rdzv_endpoint=$MASTER_ADDR:29500 train.py"
    )._replace(master_addr=(C10D, C10D)),
    "static at the address in a variable": Row(
        (indexed_job(container(torchrun(), MASTER_ADDR=NAME)),), "ddp-0-", *MEETS, EVERY
    ),
    "until nslookup": _of_one_text(
        'until nslookup "$MASTER_ADDR"; do sleep 1; done; ' + torchrun()
    ),
    "until getent, under another name": _of_one_text(
        "H=$MASTER_ADDR; until getent hosts $H; do sleep 1; done; " + torchrun(host="$H")
    ),
    "for each of the hosts": _of_one_text(
        "for h in $MASTER_ADDR; do until getent hosts $h; do sleep 1; done; done; " + torchrun()
    ),
    "vLLM's and SGLang's zmq, which binds to the leader's name": _of_server("zmq"),
    "JAX's gRPC, which binds to the leader's name": _of_server("grpc"),
    "Ray's head, which registers its own address": _of_server("ray"),
    "etcd-v2": _of_etcd("etcd-v2", "ddp-0-", ADDRESS),
    "etcd": _of_etcd("etcd", "", LOCAL_ADDR),
    "KServe's look-up of the leader": Row(
        (leader_worker_set(container(KSERVE + torchrun("$LWS_WORKER_INDEX", "$DP_ADDRESS"))),),
        "ddp-0",
        (POD_IP, POD_IP),
        STAYS,
    ),
}
