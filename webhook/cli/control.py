"""Run the controller: ``fabric-injector control``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from webhook.cli.options import (
    FILE,
    Failure,
    listen_option,
    option,
    webhook_configuration_option,
)
from webhook.core import names

if TYPE_CHECKING:
    from webhook.core.profiles import ClusterSettings
    from webhook.http.listener import ListenAddress


@click.command("control")
@option(
    "--profiles",
    type=FILE,
    help="YAML file of the profiles, read once; its faults are logged. The status of FabricProfiles is judged by its multus section "
    "where there is no Configuration; all else that the controller needs is on the pods.",
)
@option(
    "--config",
    type=FILE,
    help="YAML file of the Configuration, by which the status of FabricProfiles is judged: how this cluster's Multus is configured; "
    "read again when it has changed. Where there is no such file, the defaults hold until there is; a faulty one is logged, and the "
    "last good one stays in force.",
)
@option(
    "-n",
    "--namespace",
    default="",
    help="Namespace of the Lease and of the certificates. Default: the service account's own, else fabric-injector.",
)
@option(
    "--certificates",
    type=click.Choice(["self", "none"]),
    default="self",
    help="self: keep a CA and a serving certificate in Secret fabric-injector-tls, and the CA in the configuration's caBundle. "
    "none: leave both alone. What carries an annotation of cert-manager is always left alone.",
)
@option(
    "--service",
    default=names.SERVICE,
    help="Service that the certificate is for, beside those that the configuration names.",
)
@webhook_configuration_option
@option(
    "--pod-opt-in",
    is_flag=True,
    help="Also serve pods that carry label fabric-injector.io/profile themselves in namespaces that do not: component pod-opt-in is "
    "installed. Without it, pods of unlabelled namespaces are left alone, whatever they carry.",
)
@listen_option(
    "--metrics-listen",
    "0.0.0.0:8080",
    "Where to answer /metrics, /livez and /readyz, over HTTP. Port 0 takes a free one.",
)
def command(
    profiles: Path | None,
    config: Path | None,
    namespace: str,
    certificates: str,
    service: str,
    webhook_configuration: str,
    pod_opt_in: bool,
    metrics_listen: ListenAddress,
) -> None:
    """Publish each job's rank-0 address on its pods, and keep the webhook's certificates, until SIGTERM.

    Watches the pods that the webhook injected, in namespaces that carry label fabric-injector.io/profile, reads the addresses that
    Multus wrote, and writes them as annotations. Run two: one holds the Lease and writes, the other takes over. Exit status 0 after
    SIGTERM, 2 where something that was given here cannot be used.

    \b
    Examples:
      fabric-injector control
      fabric-injector control --namespace fabric-injector --metrics-listen 127.0.0.1:0
      fabric-injector control --certificates none
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.kubeconfig import connect
    from webhook.control.run import ControllerSettings, run
    from webhook.core.errors import InputError
    from webhook.core.profiles import ClusterSettings
    from webhook.serve.profiles import configuration_file

    settings = _settings(profiles) if profiles else ClusterSettings()
    # its faults are logged, and addresses are published all the same
    configuration = (
        configuration_file(config, absent=settings, at_first=settings) if config else None
    )
    try:
        run(
            ControllerSettings(
                metrics_listen,
                namespace,
                certificates == "self",
                service,
                webhook_configuration,
                pod_opt_in,
            ),
            configuration.look if configuration else lambda: settings,
            connect,
        )
    except InputError as error:
        raise Failure(str(error)) from None


def _settings(path: Path) -> ClusterSettings:
    """Read what holds for all profiles. Print what is wrong with the file; addresses are published all the same."""
    from webhook.core.errors import InputError, ProfilesError
    from webhook.core.profiles import ClusterSettings, parse_profiles
    from webhook.world.followed_file import FollowedFile

    try:
        return FollowedFile(path, parse=parse_profiles).current().settings
    except ProfilesError as error:
        for problem in error.problems:
            click.echo(f"{path}: {problem}", err=True)
    except InputError as error:
        click.echo(str(error), err=True)
    return ClusterSettings()
