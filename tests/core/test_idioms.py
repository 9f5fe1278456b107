"""What people write: idioms of jobs and services, each run through a dry run, with what becomes of its pods.

The files in ``idioms/`` hold them; manifests.py says how a row is written. ``pods`` says what
becomes of each pod that the dry run shows:

- *is*: ``rank 0``; ``candidate``, the first pod of a role, which may be it; ``worker``; ``node``,
  injected without a rendezvous; ``alone``, left as it is; ``warned``, the same with a warning that
  names the label.
- *moves*: variables that take a published address. *waits*: what the wait step waits for. Both are
  left out where there is nothing.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.core.manifests import gains, judge, needs, nobody_waits_in_vain, published
from tests.tables import read
from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.model import Object, Outcome
from webhook.core.workloads import TrainingPod, recognise
from webhook.dry_run.judge import PodResult

FILES = sorted((Path(__file__).parent / "idioms").glob("*.yaml"))
IDIOMS = {
    f"{file.stem}: {idiom['idiom']}": idiom
    for file in FILES
    for idiom in read(__file__, f"idioms/{file.name}")
}


def outcome(result: PodResult) -> Object:
    """Return what became of a pod, as the files write it."""
    found: Object = {"is": _what(result)}
    if moves := sorted(published(result.after)):
        found["moves"] = moves
    if waits := sorted(needs(result.after)):
        found["waits"] = waits
    return found


def _what(result: PodResult) -> str:
    if names.STATUS not in podspec.annotations(result.after):
        assert result.before == result.after
        return (
            "warned" if any(one.outcome is Outcome.WARNED for one in result.decisions) else "alone"
        )
    member = recognise(result.before)
    assert isinstance(member, TrainingPod)
    if not result.rendezvous or member.rendezvous is None:
        return "node"
    if result.rendezvous == "worker":
        return "worker"
    return "rank 0" if member.rendezvous.is_certain else "candidate"


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_comes_out_as_its_author_would_want(name: str) -> None:
    idiom = IDIOMS[name]
    found = judge(idiom)
    assert all(pod.allowed for pod in found), [pod.message for pod in found]
    for pod in found:
        for before, after in zip(
            podspec.containers(pod.before), podspec.containers(pod.after), strict=True
        ):
            assert podspec.argv(before) == podspec.argv(after), "no text is ever changed"
    equals: dict[Any, set[Any]] = {}
    for pod in found:
        if accelerator := find_pod_accelerator(pod.before):
            equals.setdefault(accelerator, set()).add((pod.system, gains(pod.before, pod.after)))
    assert all(len(each) == 1 for each in equals.values()), (
        "pods with the same accelerators are treated alike"
    )
    nobody_waits_in_vain((pod.job, pod.rendezvous, pod.after) for pod in found)
    assert [outcome(pod) for pod in found] == idiom["pods"], [pod.decisions for pod in found]
    assert {pod.system for pod in found} == {idiom["system"]}
