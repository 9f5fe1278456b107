"""Serve admission reviews: ``fabric-injector serve``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from certs.handshake import Requirements
from webhook.cli.options import AddressType, Failure, webhook_configuration_option
from webhook.cli.tls import tls_options
from webhook.core.errors import InputError, ProfilesError
from webhook.http.listener import ListenAddress
from webhook.serve.run import WebhookSettings, run

QUIET_SECONDS_IN_CLUSTER = 5.0
"""A Service sends new connections for a moment longer than its pod is ready; nothing else does."""


@click.command("serve")
@click.option(
    "--profiles",
    type=click.Path(path_type=Path),
    required=True,
    show_envvar=True,
    help="YAML file of the profiles; read again when it changes.",
)
@click.option(
    "--objects",
    type=click.Path(path_type=Path),
    multiple=True,
    show_envvar=True,
    help="YAML or JSON file of Namespaces, NetworkAttachmentDefinitions and Pods in place of a cluster, which is then not "
    "contacted. Repeatable; in the environment variable, separate files with ':'.",
)
@click.option(
    "--tls-dir",
    type=click.Path(path_type=Path),
    show_envvar=True,
    help="Directory of tls.crt and tls.key, and of ca.crt if there is one; read again when they change. Without it, and only "
    "with --objects, a throw-away CA is made.",
)
@tls_options
@click.option(
    "--listen",
    type=AddressType(),
    default="0.0.0.0:8443",
    show_default=True,
    show_envvar=True,
    help="Where to answer admission reviews, over HTTPS. Port 0 takes a free one.",
)
@click.option(
    "--dry-run-listen",
    type=AddressType(),
    default="127.0.0.1:8081",
    show_default=True,
    show_envvar=True,
    help="Where to answer dry runs, over HTTP; keep it on a loopback address.",
)
@click.option(
    "--metrics-listen",
    type=AddressType(),
    default="0.0.0.0:8080",
    show_default=True,
    show_envvar=True,
    help="Where to answer /metrics, /livez and /readyz, over HTTP.",
)
@webhook_configuration_option
def command(
    profiles: Path,
    objects: tuple[Path, ...],
    tls_dir: Path | None,
    handshake: Requirements,
    client_names: frozenset[str],
    listen: ListenAddress,
    dry_run_listen: ListenAddress,
    metrics_listen: ListenAddress,
    webhook_configuration: str,
) -> None:
    """Answer admission reviews until SIGTERM.

    Without --objects the cluster is the one of the service account, else of the kubeconfig. The line "serving" of the log says
    where it listens. Exit status 2: something that was given here cannot be used.

    \b
    Examples:
      fabric-injector serve --profiles profiles.yaml --tls-dir /etc/fabric-injector/tls
      fabric-injector serve --profiles profiles.yaml --objects networks.yaml --listen 127.0.0.1:0
      fabric-injector serve --profiles profiles.yaml --tls-dir tls --client-ca clients.crt --client-name kube-apiserver
    """  # noqa: D301  # \\b is click's own mark
    if not tls_dir and not objects:
        raise Failure("give --tls-dir: a throw-away certificate is made only with --objects, where no API server calls")
    in_cluster = not objects and "KUBERNETES_SERVICE_HOST" in os.environ
    settings = WebhookSettings(
        profiles=profiles,
        objects=objects,
        tls_dir=tls_dir,
        handshake=handshake,
        client_names=client_names,
        listen=listen,
        dry_run_listen=dry_run_listen,
        metrics_listen=metrics_listen,
        quiet_seconds=QUIET_SECONDS_IN_CLUSTER if in_cluster else 0.0,
        webhook_configuration=webhook_configuration,
    )
    try:
        run(settings)
    except ProfilesError as error:
        faults = "\n".join(f"{profiles}: {problem}" for problem in error.problems)
        raise Failure(f"the profiles cannot be used\n{faults}") from None
    except InputError as error:
        raise Failure(str(error)) from None
