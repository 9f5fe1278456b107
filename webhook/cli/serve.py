"""Run the webhook: ``fabric-injector serve``."""

import os
from pathlib import Path
from ssl import TLSVersion
from typing import Any

import click

from certs.handshake import CertificateError, Requirements
from webhook import __version__
from webhook.cli import options
from webhook.cli.kubeconfig import connect
from webhook.cli.options import FILE, option
from webhook.core.errors import InputError, ProfilesError
from webhook.serve.run import WebhookSettings, run
from webhook.world.cluster import Cluster

_VERSIONS = {"1.2": TLSVersion.TLSv1_2, "1.3": TLSVersion.TLSv1_3}


@click.command("serve")
@option("--profiles", type=FILE, help="File of the profiles, in place of FabricProfile objects.")
@option("--config", type=FILE, help="File of the Configuration; without it, the defaults.")
@options.objects(type=FILE)
@option("--tls-dir", type=FILE, help="Directory of tls.crt, tls.key and ca.crt.")
@option("--client-ca", type=FILE, help="Accept only client certificates of these CAs (PEM).")
@option(
    "--client-name",
    multiple=True,
    help="Accept only client certificates with this common or DNS name. Repeatable.",
)
@option("--tls-min-version", type=click.Choice([*_VERSIONS]), default="1.2", help="Oldest TLS.")
@options.listen("--listen", "0.0.0.0:8443", "Address for admission reviews, HTTPS.")
@options.listen("--dry-run-listen", "127.0.0.1:8081", "Address for dry runs, HTTP; keep it local.")
@options.listen("--metrics-listen", "0.0.0.0:8080", "Address for metrics and probes, HTTP.")
@option(
    "--image",
    default=f"fabric-injector:{__version__}",
    help="This program's image, for rendezvous.waitImage: installed.",
)
@options.webhook_configuration
def command(
    config: Path | None,
    client_ca: Path | None,
    client_name: tuple[str, ...],
    tls_min_version: str,
    **given: Any,
) -> None:
    """Answer admission reviews until SIGTERM.

    It reads files again when they change. Without --objects it asks the cluster; without --profiles
    the cluster's FabricProfiles count. Port 0 takes a free port, which the log names. Exit status
    2: an option or a file is unusable.
    """
    objects, profiles = given["objects"], given["profiles"]
    if not given["tls_dir"] and not objects:
        raise InputError("give --tls-dir: only with --objects a throw-away certificate will do")
    if objects and not profiles:
        raise InputError("give --profiles: with --objects there is no cluster that has some")
    if client_name and not client_ca:
        raise InputError("--client-name needs --client-ca: without it clients show no certificate")
    if not all(client_name):
        raise InputError("--client-name is empty; give the name in the client's certificate")
    in_cluster = not objects and "KUBERNETES_SERVICE_HOST" in os.environ
    settings = WebhookSettings(
        **given,
        configuration=config,
        handshake=Requirements(_VERSIONS[tls_min_version], client_ca),
        client_names=frozenset(client_name),
        # for a moment after its pod stops being ready, a Service still sends new connections
        quiet_seconds=5.0 if in_cluster else 0.0,
    )
    try:
        run(settings, lambda: Cluster(connect()))
    except ProfilesError as error:
        faults = "\n".join(f"{profiles}: {problem}" for problem in error.problems)
        raise InputError(f"the profiles cannot be used\n{faults}") from None
    except CertificateError as error:
        raise InputError(str(error)) from None
