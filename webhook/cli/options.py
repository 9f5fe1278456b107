"""Define the options that commands share, and what follows from them.

Help and completion import this, and the command's own module; the work imports what it needs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click

from webhook.core import names
from webhook.core.printable import LONGEST_TEXT, printable

if TYPE_CHECKING:
    from webhook.core.errors import InputError, ProfilesError
    from webhook.http.listener import ListenAddress
    from webhook.kube.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
_CLUSTER = f"{__name__}.cluster"
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class FileType(click.Path):
    """Read the path of a file as a Path; help does without pathlib."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        from pathlib import Path

        return Path(os.fsdecode(super().convert(value, param, ctx)))


FILE = FileType()
MANIFEST = FileType(allow_dash=True)


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


class TimeType(click.ParamType[float]):
    """Read a time as kubectl does: ``30``, ``30s``, ``2m``."""

    name = "TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        found = _TIME.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is no time; write 30s or 2m", param, ctx)  # raises
        return float(found[1]) * _SECONDS[found[2] or "s"]


def option(*spellings: str, **settings: Any) -> Callable[[F], F]:
    """Make an option; its help shows the default where there is one."""
    return click.option(*spellings, show_default=bool(settings.get("default")), **settings)


webhook_configuration_option = option(
    "--webhook-configuration",
    metavar="NAME",
    default=names.WEBHOOK_CONFIGURATION,
    help="MutatingWebhookConfiguration of the webhook.",
)
system_namespace_option = option(
    "--system-namespace",
    metavar="NS",
    default="fabric-injector",
    help="Namespace of fabric-injector.",
)
profiles_in_place_option = option(
    "--profiles", type=FILE, help="Use the profiles of this file, not the webhook's."
)
all_namespaces_option = option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")


def workload_namespace_option(text: str) -> Callable[[F], F]:
    """Make kubectl's ``-n`` and ``--namespace``; *text* says what is in the namespace."""
    return option("-n", "--namespace", metavar="NS", help=text)


def selector_option(text: str) -> Callable[[F], F]:
    """Make kubectl's ``-l``; *text* says what it chooses."""
    return option("-l", "--selector", default="", metavar="SELECTOR", help=text)


def namespace_option(command: str, text: str) -> Callable[[F], F]:
    """Make ``--system-namespace``, also as ``-n``, for a *command* about the installation."""
    return option(
        *("--system-namespace", "-n", "--namespace", "namespace"),
        metavar="NS",
        default="fabric-injector",
        help=text,
        envvar=f"FABRIC_INJECTOR_{command}_SYSTEM_NAMESPACE",
    )


def manifest_options(command: F) -> F:
    """Give a command kubectl's ``-f`` and ``-R``; the function gets *file*, *recursive*, *more*."""
    file = option(
        *("-f", "--file"),
        type=MANIFEST,
        multiple=True,
        metavar="FILE",
        help="File or folder; - is standard input.",
    )
    folders = option("-R", "--recursive", is_flag=True, help="Read folders inside a folder too.")
    more = click.argument("more", type=MANIFEST, nargs=-1, metavar="[FILE]...")
    return file(folders(more(command)))


def objects_option(file: click.Path) -> Callable[[F], F]:
    """Make ``--objects``; *file* says whether it may be standard input."""
    text = "File of objects in place of a cluster."
    return option("--objects", type=file, multiple=True, help=text)


def output_option(*forms: str, default: str | None, text: str) -> Callable[[F], F]:
    """Make ``--output`` with *forms* to choose from."""
    return option(
        "-o", "--output", type=click.Choice(forms), metavar="FORM", default=default, help=text
    )


no_headers_option = option("--no-headers", is_flag=True, help="Print no line of headings.")


def listen_option(spelling: str, default: str, text: str) -> Callable[[F], F]:
    """Make an option for an address to listen on."""
    return option(spelling, type=AddressType(), default=default, help=text)


def _cluster_option(spelling: str, **settings: Any) -> Callable[[F], F]:
    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        context.meta[f"{__name__}{parameter.opts[0]}"] = value

    return option(spelling, expose_value=False, hidden=True, callback=keep, **settings)


CLUSTER_OPTIONS: tuple[Callable[[F], F], ...] = (
    _cluster_option("--kubeconfig", type=FILE, help="Kubeconfig file."),
    _cluster_option("--context", metavar="NAME", default="", help="Context of the kubeconfig."),
    _cluster_option("--cluster", metavar="NAME", default="", help="Cluster of the kubeconfig."),
    _cluster_option("--as", metavar="USER", default="", help="Act as this user."),
    _cluster_option("--as-group", metavar="GROUP", multiple=True, help="Act as this group too."),
    _cluster_option("--request-timeout", type=TimeType(), help="Limit of each request, 30s."),
)
CLUSTER_HELP = (
    "As in kubectl: --kubeconfig, --context, --cluster, --as, --as-group, --request-timeout."
)


def cluster_options(command: F) -> F:
    """Give a command kubectl's options; `connect_to_cluster` follows them.

    They are the same in all commands: help names them in one line.
    """
    return reduce(lambda made, add: add(made), reversed(CLUSTER_OPTIONS), command)


def connect_to_cluster(request_seconds: float = 0.0) -> Connection:
    """Return a connection by the `cluster_options`; raise InputError without credentials.

    *request_seconds*: the time that a request may take, where the user gives none.
    """
    from webhook.cli.kubeconfig import connect
    from webhook.core.errors import InputError
    from webhook.kube.credentials import NoCredentials

    context = click.get_current_context()

    def given(spelling: str) -> Any:
        return context.meta.get(f"{__name__}{spelling}")

    user, groups = given("--as"), given("--as-group") or ()
    if groups and not user:
        raise InputError("--as-group needs --as: name the user too")
    kubeconfig = given("--kubeconfig")
    try:
        connection = connect(
            kubeconfig=kubeconfig and kubeconfig.expanduser(),
            context=given("--context") or "",
            cluster=given("--cluster") or "",
            impersonate=(user, *groups) if user else (),
            request_seconds=given("--request-timeout") or request_seconds,
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
    """End with status 2: the command or its input is wrong, or the cluster refuses a request."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        """Hold the *message*; for a failed request, with the cluster and what to do.

        It may name objects of tenants, whose names a terminal must not obey: no line can break.
        """
        context = click.get_current_context(silent=True)
        if context and (title := context.meta.get(_CLUSTER)):
            from webhook.cli.unanswered import with_cluster

            message = with_cluster(message, title)
        lines = [printable(line, limit=LONGEST_TEXT) for line in message.split("\n")]
        super().__init__("\n".join(lines))
