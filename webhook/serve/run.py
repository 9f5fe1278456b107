"""Run the webhook: prepare what is served from the settings, and serve it until SIGTERM."""

import asyncio
import gc
import logging
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from certs.handshake import Requirements
from certs.serving import ServingCertificate
from webhook.core import names
from webhook.core.claim_templates import CLAIMS_OF_A_FILE
from webhook.http import logs
from webhook.http.health import Health, stop_asked
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.serve.admission import Admission
from webhook.serve.dry_runs import DryRuns
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.profiles import follow_configuration, follow_file
from webhook.serve.watches import (
    CertificateWatch,
    ClaimsWatch,
    FileWatch,
    TrustWatch,
    Watch,
    follow,
)
from webhook.world.active_profiles import ActiveProfiles

if TYPE_CHECKING:
    from webhook.world.cluster import Cluster
    from webhook.world.objects import ObjectsWorld

CONNECTIONS = 450
"""Two thirds of them may come from one address: as many as an API server may have under way."""
LOCAL_CONNECTIONS = 100
"""Of each other port."""
YOUNG_OBJECTS = 20_000
"""After so many new objects Python looks for cycles: a review makes a thousand for a moment."""
SWITCH_SECONDS = 0.0001
"""How long admission waits for the interpreter that a dry run has. With Python's 5 ms it would not
keep up with 300 requests a second."""
MOST_DRAIN_SECONDS = 25.0
"""How long to serve on after SIGTERM at the most: Kubernetes kills after 30 s."""
LINGER_SECONDS = 1.0
GRACE_SECONDS = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Hold the settings of ``fabric-injector serve``.

    *profiles* None: the objects of the cluster. *configuration* None: the defaults, or what the
    profiles file says. *objects*: files in place of a cluster, which need *profiles*. *tls_dir*
    None: a throw-away certificate. *client_names*: as in Listener. *image*: this program's, as
    nodes pull it. *quiet_seconds*: after SIGTERM the process ends once no request has come for so
    long; a Service sends new connections for a while.
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


def run(settings: WebhookSettings, make_cluster: "Callable[[], Cluster]") -> None:
    """Serve until SIGTERM or SIGINT; *make_cluster* is asked where no files stand for a cluster.

    Raises ProfilesError with all faults of the profiles, CertificateError, or InputError for
    anything else that keeps the server from starting.
    """
    logs.configure()
    metrics = WebhookMetrics()
    claims_problem = CLAIMS_OF_A_FILE if settings.profiles else ""
    active = ActiveProfiles(own_image=settings.image, claims_problem=claims_problem)
    with ExitStack() as stack:
        watches: list[Watch] = []
        if path := settings.configuration:
            found = follow_configuration(path, active)
            watches.append(FileWatch(found, "configuration", metrics))
        if path := settings.profiles:
            file = follow_file(path, active, configured=bool(settings.configuration))
            watches.append(FileWatch(file, "profiles", metrics))
        addresses = (settings.listen, settings.dry_run_listen, settings.metrics_listen)
        sockets = [stack.enter_context(closing(bind(address))) for address in addresses]
        directory = settings.tls_dir or stack.enter_context(_throwaway())
        certificate = ServingCertificate(directory, settings.handshake)
        watches.append(CertificateWatch(certificate, metrics))
        cluster = None if settings.objects else make_cluster()
        if cluster:
            stack.callback(cluster.stop)
            if not settings.profiles:
                watches.append(ClaimsWatch(cluster.serves_claims, active))
                metrics.faulty.ask(cluster.follow_profiles(active).faulty, "profiles")
            cluster.start()
            ask = partial(cluster.webhook_configuration, settings.webhook_configuration)
            watches.append(TrustWatch(ask, certificate))
        world = cluster or _objects(settings.objects)
        stopped = threading.Event()
        stack.callback(stopped.set)
        threading.Thread(target=follow, args=(watches, stopped), name="look", daemon=True).start()

        def checks() -> Mapping[str, str]:
            found = {watch.check: watch.problem() for watch in watches if watch.check}
            return {**found, **world.checks()}

        health = Health(checks, metrics)
        cached = cluster.cached if cluster else world
        reviews = Admission(active.current, world, cached, metrics, health.starting)
        dry_runs = DryRuns(active.current, world)
        stack.callback(reviews.stop)
        stack.callback(dry_runs.stop)
        admission = Listener(
            sockets[0],
            reviews,
            connections=CONNECTIONS,
            context=lambda: certificate.context,
            names=settings.client_names,
            on_dropped=metrics.dropped.add,
        )
        local = [
            Listener(sock, endpoint, connections=LOCAL_CONNECTIONS)
            for sock, endpoint in zip(sockets[1:], (dry_runs, health), strict=True)
        ]
        _tune()
        told = {} if settings.tls_dir else {"ca": str(directory / "ca.crt")}
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve([admission, *local], health, settings.quiet_seconds, told))


def _tune() -> None:
    gc.collect()
    gc.freeze()  # what is loaded now stays: no collection needs to look through it
    gc.set_threshold(YOUNG_OBJECTS)
    sys.setswitchinterval(SWITCH_SECONDS)


@contextmanager
def _throwaway() -> Iterator[Path]:
    """Make a certificate in another process: the cryptography library would cost 8 MB here."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-") as directory:
        subprocess.run([sys.executable, "-m", "certs.throwaway", directory], check=True)
        yield Path(directory)


def _objects(paths: tuple[Path, ...]) -> "ObjectsWorld":
    from webhook.world.objects import ObjectsWorld, load_objects

    return ObjectsWorld(load_objects(paths))


async def _serve(
    listeners: list[Listener], health: Health, quiet_seconds: float, told: Mapping[str, str]
) -> None:
    """Listen until SIGTERM or SIGINT, and end so that no request fails; the log says *told* too."""
    stop = stop_asked()
    admission, *others = listeners
    for listener in listeners:
        await listener.start()
    parts = ("admission", "dryRun", "metrics")
    urls = {name: listener.url for name, listener in zip(parts, listeners, strict=True)}
    logs.log_fields(log, logging.INFO, "serving", {**urls, **told})
    await stop.wait()
    health.draining = admission.closing = True
    log.info("ending: not ready any more, serving on for %g quiet seconds", quiet_seconds)
    begun = time.monotonic()
    while time.monotonic() < begun + MOST_DRAIN_SECONDS:
        if time.monotonic() >= max(begun, admission.requested_at) + quiet_seconds:
            break
        await asyncio.sleep(0.05)
    await admission.close(linger_seconds=LINGER_SECONDS, grace_seconds=GRACE_SECONDS)
    for listener in others:
        await listener.close(linger_seconds=0.0, grace_seconds=0.5)
