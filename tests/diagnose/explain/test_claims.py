"""What `explain` says of pods whose cards are claims (DRA)."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import SPACE, ClaimScene
from webhook.core.claim_templates import template_name
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim, Profiles

UNALLOCATED = "0/2 nodes are available: 2 cannot allocate all claims."


def pending(workers: int = 0) -> ClaimScene:
    scene = ClaimScene(workers)
    for pod in scene.pods.values():
        made = pod["status"]["resourceClaimStatuses"]
        scene.unschedule(pod, UNALLOCATED)
        pod["status"]["resourceClaimStatuses"] = made
    for claim in scene.claims.values():
        claim["status"] = {}
    return scene


@pytest.mark.parametrize(
    ("not_ready", "advice"),
    [
        ({}, "the controller makes it for profile cards: look at its log"),
        (
            {"cards": "claim nic is refused: bad CEL"},
            "correct FabricProfile cards, which is not Ready: claim nic is refused: bad CEL",
        ),
    ],
)
def test_a_template_of_a_profile_is_not_to_be_created_by_hand(
    not_ready: dict[str, str], advice: str
) -> None:
    claim = ProfileClaim("nic", (ClaimRequest("r", "a"),))
    scene = pending()
    for pod in scene.pods.values():
        pod["status"]["resourceClaimStatuses"] = []
        for entry in pod["spec"]["resourceClaims"]:
            entry["resourceClaimTemplateName"] = template_name(claim)
    cards = Profiles(profiles={"cards": Profile(name="cards", claims=(claim,))})
    scene.changes |= {
        "profiles": cards,
        "not_ready": not_ready,
        "claim_templates": {SPACE: frozenset()},
    }
    (found,) = [
        each for each in findings(scene, "claims") if each.code.name == "claim-template-missing"
    ]
    assert found.action == advice
