"""Follow the certificate files. They are read every second: a mounted Secret gives no file events that can be relied on."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime

from certs.handshake import CertificateError
from certs.serving import ServingCertificate
from webhook.serve.metrics import WebhookMetrics

INTERVAL_SECONDS = 1.0

log = logging.getLogger(__name__)


class CertificateWatch:
    """Load each new usable pair, in a thread of its own; a fault is logged once, and the old pair stays in use."""

    def __init__(self, certificate: ServingCertificate, metrics: WebhookMetrics) -> None:
        self._certificate, self._metrics = certificate, metrics
        self._fault = ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="certificate", daemon=True)
        metrics.certificate_ends("serving", certificate.not_after)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and return once it has ended."""
        self._stopping.set()
        self._thread.join()

    def problem(self) -> str:
        """Return why the certificate cannot be served now; empty if it can."""
        return self._certificate.problem(datetime.now(UTC))

    def _follow(self) -> None:
        while not self._stopping.wait(INTERVAL_SECONDS):
            try:
                changed = self._certificate.poll(datetime.now(UTC))
            except CertificateError as error:
                self._report(str(error))
            except Exception as error:  # without this thread there is no next read
                self._report(f"internal error: {error!r}")
            else:
                self._fault = ""
                if changed:
                    self._metrics.certificate_ends("serving", self._certificate.not_after)
                    self._metrics.certificate_reloaded("success")
                    log.info(
                        "certificate reloaded, good until %s",
                        self._certificate.not_after.isoformat(),
                    )

    def _report(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            self._metrics.certificate_reloaded("error")
            log.error("certificate not reloaded, the old one serves on: %s", fault)
