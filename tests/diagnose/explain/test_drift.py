"""What `explain` finds of profiles that have changed since a pod was created."""

from __future__ import annotations

import json

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import PROFILES, Scene
from tests.profiles import profiles
from webhook import __version__
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


def test_another_wait_script_since_the_webhook_was_upgraded_is_no_matter() -> None:
    scene = Scene(0)
    scene.master["spec"]["initContainers"][0]["command"][2] += "\n# of an earlier version"
    assert one(scene, "drift").startswith(
        "warn pod bert-master-0 (rank 0): would get another result today: rendezvous: "
    )
    annotations = scene.master["metadata"]["annotations"]
    annotations[names.STATUS] = annotations[names.STATUS].replace(
        f'"version":"{__version__}"', '"version":"0.0.1"'
    )
    assert findings(scene, "drift") == []


def test_a_job_whose_address_nobody_would_publish_today() -> None:
    """What holds rank 0's name was taken out of the pod, so that the address cannot be taken back."""
    scene = Scene(0)
    container = scene.master["spec"]["containers"][0]
    container["env"] = [entry for entry in container["env"] if entry["name"] == "MASTER_ADDR"]
    container["command"] = ["torchrun", "--rdzv_endpoint=$(MASTER_ADDR):1", "t.py"]
    scene.profiles = profiles(PROFILES + "  rendezvous: {addressSource: none}\n")
    assert "no address would be published to it: " in one(scene, "drift")
