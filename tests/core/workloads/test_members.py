"""Members of one job: a worker waits only for a rank 0 that is recognised too, under its key.

The rows are in jobs.yaml.
"""

import pytest

from tests.core.workloads.recognised import member, rendezvous
from tests.core.workloads.rows import build, each, filled
from tests.tables import read
from webhook.core.model import Object, Reason
from webhook.core.workloads import NotTraining, recognise

_TABLES = read(__file__, "jobs.yaml")
_UNNAMED = {"drop": ["MASTER_ADDR", "MASTER_PORT", "LWS_LEADER_ADDRESS"]}


def one_job(master: Object, worker: Object) -> str:
    """Return what rank 0 of the two is called."""
    zero, one = rendezvous(master), rendezvous(worker)
    assert (zero.role, one.role) == ("master", "worker")
    assert (zero.job, zero.rank_zero) == (one.job, one.rank_zero)
    return one.rank_zero


@each(_TABLES["jobs"])
def test_is_led_by_one_pod(row: Object) -> None:
    zero, one = (
        build(
            {"of": f"{row['of']}-{number}"} if "of" in row else {},
            row.get("both", {}),
            row.get(name, {}),
        )
        for number, name in enumerate(("zero", "one"))
    )
    assert one_job(zero, one) == row.get("leads", "bert-master-0")


@pytest.mark.parametrize("fixture", _TABLES["replicated"])
@each(_TABLES["spellings"])
def test_an_address_is_understood_in_every_spelling(row: Object, fixture: str) -> None:
    host = _TABLES["replicated"][fixture]
    head = host.partition("-")[0]
    change = filled(row, HOST=host, HEAD=head, REST=host.removeprefix(head))
    found = [build({"of": f"{fixture}-{number}"}, _UNNAMED, change) for number in (0, 1)]
    assert one_job(*found) == host.partition(".")[0]


@pytest.mark.parametrize("leader", _TABLES["leaders"].values(), ids=_TABLES["leaders"])
@each(_TABLES["own"])
def test_a_leader_of_its_own_template_is_rank_zero_though_it_calls_itself_otherwise(
    row: Object, leader: Object
) -> None:
    of, name = leader["of"], leader["name"]
    labels = {**leader["labels"], "jobset.sigs.k8s.io/coordinator": None}
    called = {"labels": labels, "metadata": {"name": name}, "spec": {"hostname": name}}
    zero = build({"of": f"{of}-0"}, _UNNAMED, called, row)
    one_job(zero, build({"of": f"{of}-1"}, _UNNAMED, {"env": {"MASTER_ADDR": leader["host"]}}))


@each(_TABLES["members"])
def test_says_what_part_a_pod_plays(row: Object) -> None:
    """The system, and a role, or the reason why it meets nobody; a candidate changes nothing."""
    known, name = row.pop("is"), row.pop("named", None)
    found = recognise(build(row))
    if isinstance(found, NotTraining):
        part = str(found.reason) if found.system else ""
    else:
        meets = found.rendezvous
        part = str(found.reason) if meets is None else meets.role
        if meets is not None and not meets.is_certain:
            assert (meets.role, meets.hosts, meets.by_operator) == ("master", frozenset(), False)
            part = "candidate"
        assert name in (None, found.container)
    assert f"{found.system} {part}".strip() == known


@each(_TABLES["keys"])
def test_tells_jobs_and_attempts_apart(row: Object) -> None:
    is_same = row.pop("same", False)
    before = rendezvous(build({"of": row["of"]}))
    assert (rendezvous(build(row)).job == before.job) is is_same


def _address(value: str, **env: str) -> Object:
    return build({"of": "statefulset-1"}, _UNNAMED, {"env": {**env, "MASTER_ADDR": value}})


@pytest.mark.parametrize("value", ["ddp-0." + "x" * 2000, "$(LONG)", "$(HALF).$(HALF_TOO)"])
def test_a_text_that_is_too_long_names_nobody(value: str) -> None:
    env = {"LONG": "ddp-0." + "x" * 2000, "HALF": "ddp-0." + "x" * 600, "HALF_TOO": "x" * 600}
    assert member(_address(value, **env)).reason is Reason.NO_MASTER


def test_an_address_is_followed_through_many_variables() -> None:
    links = {f"V{link}": f"$(V{link - 1})" for link in range(1, 200)}
    assert rendezvous(_address("$(V199)", V0="ddp-0.ddp", **links)).rank_zero == "ddp-0"


@pytest.mark.parametrize(("references", "named"), [(16, True), (17, False)])
def test_an_address_of_so_many_variables_is_read(references: int, named: bool) -> None:
    env = {f"V{index}": "" if index else "ddp-0.ddp" for index in range(references)}
    found = member(_address("".join(f"$({name})" for name in env), **env))
    assert (found.reason is Reason.NO_MASTER) is not named


@pytest.mark.parametrize("name", ["kubeflow-pytorchjob-0", "indexed-job-0", "jobset-0"])
@pytest.mark.parametrize(
    "command",
    [
        "torchrun --standalone --nproc_per_node=1 tokenize.py && torchrun train.py",
        "torchrun train.py # --nnodes=1",
        "torchrun train.py --standalone",
        "torchrun --nnodes=1 train.py",
        "torchrun --rdzv_endpoint=localhost:0 train.py",
    ],
)
def test_a_command_makes_no_job_of_several_nodes_one_of_a_single_node(
    command: str, name: str
) -> None:
    assert rendezvous(build({"of": name, "run": command})).role == "master"
