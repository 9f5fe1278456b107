"""Define the options that commands share, and what follows from them.

Help and completion import this, and the command's own module: what only the command's work needs is imported by the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from webhook.core import names
from webhook.core.printable import LONGEST_TEXT, printable

if TYPE_CHECKING:
    from webhook.core.errors import InputError, ProfilesError
    from webhook.http.listener import ListenAddress
    from webhook.kube.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
_KUBECONFIG, _CONTEXT, _CLUSTER = (
    f"{__name__}.kubeconfig",
    f"{__name__}.context",
    f"{__name__}.cluster",
)


class FileType(click.Path):
    """Read the path of a file as a Path: pathlib is imported where one is given, and not for help."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        from pathlib import Path

        return Path(os.fsdecode(super().convert(value, param, ctx)))


FILE = FileType()


class AddressType(click.ParamType["ListenAddress"]):
    """Read ``HOST:PORT``."""

    name = "HOST:PORT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> ListenAddress:
        """Return the address, or fail with what is wrong with it."""
        from webhook.http.listener import ListenAddress

        try:
            return value if isinstance(value, ListenAddress) else ListenAddress.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def option(*spellings: str, **settings: Any) -> Callable[[F], F]:
    """Make an option that is an environment variable too; its help names that, and the default where there is one."""
    return click.option(
        *spellings, show_envvar=True, show_default=bool(settings.get("default")), **settings
    )


webhook_configuration_option = option(
    "--webhook-configuration",
    default=names.WEBHOOK_CONFIGURATION,
    help="MutatingWebhookConfiguration whose caBundle clients of the webhook trust.",
)
system_namespace_option = option(
    "--system-namespace",
    metavar="NS",
    default="fabric-injector",
    help="Namespace in which fabric-injector is installed.",
)


profiles_in_place_option = option(
    "--profiles",
    type=FILE,
    help="YAML file of the profiles, in place of those that the webhook uses.",
)


def workload_namespace_option(text: str) -> Callable[[F], F]:
    """Make kubectl's ``-n`` and ``--namespace``, of what the command looks at; *text* says what that is."""
    return option("-n", "--namespace", metavar="NS", help=text)


def namespace_option(command: str, text: str) -> Callable[[F], F]:
    """Make ``--system-namespace`` for a *command* that looks at the installation alone, with ``-n`` for it; *text*: what is in it."""
    help_text = f"{text} Here -n and --namespace mean the same; in explain and dry-run, the workload's namespace."
    return option(
        *("--system-namespace", "-n", "--namespace", "namespace"),
        metavar="NS",
        default="fabric-injector",
        help=help_text,
        envvar=f"FABRIC_INJECTOR_{command}_SYSTEM_NAMESPACE",
    )


def objects_option(file: click.Path) -> Callable[[F], F]:
    """Make ``--objects``; *file* says whether it may be standard input."""
    return option(
        "--objects",
        type=file,
        multiple=True,
        help="YAML or JSON file of Namespaces and NetworkAttachmentDefinitions in place of a cluster, which is then not "
        "contacted. Repeatable; in the environment variable, separate files with ':'.",
    )


def output_option(*forms: str, default: str, text: str) -> Callable[[F], F]:
    """Make ``--output`` with *forms* to choose from."""
    return option("-o", "--output", type=click.Choice(forms), default=default, help=text)


def listen_option(spelling: str, default: str, text: str) -> Callable[[F], F]:
    """Make an option for an address to listen on."""
    return option(spelling, type=AddressType(), default=default, help=text)


def _keep(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        context.meta[key] = value

    return callback


def cluster_options(command: F) -> F:
    """Give a command kubectl's ``--kubeconfig`` and ``--context``; `connect_to_cluster` follows them."""
    for add in (
        option(
            "--context",
            metavar="NAME",
            default="",
            expose_value=False,
            callback=_keep(_CONTEXT),
            help="Context of the kubeconfig, in place of its current one.",
        ),
        option(
            "--kubeconfig",
            type=FILE,
            expose_value=False,
            callback=_keep(_KUBECONFIG),
            help="Kubeconfig file, in place of the service account, KUBECONFIG and ~/.kube/config.",
        ),
    ):
        command = add(command)
    return command


def connect_to_cluster() -> Connection:
    """Return a connection as the `cluster_options` of the running command say. Raises InputError where there are no credentials."""
    from webhook.cli.kubeconfig import connect
    from webhook.core.errors import InputError
    from webhook.kube.credentials import NoCredentials

    context = click.get_current_context()
    try:
        kubeconfig = context.meta.get(_KUBECONFIG)
        connection = connect(
            kubeconfig=kubeconfig and kubeconfig.expanduser(),
            context=context.meta.get(_CONTEXT) or "",
        )
    except NoCredentials as error:
        if "objects" in context.params:
            raise InputError(f"{error}, or do without a cluster, by --objects FILE") from None
        raise
    context.meta[_CLUSTER] = connection.title
    return connection


def unusable(source: str, error: ProfilesError) -> InputError:
    """Return the error that lists every fault of the profiles at *source*."""
    from webhook.core.errors import InputError

    faults = "\n".join(f"{source}: {problem}" for problem in error.problems)
    return InputError(f"the profiles cannot be used\n{faults}")


class Failure(click.ClickException):
    """End with status 2: the command or its input is wrong, or the cluster grants no request that it needs."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        """Hold the *message*; where a request had no success, with the cluster that was asked, and what to do.

        It may name objects of tenants, whose names a terminal must not obey; each of its lines stays one.
        """
        context = click.get_current_context(silent=True)
        if context and (title := context.meta.get(_CLUSTER)):
            from webhook.cli.unanswered import with_cluster

            message = with_cluster(message, title)
        super().__init__(
            "\n".join(printable(line, limit=LONGEST_TEXT) for line in message.split("\n"))
        )
