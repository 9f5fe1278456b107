"""A job is decided as one: on one node it keeps what it is, on several all pods get the same."""

from __future__ import annotations

import pytest

from tests.core.test_jobs import gains, judge, needs, nobody_waits_in_vain
from tests.core.workloads.pairs import BY_TEXT, ONE_AND_TWO, draw
from webhook.core import names
from webhook.core.model import Outcome, Reason
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
        [found] = judge(asking)
        assert injected(found)
        assert needs(found.after) == set()
