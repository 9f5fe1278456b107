"""Look again and again at what changes outside: the certificate, who trusts it, and claims."""

import ctypes
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from certs.handshake import CertificateError
from certs.serving import ServingCertificate
from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import Unavailable
from webhook.serve.metrics import WebhookMetrics
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.followed_file import FollowedFile

if TYPE_CHECKING:
    from webhook.world.cluster import WebhookConfiguration

SECONDS = 1.0
"""How often all is looked at that is due: a mounted Secret gives no file events to rely on."""
TRUST_SECONDS = 10.0
CLAIMS_SECONDS = 300.0
CLAIMS_AGAIN_SECONDS = 30.0
NOT_ASKED = "the webhook configuration was not asked for yet"

log = logging.getLogger(__name__)


class Watch(ABC):
    """Look at something; *check* names it for /readyz."""

    check = ""
    _fault = ""

    @abstractmethod
    def look(self) -> float:
        """Look once; return the seconds until the next time."""

    def problem(self) -> str:
        """Return what keeps the process from being ready; empty for nothing."""
        return ""

    def log_once(self, fault: str, level: int = logging.WARNING) -> None:
        """Log what went wrong, unless the last look found the same."""
        if fault and fault != self._fault:
            log.log(level, "%s", fault)
        self._fault = fault


class FileWatch(Watch):
    """Look at a file; *source* names it for the metric of what is not in force."""

    def __init__(self, file: FollowedFile[Any], source: str, metrics: WebhookMetrics) -> None:
        self._file = file
        metrics.faulty.ask(lambda: file.error() is not None, source)

    def look(self) -> float:
        """Read it."""
        self._file.look()
        return SECONDS


class CertificateWatch(Watch):
    """Load each new usable pair; a fault is logged once, and the old pair stays in use."""

    check = "certificate"

    def __init__(self, certificate: ServingCertificate, metrics: WebhookMetrics) -> None:
        self._certificate, self._metrics = certificate, metrics
        metrics.certificate_ends("serving", certificate.not_after)
        metrics.faulty.ask(lambda: bool(self._fault), "certificate")

    def problem(self) -> str:
        """Return why the certificate cannot be served now; empty if it can."""
        return self._certificate.problem(datetime.now(UTC))

    def look(self) -> float:
        """Read the files."""
        try:
            changed = self._certificate.poll(datetime.now(UTC))
        except CertificateError as error:
            fault = f"certificate not reloaded, the old one serves on: {error}"
            self.log_once(fault, logging.ERROR)
            return SECONDS
        self.log_once("")
        if changed:
            ends = self._certificate.not_after
            self._metrics.certificate_ends("serving", ends)
            log.info("certificate reloaded, good until %s", ends.isoformat())
        return SECONDS


class TrustWatch(Watch):
    """Compare the certificate with the live caBundle; what cannot be known is no problem.

    *ask* gives the configuration, None where there is none, or raises Unavailable.
    """

    check = "ca-bundle"

    def __init__(
        self, ask: "Callable[[], WebhookConfiguration | None]", certificate: ServingCertificate
    ) -> None:
        self._ask, self._certificate = ask, certificate
        self._problem = NOT_ASKED

    def problem(self) -> str:
        """Return why API servers would refuse the certificate; empty if that is unknown."""
        return self._problem

    def look(self) -> float:
        """Read caBundle once and compare; where it cannot be read, the last result stays."""
        try:
            self._problem = self._distrust()
        except Exception as error:  # the next look may go better
            why = error if isinstance(error, Unavailable) else f"internal error: {error!r}"
            self.log_once(f"the certificate is not compared with caBundle: {why}")
            self._problem = self._problem.removeprefix(NOT_ASKED)
        else:
            told = f"API servers refuse the certificate: {self._problem}" if self._problem else ""
            self.log_once(told, logging.ERROR)
        return SECONDS if self._problem else TRUST_SECONDS

    def _distrust(self) -> str:
        configuration = self._ask()
        if configuration is None:
            return ""
        for entry in configuration.entries:
            if problem := self._certificate.distrust(entry.ca_bundle, entry.host):
                named = f"MutatingWebhookConfiguration {configuration.name}, webhook {entry.name}"
                return f"{named}: {problem}"
        return ""


class ClaimsWatch(Watch):
    """Put into *active* why no claim can be given; *ask* says whether the cluster serves them.

    Until the first answer they are taken to be served: an API server that knows no claims drops
    them.
    """

    def __init__(self, ask: Callable[[], bool], active: ActiveProfiles) -> None:
        self._ask, self._active = ask, active

    def look(self) -> float:
        """Ask where a profile has claims."""
        present = self._active.current()
        if not any(profile.claims for profile in present.profiles.values()):
            return SECONDS
        try:
            problem = "" if self._ask() else CLAIMS_UNSERVED
        except Unavailable as error:
            self.log_once(f"whether the cluster serves claims is not known: {error}")
            return CLAIMS_AGAIN_SECONDS
        self.log_once(f"no pod gets the claims of its profile: {problem}" if problem else "")
        if problem != present.claims_problem:
            self._active.put(claims_problem=problem)
        return CLAIMS_SECONDS


def follow(watches: Sequence[Watch], stopped: threading.Event) -> None:
    """Have all look when they are due, until *stopped*, and give memory back each time.

    glibc does not give back by itself what connections took. Source: man 3 malloc_trim.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", int)
    due = dict.fromkeys(watches, 0.0)
    while not stopped.is_set():
        for watch in watches:
            if due[watch] <= time.monotonic():
                try:
                    due[watch] = time.monotonic() + watch.look()
                except Exception as error:  # nobody else would ever look again
                    watch.log_once(f"{type(watch).__name__}: internal error: {error!r}")
        trim(0)  # takes about a millisecond
        stopped.wait(SECONDS)
