"""Define the options that commands share, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.kube.credentials import NoCredentials

if TYPE_CHECKING:
    from webhook.kube.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
option = click.option
FILE: click.Path = click.Path(path_type=Path)
MANIFEST: click.Path = click.Path(path_type=Path, allow_dash=True)
_TITLE = f"{__name__}.title"
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def seconds(text: str) -> float:
    """Read a time as kubectl does: ``30``, ``30s``, ``2m``; raise BadParameter for another text."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no time; write 30s or 2m")
    return float(found[1]) * _SECONDS[found[2]]


webhook_configuration = option(
    "--webhook-configuration",
    metavar="NAME",
    default=names.WEBHOOK_CONFIGURATION,
    help="MutatingWebhookConfiguration of the webhook.",
)
system_namespace = option(
    "--system-namespace",
    metavar="NS",
    default="fabric-injector",
    help="Namespace of fabric-injector.",
)
profiles = option("--profiles", type=FILE, help="Use the profiles of this file, not the webhook's.")
all_namespaces = option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
no_headers = option("--no-headers", is_flag=True, help="Print no line of headings.")
manifests = option(
    *("-f", "--file"),
    type=MANIFEST,
    multiple=True,
    metavar="FILE",
    help="File or folder; - is standard input.",
)
recursive = option("-R", "--recursive", is_flag=True, help="Read folders inside a folder too.")


def namespace(text: str) -> Callable[[F], F]:
    """Make kubectl's ``-n`` and ``--namespace``; *text* says what is in the namespace."""
    return option("-n", "--namespace", metavar="NS", help=text)


def selector(text: str) -> Callable[[F], F]:
    """Make kubectl's ``-l``; *text* says what it chooses."""
    return option("-l", "--selector", default="", show_default=False, metavar="SELECTOR", help=text)


def objects(file: click.Path) -> Callable[[F], F]:
    """Make ``--objects``; *file* says whether it may be standard input."""
    text = "File of objects in place of a cluster."
    return option("--objects", type=file, multiple=True, help=text)


def output(*forms: str, text: str) -> Callable[[F], F]:
    """Make ``--output`` with *forms* to choose from."""
    return option("-o", "--output", type=click.Choice(forms), metavar="FORM", help=text)


def listen(spelling: str, default: str, text: str) -> Callable[[F], F]:
    """Make an option for an address to listen on."""
    from webhook.http.listener import ListenAddress

    def address(written: str) -> ListenAddress:
        try:
            return ListenAddress.parse(written)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return option(spelling, type=address, metavar="HOST:PORT", default=default, help=text)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta[f"{__name__}.{parameter.name}"] = value


_of_cluster = partial(option, expose_value=False, hidden=True, callback=_keep)
CLUSTER_OPTIONS: tuple[Callable[[F], F], ...] = (
    _of_cluster("--kubeconfig", type=FILE, help="Kubeconfig file."),
    _of_cluster("--context", metavar="NAME", help="Context of the kubeconfig."),
    _of_cluster("--cluster", metavar="NAME", help="Cluster of the kubeconfig."),
    _of_cluster("--as", metavar="USER", help="Act as this user."),
    _of_cluster("--as-group", metavar="GROUP", multiple=True, help="Act as this group too."),
    _of_cluster("--request-timeout", type=seconds, metavar="TIME", help="Of each request, 30s."),
)
CLUSTER_HELP = (
    "As in kubectl: --kubeconfig, --context, --cluster, --as, --as-group, --request-timeout."
)


def cluster(command: F) -> F:
    """Give a command kubectl's options; `connect_to_cluster` follows them.

    They are the same in all commands: help names them in one line.
    """
    return reduce(lambda made, add: add(made), reversed(CLUSTER_OPTIONS), command)


def connect_to_cluster() -> Connection:
    """Return a connection by kubectl's options; raise InputError without credentials."""
    from webhook.cli import kubeconfig

    context = click.get_current_context()
    file, of_context, of_cluster, user, groups, limit = (
        context.meta.get(f"{__name__}.{key}")
        for key in ("kubeconfig", "context", "cluster", "as", "as_group", "request_timeout")
    )
    if groups and not user:
        raise InputError("--as-group needs --as: name the user too")
    try:
        connection = kubeconfig.connect(
            kubeconfig=file and file.expanduser(),
            context=of_context or "",
            cluster=of_cluster or "",
            impersonate=(user, *(groups or ())) if user else (),
            request_seconds=limit or 0.0,
        )
    except NoCredentials as error:
        if "objects" in context.params:
            raise InputError(f"{error}, or do without a cluster, by --objects FILE") from None
        raise
    context.meta[_TITLE] = connection.title
    return connection


class Failure(click.ClickException):
    """End with status 2: the command or its input is wrong, or the cluster refuses a request."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        """Hold the *message*; for a failed request, with the cluster and what to do.

        It may name objects of tenants, whose names a terminal must not obey: no line can break.
        """
        context = click.get_current_context(silent=True)
        if context and (title := context.meta.get(_TITLE)):
            message = with_cluster(message, title)
        lines = [printable(line, limit=LONGEST_TEXT) for line in message.split("\n")]
        super().__init__("\n".join(lines))


_REQUEST = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S*?(?: answered (?P<status>\d{3})\b|: )")
"""How `webhook.kube.connection` names a request in its errors."""
_REMEDIES = (
    ("401", "", "its user is unknown there, or no longer known: log in to the cluster again"),
    ("403", "system:anonymous", "its user sends no credentials: log in to the cluster"),
    ("403", "/fabricprofiles", "ask for ClusterRole fabric-injector-profile-viewer there"),
    ("403", "", "ask for the right there"),
    ("", "not valid for", "correct the cluster's server, or its tls-server-name"),
    ("", "CERTIFICATE_VERIFY_FAILED", "correct the cluster's certificate-authority"),
    ("", "SSL", "correct the cluster's server: it may not speak TLS"),
    ("", "", "see whether it runs and can be reached from here, correct the cluster's server"),
)
"""Status, or empty for no answer; a word of the message; what to do. The first that fits counts."""


def with_cluster(message: str, title: str) -> str:
    """Add the *title* of the connection, and what to do, to an error of a failed request."""
    failed = _REQUEST.search(message)
    if failed is None or title in message:
        return message
    status = failed["status"] or ""
    for code, word, advice in _REMEDIES:
        if code == status and word in message:
            title += f": {advice}, or name another by --context or --kubeconfig"
            break
    return f"{message}\nthis is {title}"
