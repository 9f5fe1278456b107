"""Write what ``certs.rotation`` decides, every few seconds while this process leads."""

import base64
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from certs.bundle import Bundle, read_bundle
from certs.issue import CLOCK_SKEW
from certs.pem import fingerprint, read_authorities
from certs.rotation import Kind, Policy, Rotation, View, advance
from webhook.control.certificates.secret import SecretStore, was_written
from webhook.control.leader_loop import LeaderLoop
from webhook.core import names
from webhook.core.model import Object
from webhook.kube.catalogue import WEBHOOK_CONFIGURATIONS
from webhook.kube.connection import WRITE_SECONDS, Connection
from webhook.kube.reader import Reader
from webhook.kube.tls_secret import TlsSecret
from webhook.kube.webhook_configuration import (
    WebhookConfiguration,
    WebhookEntry,
    read_webhook_configuration,
    service_host,
)

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
SOON_SECONDS = 0.5
"""Pause after a change, and while another replica leads."""


@dataclass(frozen=True, slots=True)
class CertificateSettings:
    """Hold where certificates are kept; they are for *service* and the configuration's hosts."""

    namespace: str
    service: str = names.SERVICE
    configuration: str = names.WEBHOOK_CONFIGURATION
    secret: str = names.TLS_SECRET
    policy: Policy = field(default_factory=Policy)


class CertificateSync(LeaderLoop):
    """Renew and publish certificates in a thread of its own; nothing is written unless *may_write*.

    *on_end* gets the kind and the end of what is in use.
    """

    fault = "certificates are not kept"

    def __init__(
        self,
        connection: Connection,
        settings: CertificateSettings,
        may_write: Callable[[], bool],
        *,
        on_end: Callable[[Kind, datetime], None] = lambda _kind, _end: None,
        period_seconds: float = PERIOD_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(may_write, monotonic)
        self.most_pause_seconds = self._period = period_seconds
        self._connection, self._settings = connection, settings
        self._on_end, self._now = on_end, now
        self._reader = Reader(connection, WRITE_SECONDS)
        self._secret = SecretStore(connection, settings.namespace, settings.secret)
        self._published: dict[str, float] = {}
        self._told = ""

    def lost(self) -> None:
        """Count again for how long authorities are published."""
        self._published.clear()

    def turn(self) -> float:
        """Read, decide and write once.

        The configuration is read before the Secret: whoever publishes another state in between
        makes our patch a conflict.
        """
        configuration = self._reader.find(
            WEBHOOK_CONFIGURATIONS, ("", self._settings.configuration), read_webhook_configuration
        )
        if configuration and configuration.keeper:
            return self._leave(
                f"MutatingWebhookConfiguration {configuration.name}", configuration.keeper
            )
        secret = self._secret.read()
        if secret.keeper:
            return self._leave(self._secret.title, secret.keeper)
        now = self._now()
        if (answered := self._secret.answered) and abs(wrong := now - answered) > CLOCK_SKEW:
            way = "ahead of" if wrong > timedelta(0) else "behind"
            by = f"{abs(wrong).total_seconds() // 60:.0f} min {way} the API server's"
            self._log_once(f"this clock is {by}: nothing is issued until it is right")
            return self._period
        step = self._decide(configuration, secret, now)
        changed = self._write_secret(secret, step)
        if changed is None or (configuration and not self._publish(configuration, step.bundle)):
            return SOON_SECONDS
        self._report(configuration, step)
        return SOON_SECONDS if changed else self._period

    def _decide(
        self, configuration: WebhookConfiguration | None, secret: TlsSecret, now: datetime
    ) -> Rotation:
        entries = configuration.entries if configuration else ()
        ca_bundle = b"\n".join(entry.ca_bundle for entry in entries)
        bundle = read_bundle(secret.data, ca_bundle)
        trusted = _trusted_everywhere(entries)
        if configuration is None:
            # no API server calls the webhook, so that none would refuse a certificate of a new CA
            trusted = set(map(fingerprint, bundle.authorities))
        at = self._monotonic()
        self._published = {key: self._published.get(key, at) for key in trusted}
        age = {key: timedelta(seconds=at - since) for key, since in self._published.items()}
        own = service_host(self._settings.service, self._settings.namespace)
        called = {own, *(entry.host for entry in entries)} - {""}
        asked = next((kind for kind in Kind if kind == secret.asked), None)
        return advance(
            bundle,
            View(ca_bundle, age),
            now,
            names=frozenset(called),
            policy=self._settings.policy,
            asked=asked,
        )

    def _write_secret(self, secret: TlsSecret, step: Rotation) -> bool | None:
        """Tell whether something was written; None where it could not be now."""
        data = step.bundle.data()
        if not secret.asked and all(secret.data.get(key) == value for key, value in data.items()):
            return False
        if not self.may_write():
            return None
        done = self._secret.write(secret, data)
        for change in step.changes if done else ():
            log.info("certificates: %s", change)
        return True if done else None

    def _publish(self, configuration: WebhookConfiguration, bundle: Bundle) -> bool:
        """Write the CAs into every entry that has others; return False where that was not done."""
        patch = _ca_bundle_patch(configuration, bundle.ca_bundle)
        if not patch:
            return True
        if not self.may_write():
            return False
        path = WEBHOOK_CONFIGURATIONS.object_path(("", configuration.name))
        done = was_written(self._connection.patch(path, patch, "json-patch+json"))
        if done:
            count, name = len(bundle.authorities), configuration.name
            log.info("certificates: caBundle of %s holds %d CA", name, count)
        return done

    def _report(self, configuration: WebhookConfiguration | None, step: Rotation) -> None:
        signing, leaf = step.bundle.signing, step.bundle.leaf
        if signing:
            self._on_end(Kind.AUTHORITY, signing.not_valid_after_utc)
        if leaf:
            self._on_end(Kind.SERVING, leaf.not_valid_after_utc)
        name = self._settings.configuration
        absent = f"there is no MutatingWebhookConfiguration {name} yet"
        told = ("" if configuration else absent, step.waiting)
        self._log_once("; ".join(filter(None, told)), level=logging.INFO)

    def _leave(self, what: str, keeper: str) -> float:
        told = f"{what} is left to {keeper}, whose annotation it carries"
        self._log_once(told, level=logging.INFO)
        return self._period

    def _log_once(self, text: str, *, level: int = logging.ERROR) -> None:
        """Log a state once, until it changes."""
        if text and text != self._told:
            log.log(level, "certificates: %s", text)
        self._told = text


def _trusted_everywhere(entries: Iterable[WebhookEntry]) -> set[str]:
    """Return the fingerprints of the authorities that every entry trusts."""
    trusted = [{fingerprint(each) for each in read_authorities(one.ca_bundle)} for one in entries]
    return set.intersection(*trusted) if trusted else set()


def _ca_bundle_patch(configuration: WebhookConfiguration, ca_bundle: bytes) -> list[Object]:
    """Return the JSON patch for the entries that trust something else; empty if none does.

    It fits this version of the object only.
    """
    value = base64.b64encode(ca_bundle).decode()
    changes: list[Object] = [
        {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": value}
        for index, entry in enumerate(configuration.entries)
        if entry.ca_bundle != ca_bundle
    ]
    version = configuration.resource_version
    fits = {"op": "add", "path": "/metadata/resourceVersion", "value": version}
    return [fits, *changes] if changes else []
