"""Whether claims can be given: asked for where a profile has some, and put beside the profiles in force."""

from collections.abc import Callable

import pytest

from tests.core.builders import profile
from tests.waiting import wait_until
from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import Unavailable
from webhook.core.profiles import ClaimRequest, ProfileClaim
from webhook.serve.claims import AGAIN_SECONDS, PERIOD_SECONDS, ClaimsWatch
from webhook.world.active_profiles import ActiveProfiles

CARDS = profile(name="cards", claims=(ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),)),))


def unknown() -> bool:
    raise Unavailable("nobody answers")


def nobody() -> bool:
    raise AssertionError("no profile has claims")


@pytest.mark.parametrize(
    ("ask", "before", "problem", "seconds"),
    [
        (lambda: True, "", "", PERIOD_SECONDS),
        (lambda: False, "", CLAIMS_UNSERVED, PERIOD_SECONDS),
        (lambda: True, CLAIMS_UNSERVED, "", PERIOD_SECONDS),
        (unknown, CLAIMS_UNSERVED, CLAIMS_UNSERVED, AGAIN_SECONDS),
        (unknown, "", "", AGAIN_SECONDS),
    ],
)
def test_puts_the_answer_beside_the_profiles(
    ask: Callable[[], bool], before: str, problem: str, seconds: float
) -> None:
    in_force = ActiveProfiles(claims_problem=before)
    in_force.put(profiles={"cards": CARDS})
    assert ClaimsWatch(ask, in_force).look() == seconds
    assert in_force.current().claims_problem == problem
    assert in_force.current().profiles == {"cards": CARDS}


def test_asks_for_nothing_where_no_profile_has_claims() -> None:
    in_force = ActiveProfiles()
    in_force.put(profiles={"plain": profile(name="plain")})
    assert ClaimsWatch(nobody, in_force).look() is None


def test_looks_anew_when_a_profile_with_claims_comes() -> None:
    in_force = ActiveProfiles(on_change=lambda _: watch.wake())
    watch = ClaimsWatch(lambda: False, in_force)
    watch.start()
    in_force.put(profiles={"cards": CARDS})
    wait_until(lambda: in_force.current().claims_problem == CLAIMS_UNSERVED, "the answer")
    watch.stop()
