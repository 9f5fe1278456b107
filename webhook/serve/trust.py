"""Read which CAs the API servers trust, and find out whether they would accept the certificate that is served."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from certs.serving import ServingCertificate
from webhook.core.errors import Unavailable
from webhook.world.cluster import WebhookConfiguration

PERIOD_SECONDS = 10.0
AGAIN_SECONDS = 1.0
"""Pause while there is a problem: it may be mended at any moment."""

log = logging.getLogger(__name__)


class TrustWatch:
    """Compare the certificate with the live caBundle in a thread of its own; what cannot be known is no problem.

    *ask* gives the configuration, None where there is none, and raises Unavailable where that cannot be known.
    """

    def __init__(
        self, ask: Callable[[], WebhookConfiguration | None], certificate: ServingCertificate
    ) -> None:
        self._ask = ask
        self._certificate = certificate
        self._problem, self._fault = "", ""
        self._asked = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="trust", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, but do not wait for the request that it may have sent."""
        self._stopping.set()

    def problem(self) -> str:
        """Return why the API server would refuse the certificate; empty if it would not, or if that is unknown."""
        return self._problem if self._asked else "the webhook configuration was not asked for yet"

    def look(self) -> None:
        """Read caBundle once and compare; where it cannot be read, the last result stays."""
        try:
            configuration = self._ask()
        except Unavailable as error:
            self._tell(f"the certificate is not compared with caBundle: {error}")
        except (
            Exception
        ) as error:  # the next look may go better, and nobody else would ever look again
            self._tell(f"the certificate is not compared with caBundle: internal error: {error!r}")
        else:
            self._fault = ""
            problem = distrust(self._certificate, configuration) if configuration else ""
            if problem and problem != self._problem:
                log.error("API servers refuse the certificate: %s", problem)
            self._problem = problem
        self._asked = True

    def _follow(self) -> None:
        seconds = 0.0
        while not self._stopping.wait(seconds):
            self.look()
            seconds = AGAIN_SECONDS if self._problem else PERIOD_SECONDS

    def _tell(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            log.warning("%s", fault)


def distrust(certificate: ServingCertificate, configuration: WebhookConfiguration) -> str:
    """Return which entry would refuse the certificate, and why; empty if none would."""
    for entry in configuration.entries:
        if problem := certificate.distrust(entry.ca_bundle, entry.host):
            return f"MutatingWebhookConfiguration {configuration.name}, webhook {entry.name}: {problem}"
    return ""
