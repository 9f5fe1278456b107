"""What `explain` finds of profiles that have changed since a pod was created."""

from __future__ import annotations

import json

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import Scene
from webhook.core import names


def test_names_members_with_another_revision_than_rank_zero() -> None:
    """They were created after the profile was changed."""
    scene = Scene(2)
    status = json.loads(scene.workers[1]["metadata"]["annotations"][names.STATUS])
    had, status["revision"] = status["revision"], "0" * 12
    scene.workers[1]["metadata"]["annotations"][names.STATUS] = json.dumps(status)
    assert (
        "warn pod bert-worker-1: has profile shared in revision 000000000000, and rank 0, pod "
        f"bert-master-0, has profile shared in revision {had}"
    ) in texts(findings(scene, "drift"))
    assert "revisions-differ" in {each.code.name for each in findings(scene)}
