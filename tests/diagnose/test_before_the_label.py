"""A namespace is labelled while a job runs: Event and `explain` say the same."""

from __future__ import annotations

import pytest

from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.core.reconcile import Suspect, read_member
from webhook.core.reconcile.rank_zero import Survey


@pytest.mark.parametrize("accelerators", [{}, {"nvidia.com/gpu": "8"}], ids=["none", "gpus"])
def test_event_and_explain_say_that_rank_zero_came_before_the_label(
    accelerators: dict[str, str],
) -> None:
    scene = Scene(
        1,
        before=lambda pod: pod["spec"]["containers"][0].update(resources={"limits": accelerators}),
    )
    [worker] = scene.workers
    scene.wait(worker, ago(minutes=2))
    scene.pods["bert-master-0"] = master = scene.created(0)
    master["spec"]["containers"][0]["resources"] = {"limits": accelerators}
    scene.bind(master)
    member = read_member(worker)
    assert member is not None
    survey = Survey([Suspect(member, None, "bert-master-0")])
    for pod in (master, worker):
        survey.add(pod)
    ruling = survey.rule(Suspect(member, None, "bert-master-0"), 12)
    assert ruling.complaint is not None
    assert ruling.fate.cause == ruling.complaint.message, "the wait ends with what the Event says"
    worker["metadata"]["annotations"][names.WAIT_ENDS] = ruling.fate.cause
    [seen, ended] = [each for each in scene.explained.findings if each.level != "ok"]
    assert "publishes no address" in ended.message
    for told in (ruling.complaint.message, f"{seen.message}: {seen.action}", ended.message):
        assert "was created before its namespace was labelled" in told
        assert "restart the job" in told
        assert "no pod" not in told
        assert "in vain" not in told
