"""Follow the certificate files, and whether API servers trust what is served.

The files are read every second: a mounted Secret gives no file events that can be relied on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from certs.handshake import CertificateError
from certs.serving import ServingCertificate
from webhook.core.errors import Unavailable
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.periodic import Periodic

if TYPE_CHECKING:
    from webhook.world.cluster import WebhookConfiguration

INTERVAL_SECONDS = 1.0
TRUST_SECONDS = 10.0
AGAIN_SECONDS = 1.0
"""Pause while there is a problem: it may be mended at any moment."""

log = logging.getLogger(__name__)


class CertificateWatch(Periodic):
    """Load each new usable pair; a fault is logged once, and the old pair stays in use."""

    name = "certificate"

    def __init__(self, certificate: ServingCertificate, metrics: WebhookMetrics) -> None:
        super().__init__()
        self._certificate, self._metrics = certificate, metrics
        metrics.certificate_ends("serving", certificate.not_after)

    def problem(self) -> str:
        """Return why the certificate cannot be served now; empty if it can."""
        return self._certificate.problem(datetime.now(UTC))

    def look(self) -> float:
        """Read the files."""
        try:
            changed = self._certificate.poll(datetime.now(UTC))
        except CertificateError as error:
            told = f"certificate not reloaded, the old one serves on: {error}"
            if self.log_once(told, logging.ERROR):
                self._metrics.certificate_reloads.add("error")
        else:
            self.log_once("")
            if changed:
                self._reloaded()
        return INTERVAL_SECONDS

    def _reloaded(self) -> None:
        ends = self._certificate.not_after
        self._metrics.certificate_ends("serving", ends)
        self._metrics.certificate_reloads.add("success")
        log.info("certificate reloaded, good until %s", ends.isoformat())


class TrustWatch(Periodic):
    """Compare the certificate with the live caBundle; what cannot be known is no problem.

    *ask* gives the configuration, None where there is none, and raises Unavailable where that cannot be known.
    """

    name = "trust"

    def __init__(
        self, ask: Callable[[], WebhookConfiguration | None], certificate: ServingCertificate
    ) -> None:
        super().__init__()
        self._ask, self._certificate = ask, certificate
        self._problem = ""
        self._asked = False

    def problem(self) -> str:
        """Return why the API server would refuse the certificate; empty if it would not, or if that is unknown."""
        return self._problem if self._asked else "the webhook configuration was not asked for yet"

    def look(self) -> float:
        """Read caBundle once and compare; where it cannot be read, the last result stays."""
        try:
            self._compare(self._ask())
            self.log_once("")
        except Exception as error:  # the next look may go better
            why = error if isinstance(error, Unavailable) else f"internal error: {error!r}"
            self.log_once(f"the certificate is not compared with caBundle: {why}")
        self._asked = True
        return AGAIN_SECONDS if self._problem else TRUST_SECONDS

    def _compare(self, configuration: WebhookConfiguration | None) -> None:
        problem = distrust(self._certificate, configuration) if configuration else ""
        if problem and problem != self._problem:
            log.error("API servers refuse the certificate: %s", problem)
        self._problem = problem


def distrust(certificate: ServingCertificate, configuration: WebhookConfiguration) -> str:
    """Return which entry would refuse the certificate, and why; empty if none would."""
    for entry in configuration.entries:
        if problem := certificate.distrust(entry.ca_bundle, entry.host):
            named = f"MutatingWebhookConfiguration {configuration.name}, webhook {entry.name}"
            return f"{named}: {problem}"
    return ""
