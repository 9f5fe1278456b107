"""Know whether the cluster can give pods the claims of their profiles."""

from __future__ import annotations

import logging
from collections.abc import Callable

from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import Unavailable
from webhook.serve.periodic import Periodic
from webhook.world.active_profiles import ActiveProfiles

log = logging.getLogger(__name__)

PERIOD_SECONDS = 300.0
AGAIN_SECONDS = 30.0


class ClaimsWatch(Periodic):
    """Put into *in_force* why no claim can be given. *ask* says whether the cluster serves them, or raises Unavailable.

    Until the first answer, and where there is none, they are taken to be served: an API server that knows no claims drops them.
    """

    name = "claims"

    def __init__(self, ask: Callable[[], bool], in_force: ActiveProfiles) -> None:
        super().__init__()
        self._ask, self._in_force = ask, in_force

    def look(self) -> float | None:
        """Ask where a profile has claims."""
        present = self._in_force.current()
        if not any(profile.claims for profile in present.profiles.values()):
            return None
        try:
            problem = "" if self._ask() else CLAIMS_UNSERVED
        except Unavailable as error:
            log.warning("whether the cluster serves claims is not known: %s", error)
            return AGAIN_SECONDS
        if problem != self._in_force.current().claims_problem:
            if problem:
                log.warning("no pod gets the claims of its profile: %s", problem)
            self._in_force.put(claims_problem=problem)
        return PERIOD_SECONDS
