"""Run the webhook: prepare profiles, cluster, certificate and sockets from the settings, and serve."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from certs.handshake import CertificateError, Requirements
from certs.serving import ServingCertificate
from webhook.core import names
from webhook.core.claim_templates import CLAIMS_OF_A_FILE
from webhook.core.errors import InputError
from webhook.core.model import World
from webhook.core.profiles import ClusterSettings
from webhook.core.review import answer_review
from webhook.http import logs
from webhook.http.health import Readiness
from webhook.http.listener import ListenAddress, bind
from webhook.serve.admission import WorldInTime
from webhook.serve.certificate import CertificateWatch, TrustWatch
from webhook.serve.claims import ClaimsWatch
from webhook.serve.dry_runs import DryRuns
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.periodic import Periodic
from webhook.serve.process import Service, serve
from webhook.serve.profiles import (
    ProfilesSource,
    follow_configuration,
    follow_file,
    follow_objects,
)
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.followed_file import FollowedFile

if TYPE_CHECKING:
    from webhook.world.cluster import Cluster
    from webhook.world.objects import ObjectsWorld


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Hold the settings of ``fabric-injector serve``.

    *profiles* None: the objects of the cluster. *configuration* None: the defaults, or what the profiles file says. *objects*: files in
    place of a cluster, which need *profiles*. *tls_dir* None: a throw-away certificate, for tests and demos. *image*: this program's,
    as nodes pull it. *quiet_seconds* and *client_names*: as in ``process.Service``.
    """

    profiles: Path | None
    configuration: Path | None
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


MakeCluster: TypeAlias = "Callable[[Callable[[str, str], None]], Cluster]"
"""Make a cluster; it gets what counts restarts of watches, by resource and reason."""


def run(settings: WebhookSettings, make_cluster: MakeCluster) -> None:
    """Serve until SIGTERM or SIGINT; *make_cluster* is asked where no files stand for a cluster.

    Raises ProfilesError with all faults of the profiles, InputError for anything else that keeps the server from starting.
    """
    logs.configure()
    metrics = WebhookMetrics()
    watches: list[Periodic] = []

    def changed(_: object) -> None:
        for watch in watches:
            watch.wake()

    claims_problem = CLAIMS_OF_A_FILE if settings.profiles else ""
    in_force = ActiveProfiles(
        own_image=settings.image, claims_problem=claims_problem, on_change=changed
    )
    followed: list[FollowedFile[ClusterSettings]] = []
    if settings.configuration:
        followed.append(follow_configuration(settings.configuration, in_force, metrics))
    file = None
    if settings.profiles:
        file = follow_file(settings.profiles, in_force, metrics, configured=bool(followed))
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(contextlib.closing(bind(address)))
            for address in (settings.listen, settings.dry_run_listen, settings.metrics_listen)
        ]
        directory = settings.tls_dir or stack.enter_context(_throwaway())
        certificate = _load_certificate(directory, settings.handshake)
        cluster = None if settings.objects else make_cluster(metrics.watch_restarts.add)
        world = stack.enter_context(_world(settings, cluster))
        profiles = file or _objects(cluster, in_force, metrics)
        metrics.faulty.ask(profiles.faulty, "profiles")
        loaded = CertificateWatch(certificate, metrics)
        watches.append(loaded)
        problems = {"certificate": loaded.problem}
        if cluster:
            ask = partial(cluster.webhook_configuration, settings.webhook_configuration)
            trust = TrustWatch(ask, certificate)
            watches.append(trust)
            problems["ca-bundle"] = trust.problem
        if cluster and not file:
            watches.append(ClaimsWatch(cluster.serves_claims, in_force))
        followers: list[FollowedFile[ClusterSettings] | ProfilesSource | Periodic]
        followers = [*followed, profiles, *watches]
        for each in followers:
            each.start()
            stack.callback(each.stop)
        cached = cluster.cached if cluster else world

        def in_time(came_at: float) -> World:
            return cast("World", WorldInTime(world, came_at))

        def checks() -> Mapping[str, str]:
            found = {name: problem() for name, problem in problems.items()}
            return {**profiles.checks(), **found, **world.checks()}

        service = Service(
            admit=lambda body, came_at: answer_review(body, in_force.current(), in_time(came_at)),
            admit_cached=lambda body: answer_review(body, in_force.current(), cached),
            dry_runs=DryRuns(sockets[1], in_force.current, lambda: in_time(time.monotonic())),
            readiness=Readiness(checks),
            certificate=certificate,
            metrics=metrics,
            client_names=settings.client_names,
            quiet_seconds=settings.quiet_seconds,
            announcement={} if settings.tls_dir else {"ca": str(directory / "ca.crt")},
        )
        serve(service, sockets[0], sockets[2])


def _load_certificate(directory: Path, handshake: Requirements) -> ServingCertificate:
    try:
        return ServingCertificate(directory, handshake)
    except CertificateError as error:
        raise InputError(str(error)) from None


@contextlib.contextmanager
def _throwaway() -> Iterator[Path]:
    """Make a certificate in another process: the cryptography library costs 8 MB, and is needed this once."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fabric-injector-") as directory:
        subprocess.run([sys.executable, "-m", "certs.throwaway", directory], check=True)
        yield Path(directory)


def _objects(
    cluster: Cluster | None, in_force: ActiveProfiles, metrics: WebhookMetrics
) -> ProfilesSource:
    if cluster is None:
        raise InputError(
            "files in place of a cluster need a file of profiles too: give --profiles FILE"
        )
    return follow_objects(cluster, in_force, metrics)


@contextlib.contextmanager
def _world(settings: WebhookSettings, cluster: Cluster | None) -> Iterator[Cluster | ObjectsWorld]:
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
