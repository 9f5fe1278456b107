"""Share the pieces of which commands are made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from webhook.core import names
from webhook.core.errors import InputError, ProfilesError
from webhook.http.listener import ListenAddress

if TYPE_CHECKING:
    from webhook.kube.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
_KUBECONFIG, _CONTEXT = f"{__name__}.kubeconfig", f"{__name__}.context"


class AddressType(click.ParamType[ListenAddress]):
    """Read ``HOST:PORT``."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ListenAddress:
        """Return the address, or fail with what is wrong with it."""
        try:
            return value if isinstance(value, ListenAddress) else ListenAddress.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


webhook_configuration_option = click.option(
    "--webhook-configuration",
    default=names.WEBHOOK_CONFIGURATION,
    show_default=True,
    show_envvar=True,
    help="MutatingWebhookConfiguration whose caBundle clients of the webhook trust.",
)


namespace_option = click.option(
    "-n", "--namespace", default="fabric-injector", show_default=True, show_envvar=True, help="Namespace of the Secret."
)


system_namespace_option = click.option(
    "--system-namespace",
    metavar="NS",
    default="fabric-injector",
    show_default=True,
    show_envvar=True,
    help="Namespace in which fabric-injector is installed.",
)


def _keep(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        context.meta[key] = value

    return callback


def cluster_options(command: F) -> F:
    """Give a command kubectl's ``--kubeconfig`` and ``--context``; `connect_to_cluster` follows them."""
    for option in (
        click.option(
            "--context",
            metavar="NAME",
            default="",
            show_envvar=True,
            expose_value=False,
            callback=_keep(_CONTEXT),
            help="Context of the kubeconfig, in place of its current one.",
        ),
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            show_envvar=True,
            expose_value=False,
            callback=_keep(_KUBECONFIG),
            help="Kubeconfig file, in place of the service account, KUBECONFIG and ~/.kube/config.",
        ),
    ):
        command = option(command)
    return command


def connect_to_cluster() -> Connection:
    """Prepare a connection as the running command's `cluster_options` say; raise InputError where there are no credentials."""
    from webhook.kube.connection import connect

    meta = click.get_current_context().meta
    return connect(kubeconfig=meta.get(_KUBECONFIG), context=meta.get(_CONTEXT) or "")


def unusable(source: str, error: ProfilesError) -> InputError:
    """Tell every fault of the profiles at *source*."""
    faults = "\n".join(f"{source}: {problem}" for problem in error.problems)
    return InputError(f"the profiles cannot be used\n{faults}")


class Failure(click.ClickException):
    """End with status 2: the command or its input is wrong."""

    exit_code = 2
