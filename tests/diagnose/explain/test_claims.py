"""What `explain` says of pods whose cards are claims (DRA)."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import SPACE, ClaimScene
from webhook.core.claim_templates import template_name
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim, Profiles

KEPT = ProfileClaim("nic", (ClaimRequest("r", "a"),))
NAMED = ProfileClaim("nic", resource_claim_template_name="cards")
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
    ("claim", "not_ready", "advice"),
    [
        (KEPT, {}, "the controller makes it for profile cards: look at its log"),
        (
            KEPT,
            {"cards": "claim nic is refused: bad CEL"},
            "correct FabricProfile cards, which is not Ready: claim nic is refused: bad CEL",
        ),
        (
            NAMED,
            {},
            f"create it in namespace {SPACE}, or correct the name in FabricProfile cards and "
            "restart the job",
        ),
    ],
)
def test_says_who_is_to_make_the_template_of_a_profile(
    claim: ProfileClaim, not_ready: dict[str, str], advice: str
) -> None:
    scene = pending()
    for pod in scene.pods.values():
        pod["status"]["resourceClaimStatuses"] = []
        for entry in pod["spec"]["resourceClaims"]:
            entry["resourceClaimTemplateName"] = template_name(claim)
    cards = Profiles(profiles={"cards": Profile(name="cards", claims=(claim,))})
    scene.changes |= {
        "profiles": cards,
        "not_ready": not_ready,
        "claim_templates": frozenset(),
    }
    (found,) = [
        each for each in findings(scene, "claims") if each.code.name == "claim-template-missing"
    ]
    assert found.action == advice
