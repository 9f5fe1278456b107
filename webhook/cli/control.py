"""Run the controller: ``fabric-injector control``."""

from pathlib import Path

import click

from webhook.cli.kubeconfig import connect
from webhook.cli.options import (
    FILE,
    listen_option,
    option,
    webhook_configuration_option,
    workload_namespace_option,
)
from webhook.control.run import ControllerSettings, run
from webhook.core import names
from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import ClusterSettings, parse_profiles
from webhook.http.listener import ListenAddress
from webhook.serve.profiles import configuration_file
from webhook.world.followed_file import FollowedFile


@click.command("control")
@option("--profiles", type=FILE, help="File of the profiles; gives the Configuration if any.")
@option("--config", type=FILE, help="File of the Configuration; read again when it changes.")
@workload_namespace_option("Namespace of the Lease. Default: the service account's own.")
@option(
    "--certificates",
    type=click.Choice(["self", "none"]),
    default="self",
    help="self: keep a CA and a certificate in Secret fabric-injector-tls. none: leave both alone.",
)
@option("--service", default=names.SERVICE, help="Service that the certificate is for.")
@webhook_configuration_option
@option("--pod-opt-in", is_flag=True, help="Serve labelled pods in unlabelled namespaces too.")
@listen_option("--metrics-listen", "0.0.0.0:8080", "Address for metrics and probes, HTTP.")
def command(
    profiles: Path | None,
    config: Path | None,
    namespace: str | None,
    certificates: str,
    service: str,
    webhook_configuration: str,
    pod_opt_in: bool,
    metrics_listen: ListenAddress,
) -> None:
    """Publish each job's rank-0 address on its pods, and keep the webhook's certificates.

    Run two: one holds the Lease and writes, the other takes over. cert-manager's certificates stay
    as they are. Exit status 0 after SIGTERM, 2: an option or a file is unusable.

    \b
    Examples:
      fabric-injector control
      fabric-injector control --namespace fabric-injector --metrics-listen 127.0.0.1:0
      fabric-injector control --certificates none
    """  # noqa: D301  # \\b is click's own mark
    settings = _settings(profiles) if profiles else ClusterSettings()
    look = lambda: settings  # noqa: E731
    if config:  # its faults go to the log: addresses must not wait for them
        look = configuration_file(config, given=settings).look
    keeps_certificates = certificates == "self"
    chosen = ControllerSettings(
        metrics_listen,
        namespace or "",
        keeps_certificates,
        service,
        webhook_configuration,
        pod_opt_in,
    )
    run(chosen, look, connect)


def _settings(path: Path) -> ClusterSettings:
    """Read what holds for all profiles; print the file's faults, and go on."""
    try:
        return FollowedFile(path, parse=parse_profiles).current().settings
    except ProfilesError as error:
        for problem in error.problems:
            click.echo(f"{path}: {problem}", err=True)
    except InputError as error:
        click.echo(str(error), err=True)
    return ClusterSettings()
