"""Run the controller: ``fabric-injector control``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from webhook.cli import options
from webhook.cli.kubeconfig import connect
from webhook.cli.options import FILE, option
from webhook.control.run import ControllerSettings, run
from webhook.core import names
from webhook.core.profiles import ClusterSettings
from webhook.serve.profiles import configuration_file


@click.command("control")
@option("--config", type=FILE, help="File of the Configuration; read again when it changes.")
@options.namespace(help="Namespace of the Lease. Default: the service account's own.")
@option(
    "--certificates",
    type=click.Choice(["self", "none"]),
    default="self",
    help="self: keep a CA and a certificate in Secret fabric-injector-tls. none: leave both alone.",
)
@option("--service", default=names.SERVICE, help="Service that the certificate is for.")
@options.webhook_configuration
@option("--pod-opt-in", is_flag=True, help="Serve labelled pods in unlabelled namespaces too.")
@options.listen("--metrics-listen", "0.0.0.0:8080", "Address for metrics and probes, HTTP.")
def command(config: Path | None, namespace: str | None, certificates: str, **given: Any) -> None:
    """Publish each job's rank-0 address on its pods, and keep the webhook's certificates.

    Run two: one holds the Lease and writes, the other takes over. cert-manager's certificates stay
    as they are. Exit status 0 after SIGTERM, 2: an option or a file is unusable.
    """
    look: Callable[[], ClusterSettings] = ClusterSettings
    if config:  # its faults go to the log: addresses must not wait for them
        look = configuration_file(config, given=ClusterSettings()).look
    keeps = certificates == "self"
    settings = ControllerSettings(namespace=namespace or "", certificates=keeps, **given)
    run(settings, look, connect)
