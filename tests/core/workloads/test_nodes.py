"""A job is decided as one: on one node it keeps what it is, on several all pods get the same."""

import pytest
import yaml

from tests import pods
from tests.core.manifests import gains, judge, judge_text, needs, nobody_waits_in_vain
from tests.core.workloads.pairs import BY_TEXT, ONE_AND_TWO, draw
from webhook.core import names
from webhook.core.model import Object, Outcome, Reason
from webhook.core.workloads import TrainingPod, recognise
from webhook.dry_run.judge import PodResult
from webhook.dry_run.summary import summarise

DRAWN = draw()


def injected(pod: PodResult) -> bool:
    return names.STATUS in pod.after["metadata"].get("annotations", {})


@pytest.mark.parametrize("name", DRAWN)
def test_templates_that_differ_get_the_same(name: str) -> None:
    found = judge(DRAWN[name])
    assert len(found) > 1
    assert all(pod.allowed and injected(pod) for pod in found), [pod.decisions for pod in found]
    assert len({(pod.system, gains(pod.before, pod.after)) for pod in found}) == 1
    is_one = {any(each.reason is Reason.SINGLE_NODE for each in pod.decisions) for pod in found}
    assert is_one == {False}
    nobody_waits_in_vain((pod.job, pod.rendezvous, pod.after) for pod in found)
    assert {each.problem for each in summarise(found)} == {""}


@pytest.mark.parametrize("name", BY_TEXT)
def test_where_no_pod_shows_a_size_its_text_decides_and_a_warning_says_so(name: str) -> None:
    found = judge(BY_TEXT[name])
    assert {injected(pod) for pod in found} == {True, False}
    for pod in found:
        [told] = [each for each in pod.decisions if each.outcome is Outcome.WARNED]
        assert "shows the size of its job" in told.message
        assert told.reason is (Reason.NO_SIZE if injected(pod) else Reason.NOT_TRAINING)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("jobset-1", "label jobset.sigs.k8s.io/global-replicas"),
        ("stormservice-1", "variable POD_GROUP_SIZE"),
    ],
)
def test_names_what_would_show_the_size(name: str, shown: str) -> None:
    pod = pods.drop_env(pods.load(f"pods/{name}.yaml"), "POD_GROUP_SIZE")
    pod["metadata"]["labels"].pop("jobset.sigs.k8s.io/global-replicas", None)
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 8}}
    found = recognise(pod)
    assert f"(it has no {shown})" in found.warning


@pytest.mark.parametrize("name", ONE_AND_TWO)
def test_a_job_on_one_node_keeps_what_it_is(name: str) -> None:
    one, two = map(judge, ONE_AND_TWO[name])
    assert [(pod.after, needs(pod.after)) for pod in one] == [(pod.before, set()) for pod in one]
    assert [pod.decisions[0].reason for pod in one] == [Reason.SINGLE_NODE] * len(one)
    assert {injected(pod) for pod in two} == {True}, [pod.decisions for pod in two]


@pytest.mark.parametrize("name", ONE_AND_TWO)
def test_a_job_on_one_node_is_injected_where_its_label_asks_for_it(name: str) -> None:
    manifest = ONE_AND_TWO[name][0]
    for pod in judge(manifest):
        labels = {**pod.before["metadata"].get("labels", {}), names.PROFILE: "shared"}
        asking = {**pod.before, "metadata": {**pod.before["metadata"], "labels": labels}}
        [found] = judge_text(yaml.safe_dump(asking))
        assert injected(found)
        assert needs(found.after) == set()


def of_two_roles() -> Object:
    """Return a pod of a JobSet of two roles, whose text shows nothing."""
    pod = pods.set_command(pods.load("pods/jobset-1.yaml"), "./run.sh")
    pod["metadata"]["labels"]["jobset.sigs.k8s.io/global-replicas"] = "2"
    pod["spec"]["containers"][0] |= {"env": [], "resources": {"claims": [{"name": "cards"}]}}
    return pod


@pytest.mark.parametrize(
    ("template", "counts"), [("8-gpus", True), ("imex-channel", False), ("", False)]
)
def test_of_several_nodes_a_claim_that_may_be_of_an_accelerator_counts(
    template: str, counts: bool
) -> None:
    pod = of_two_roles()
    claim = {"name": "cards", "resourceClaimTemplateName": template}
    pod["spec"]["resourceClaims"] = [claim] if template else []
    assert isinstance(recognise(pod), TrainingPod) is counts


COORDINATOR = "metadata.labels['jobset.sigs.k8s.io/coordinator']"


@pytest.mark.parametrize(
    ("path", "counts"), [(COORDINATOR, True), ("metadata.namespace", False), ("", False)]
)
def test_a_jobsets_coordinator_is_found_by_the_value_of_any_variable(
    path: str, counts: bool
) -> None:
    pod = pods.set_command(pods.load("pods/jobset-1.yaml"), "python", "t.py")
    entry = {"name": "HEAD", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    pod["spec"]["containers"][0]["env"] = [entry] if path else []
    found = recognise(pod)
    assert isinstance(found, TrainingPod) is counts
    if isinstance(found, TrainingPod):
        assert found.rendezvous is not None
        assert found.rendezvous.rank_zero == "ddp-workers-0-0"


def test_a_group_that_shows_no_size_and_calls_itself_one_node_is_injected_as_before() -> None:
    pod = pods.add_env(pods.load("pods/lws-1.yaml"), "PET_NNODES", "1")
    del pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"]
    found = recognise(pod)
    assert isinstance(found, TrainingPod)
    assert (found.rendezvous, found.reason) == (None, Reason.SINGLE_NODE)


def test_a_size_of_any_length_says_several() -> None:
    pod = pods.load("pods/lws-1.yaml")
    pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] = "9" * 5000
    assert isinstance(recognise(pod), TrainingPod)


def test_a_program_that_only_calls_itself_slurmd_is_no_node_of_slurm() -> None:
    assert recognise(pods.plain({"app.kubernetes.io/name": "slurmd"})).system == ""
