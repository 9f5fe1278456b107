"""Run the webhook: prepare profiles, cluster, certificate and sockets from the settings, and serve."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from certs.handshake import CertificateError, Requirements
from certs.serving import ServingCertificate
from webhook.core import names
from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.profiles import Profiles
from webhook.core.review import Answer, ValidationAnswer, answer_review, answer_validation
from webhook.http import logs
from webhook.http.health import Readiness
from webhook.http.listener import ListenAddress, bind
from webhook.serve.bounded_world import BoundedWorld
from webhook.serve.certificate import CertificateWatch
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.page_process import PageProcess
from webhook.serve.process import Service, Sockets, serve
from webhook.serve.profiles_process import parse_profiles_apart
from webhook.serve.questions import Answers, CheckedWorld
from webhook.serve.slot import Slot
from webhook.world.profiles_file import ProfilesFile

if TYPE_CHECKING:
    from webhook.serve.trust import TrustWatch
    from webhook.world.cluster import Cluster

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Hold the settings of ``fabric-injector serve``.

    *objects*: files in place of a cluster. *tls_dir* None: a throw-away certificate, for tests and demos. *image*: this program's, as
    nodes pull it. *quiet_seconds* and *client_names*: as in ``process.Service``.
    """

    profiles: Path
    listen: ListenAddress
    dry_run_listen: ListenAddress
    metrics_listen: ListenAddress
    objects: tuple[Path, ...] = ()
    tls_dir: Path | None = None
    handshake: Requirements = field(default_factory=Requirements)
    client_names: frozenset[str] = frozenset()
    image: str = ""
    quiet_seconds: float = 0.0
    webhook_configuration: str = names.WEBHOOK_CONFIGURATION


class _Follower(Protocol):
    """Follow, in a thread, something that changes."""

    def start(self) -> None:
        """Start the thread."""

    def stop(self) -> None:
        """End the thread."""


def run(settings: WebhookSettings) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises ProfilesError with all faults of the profiles, InputError for anything else that keeps the server from starting.
    """
    logs.configure()
    metrics = WebhookMetrics()
    slot = Slot()
    profiles = _profiles(settings.profiles, settings.image, metrics, slot)
    with ExitStack() as stack:
        admission, page, metrics_socket = (
            stack.enter_context(contextlib.closing(bind(address)))
            for address in (settings.listen, settings.dry_run_listen, settings.metrics_listen)
        )
        directory = settings.tls_dir or stack.enter_context(_throwaway())
        certificate = _load_certificate(directory, settings.handshake)
        cluster = None if settings.objects else _cluster(metrics)
        world = stack.enter_context(_world(settings, cluster))
        certificate_watch = CertificateWatch(certificate, metrics)
        trust = _trust(cluster, settings.webhook_configuration, certificate) if cluster else None
        followers: list[_Follower] = [certificate_watch, profiles, *([trust] if trust else [])]
        for follower in followers:
            follower.start()
            stack.callback(follower.stop)

        def admit(body: bytes) -> Answer:
            return answer_review(body, profiles.current(), world)

        def validate(body: bytes) -> ValidationAnswer:
            return answer_validation(body, profiles.current(), BoundedWorld(world, slot))

        def problems() -> Mapping[str, str]:
            return _problems(profiles, world)

        def checks() -> Mapping[str, str]:
            trusted = {"ca-bundle": trust.problem()} if trust else {}
            return {"profiles": "", "certificate": certificate_watch.problem(), **trusted, **world.checks()}

        service = Service(
            admit=admit,
            validate=validate,
            page=PageProcess(page, Answers(world, profiles.current, problems), slot),
            readiness=Readiness(checks),
            certificate=certificate,
            metrics=metrics,
            client_names=settings.client_names,
            quiet_seconds=settings.quiet_seconds,
            announcement={} if settings.tls_dir else {"ca": str(directory / "ca.crt")},
        )
        serve(service, Sockets(admission, metrics_socket))


def _profiles(path: Path, image: str, metrics: WebhookMetrics, slot: Slot) -> ProfilesFile:
    def reloaded(profiles: Profiles) -> None:
        slot.evict()  # the page's process has the old ones
        metrics.profiles_reloaded("success")
        log.info("profiles reloaded: %s", ", ".join(profiles.profiles))

    def broken(error: WebhookError) -> None:
        metrics.profiles_reloaded("error")
        faults = error.problems if isinstance(error, ProfilesError) else (error,)
        for fault in faults:
            log.error("profiles not reloaded, the last good ones stay: %s: %s", path, fault)

    def parse(content: bytes) -> Profiles:
        return parse_profiles_apart(content, slot)

    return ProfilesFile(path, parse=parse, own_image=image, on_reload=reloaded, on_error=broken)


def _problems(profiles: ProfilesFile, world: CheckedWorld) -> Mapping[str, str]:
    error = profiles.error()
    return {"profiles": f"the last good ones are in use: {error}" if error else "", **world.checks()}


def _load_certificate(directory: Path, handshake: Requirements) -> ServingCertificate:
    try:
        return ServingCertificate(directory, handshake)
    except CertificateError as error:
        raise InputError(str(error)) from None


@contextlib.contextmanager
def _throwaway() -> Iterator[Path]:
    """Make a certificate in another process: the cryptography library costs 8 MB, and is needed this once."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-") as directory:
        subprocess.run([sys.executable, "-m", "certs.throwaway", directory], check=True)
        yield Path(directory)


def _cluster(metrics: WebhookMetrics) -> Cluster:
    from webhook.world.cluster import connected_cluster

    return connected_cluster(on_restart=metrics.watch_restarted)


def _trust(cluster: Cluster, configuration: str, certificate: ServingCertificate) -> TrustWatch:
    from webhook.serve.trust import TrustWatch

    return TrustWatch(lambda: cluster.webhook_configuration(configuration), certificate)


@contextlib.contextmanager
def _world(settings: WebhookSettings, cluster: Cluster | None) -> Iterator[CheckedWorld]:
    """Give the files that stand for a cluster, else the cluster, watched from now on."""
    if cluster is None:
        from webhook.world.objects import ObjectsWorld, load_objects

        yield ObjectsWorld(load_objects(settings.objects))
        return
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
