"""Know whether the cluster can give pods the claims of their profiles: asked for in a thread, and only while a profile has some."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import Unavailable
from webhook.world.profiles_in_force import ProfilesInForce

log = logging.getLogger(__name__)

PERIOD_SECONDS = 300.0
AGAIN_SECONDS = 30.0


class ClaimsWatch:
    """Put into *in_force* why no claim can be given. *ask* tells whether the cluster serves them; it raises Unavailable.

    Until the first answer, and where there is none, they are taken to be served: an API server that knows no claims drops them.
    """

    def __init__(self, ask: Callable[[], bool], in_force: ProfilesInForce) -> None:
        self._ask, self._in_force = ask, in_force
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="claims", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, but do not wait for the request that it may have sent."""
        self._stopped.set()
        self._woken.set()

    def wake(self) -> None:
        """Look anew: the profiles have changed. Any thread may call it."""
        self._woken.set()

    def look(self) -> float | None:
        """Ask where a profile has claims; return the seconds until the next time, None where only other profiles call for it."""
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

    def _follow(self) -> None:
        seconds: float | None = None
        while not self._stopped.is_set():
            try:
                self._woken.clear()
                seconds = self.look()
            except Exception:  # nobody else would ever look again
                log.exception("whether the cluster serves claims is not known")
                seconds = AGAIN_SECONDS
            self._woken.wait(seconds)
