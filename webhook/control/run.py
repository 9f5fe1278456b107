"""Run the controller as a process: watch, Lease, health and metrics, until SIGTERM."""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import uvloop

from webhook.control.claim_templates import ClaimTemplates
from webhook.control.controller import Controller
from webhook.control.events import EventRecorder
from webhook.control.leader_loop import LeaderLoop
from webhook.control.left_alone import LeftAlone
from webhook.control.metrics import ControllerMetrics
from webhook.control.profile_status import ProfileStatus
from webhook.core import names
from webhook.core.profiles import ClusterSettings
from webhook.http import logs
from webhook.http.health import Health, stop_asked
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.http.logs import log_fields
from webhook.kube.connection import Connection
from webhook.kube.lease import Leader

log = logging.getLogger(__name__)

LEASE = "fabric-injector"
DEFAULT_NAMESPACE = "fabric-injector"
_SERVICE_ACCOUNT_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """Hold the settings of ``fabric-injector control``.

    *namespace* holds the Lease and the certificates, empty for the service account's own.
    *certificates*: keep those of *service*, and publish their CA in *webhook_configuration*.
    *pod_opt_in*: see Controller.
    """

    metrics_listen: ListenAddress
    namespace: str = ""
    certificates: bool = True
    service: str = names.SERVICE
    webhook_configuration: str = names.WEBHOOK_CONFIGURATION
    pod_opt_in: bool = False


def run(
    settings: ControllerSettings,
    cluster_settings: Callable[[], ClusterSettings],
    connect: Callable[[], Connection],
) -> None:
    """Run until SIGTERM or SIGINT.

    *cluster_settings* gives what the Configuration says at present, *connect* the connection to the
    API server. Raises InputError for anything that keeps the controller from starting.
    """
    logs.configure()
    metrics = ControllerMetrics()
    with (
        contextlib.closing(bind(settings.metrics_listen)) as sock,
        contextlib.closing(connect()) as connection,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        own = replace(settings, namespace=settings.namespace or own_namespace())
        runner.run(_run(connection, own, cluster_settings, sock, metrics))


def own_namespace() -> str:
    """Return the namespace of the service account, else DEFAULT_NAMESPACE."""
    try:
        return _SERVICE_ACCOUNT_NAMESPACE.read_text().strip() or DEFAULT_NAMESPACE
    except OSError:
        return DEFAULT_NAMESPACE


def identity() -> str:
    """Return a name that no other process has, nor this pod's container after a restart."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"


async def _run(
    connection: Connection,
    settings: ControllerSettings,
    cluster_settings: Callable[[], ClusterSettings],
    sock: socket.socket,
    metrics: ControllerMetrics,
) -> None:
    me, namespace = identity(), settings.namespace
    parts: list[LeaderLoop]

    def changed(leads: bool) -> None:
        log.info("leading" if leads else "not leading")
        for part in parts:
            part.wake()

    def labelled() -> None:
        profile_status.wake()
        claim_templates.wake()

    leader = Leader(connection, namespace, LEASE, me, on_change=changed)
    recorder = EventRecorder(connection, leader.may_write, host=me)
    controller = Controller(
        connection,
        recorder.record,
        leader.may_write,
        on_result=metrics.published,
        on_label=labelled,
        pod_opt_in=settings.pod_opt_in,
    )
    claim_templates = ClaimTemplates(
        connection, leader.may_write, controller.profiles_named, own_namespace=namespace
    )
    profile_status = ProfileStatus(
        connection,
        leader.may_write,
        controller.profiles_named,
        cluster_settings,
        own_namespace=namespace,
        on_read=claim_templates.put,
    )
    left_alone = LeftAlone(connection, recorder.record, leader.may_write)
    metrics.leader.ask(leader.may_write)
    metrics.waiting.ask(controller.pods_waiting)
    metrics.oldest.ask(controller.oldest_wait_seconds)
    health = Health(controller.checks, metrics)
    listener = Listener(sock, health, connections=100)
    stop = stop_asked()
    await listener.start()
    told = {"metrics": listener.url, "lease": f"{namespace}/{LEASE}", "identity": me}
    log_fields(log, logging.INFO, "controlling", told)
    parts = [recorder, controller, profile_status, claim_templates, left_alone]
    if settings.certificates:
        parts.append(_certificates(connection, settings, leader, metrics))
    for part in parts:
        part.start()
    leader.start()
    try:
        await stop.wait()
        log.info("ending")
    finally:
        await asyncio.to_thread(_end, leader, controller, parts)
        await listener.close(linger_seconds=0.0, grace_seconds=0.5)


def _certificates(
    connection: Connection, settings: ControllerSettings, leader: Leader, metrics: ControllerMetrics
) -> LeaderLoop:
    """Prepare to keep the certificates."""
    # imported here, for it loads the cryptography library, which costs 8 MB
    from webhook.control.certificates.sync import CertificateSettings, CertificateSync

    kept = CertificateSettings(settings.namespace, settings.service, settings.webhook_configuration)
    return CertificateSync(connection, kept, leader.may_write, on_end=metrics.certificate_ends)


def _end(leader: Leader, controller: Controller, parts: list[LeaderLoop]) -> None:
    """Stop all parts at the same time, then the leader, whose end lets the next replica write.

    Only a late address could overwrite one of the next leader. Other writes name the version or the
    uid that they are for, or write the same.
    """
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda part: part.stop(), parts))
    leader.stop(give_back=controller.has_ended)
