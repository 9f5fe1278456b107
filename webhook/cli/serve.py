"""Run the webhook: ``fabric-injector serve``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook import __version__
from webhook.cli.options import (
    FILE,
    Failure,
    listen_option,
    objects_option,
    option,
    unusable,
    webhook_configuration_option,
)

if TYPE_CHECKING:
    from certs.handshake import Requirements
    from webhook.http.listener import ListenAddress
    from webhook.world.cluster import Cluster

_VERSIONS = {"1.2": "TLSv1_2", "1.3": "TLSv1_3"}
"""Versions of TLS, and what ssl.TLSVersion calls them."""
QUIET_SECONDS_IN_CLUSTER = 5.0
"""A Service sends new connections for a moment after its pod stops being ready; without a cluster nothing does."""


@click.command("serve")
@option(
    "--profiles",
    type=FILE,
    help="YAML file of the profiles, in place of the cluster's FabricProfile objects; read again when it changes.",
)
@option(
    "--config",
    type=FILE,
    help="YAML file of the Configuration: how this cluster's Multus is configured; read again when it changes. Where there is no "
    "such file in its folder, the defaults hold until there is.",
)
@objects_option(FILE)
@option(
    "--tls-dir",
    type=FILE,
    help="Directory of tls.crt and tls.key, and of ca.crt if there is one; read again when they change. Without it, and only "
    "with --objects, a throw-away CA is made.",
)
@option(
    "--client-ca",
    type=FILE,
    help="PEM file of authorities. Every client of the admission port must then show a certificate that one of them signed; "
    "read again when it changes. Probes and metrics are not concerned.",
)
@option(
    "--client-name",
    multiple=True,
    help="Common name or DNS name of which the client's certificate must carry one, exactly; others get 403. Repeatable; in "
    "the environment variable, separate names with spaces. Needs --client-ca. Without it every certificate of the CA will do.",
)
@option(
    "--tls-min-version",
    type=click.Choice(list(_VERSIONS)),
    default="1.2",
    help="Oldest version of TLS that the admission port speaks.",
)
@option(
    "--tls-ciphers",
    default="",
    help="Ciphers for TLS 1.2 in OpenSSL's notation, separated by ':'. Default: OpenSSL's own choice. Those of TLS 1.3 are "
    "fixed.",
)
@listen_option(
    "--listen",
    "0.0.0.0:8443",
    "Where to answer admission reviews, over HTTPS. Port 0 takes a free one.",
)
@listen_option(
    "--dry-run-listen",
    "127.0.0.1:8081",
    "Where to answer dry runs, over HTTP; keep it on a loopback address.",
)
@listen_option(
    "--metrics-listen", "0.0.0.0:8080", "Where to answer /metrics, /livez and /readyz, over HTTP."
)
@option(
    "--image",
    default=f"fabric-injector:{__version__}",
    help="Image of this program as nodes pull it: what the wait container runs for profiles with rendezvous.waitImage: installed.",
)
@webhook_configuration_option
def command(
    profiles: Path | None,
    config: Path | None,
    objects: tuple[Path, ...],
    tls_dir: Path | None,
    client_ca: Path | None,
    client_name: tuple[str, ...],
    tls_min_version: str,
    tls_ciphers: str,
    listen: ListenAddress,
    dry_run_listen: ListenAddress,
    metrics_listen: ListenAddress,
    image: str,
    webhook_configuration: str,
) -> None:
    """Answer admission reviews until SIGTERM.

    Without --objects the cluster is the one of the service account, else of the kubeconfig; without --profiles its FabricProfile
    objects are the profiles, and each change is in force at once. The line "serving" of the log says
    where it listens. Exit status 2: something that was given here cannot be used.

    \b
    Examples:
      fabric-injector serve --tls-dir /etc/fabric-injector/tls
      fabric-injector serve --profiles profiles.yaml --objects networks.yaml --listen 127.0.0.1:0
      fabric-injector serve --profiles profiles.yaml --tls-dir tls --client-ca clients.crt --client-name kube-apiserver
    """  # noqa: D301  # \\b is click's own mark
    from certs.handshake import CertificateError
    from webhook.core.errors import InputError, ProfilesError
    from webhook.serve.run import WebhookSettings, run

    if not tls_dir and not objects:
        raise Failure(
            "give --tls-dir: a throw-away certificate is made only with --objects, where no API server calls"
        )
    if objects and not profiles:
        raise Failure(
            "give --profiles: with --objects there is no cluster whose FabricProfile objects could be followed"
        )
    handshake = _requirements(client_ca, client_name, tls_min_version, tls_ciphers)
    in_cluster = not objects and "KUBERNETES_SERVICE_HOST" in os.environ
    settings = WebhookSettings(
        profiles=profiles,
        configuration=config,
        objects=objects,
        tls_dir=tls_dir,
        handshake=handshake,
        client_names=frozenset(client_name),
        listen=listen,
        dry_run_listen=dry_run_listen,
        metrics_listen=metrics_listen,
        image=image,
        quiet_seconds=QUIET_SECONDS_IN_CLUSTER if in_cluster else 0.0,
        webhook_configuration=webhook_configuration,
    )
    try:
        run(settings, _cluster)
    except ProfilesError as error:
        raise Failure(str(unusable(str(profiles), error))) from None
    except (CertificateError, InputError) as error:
        raise Failure(str(error)) from None


def _requirements(
    client_ca: Path | None, client_names: tuple[str, ...], version: str, ciphers: str
) -> Requirements:
    """Return what clients must meet. Raises Failure where two options contradict each other, or an option does nothing."""
    from ssl import TLSVersion

    from certs.handshake import Requirements

    if client_names and not client_ca:
        raise Failure("--client-name needs --client-ca: without it no client shows a certificate")
    if not all(client_names):
        raise Failure("--client-name is empty; give the name that the client's certificate carries")
    if ciphers and version == "1.3":
        raise Failure(
            "--tls-ciphers is for TLS 1.2, which --tls-min-version 1.3 rules out; give one of the two"
        )
    return Requirements(TLSVersion[_VERSIONS[version]], ciphers, client_ca)


def _cluster(on_restart: Callable[[str, str], None]) -> Cluster:
    from webhook.cli.kubeconfig import connect
    from webhook.world.cluster import Cluster

    return Cluster(connect(), on_restart=on_restart)
