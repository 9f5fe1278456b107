"""Define the options that commands share, and connect by those of kubectl."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from webhook.core import names
from webhook.core.errors import InputError
from webhook.kube.credentials import NoCredentials

if TYPE_CHECKING:
    from webhook.kube.connection import Connection

option = click.option
FILE: click.Path = click.Path(path_type=Path)
MANIFEST: click.Path = click.Path(path_type=Path, allow_dash=True)
TITLE = f"{__name__}.title"
"""Under this key of a context's *meta* stands how messages call the cluster that was asked."""
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
_FILES = "File or folder; - is standard input."
manifests = partial(
    option, "-f", "--file", type=MANIFEST, multiple=True, metavar="FILE", help=_FILES
)
recursive = option("-R", "--recursive", is_flag=True, help="Read folders inside a folder too.")
objects = partial(option, "--objects", multiple=True, help="File of objects in place of a cluster.")
namespace = partial(option, "-n", "--namespace", metavar="NS")
selector = partial(option, "-l", "--selector", default="", show_default=False, metavar="SELECTOR")


def output(*forms: str, help: str) -> Callable[..., Any]:  # noqa: A002  # as click's
    """Make ``--output`` with *forms* to choose from."""
    return option("-o", "--output", type=click.Choice(forms), metavar="FORM", help=help)


def listen(spelling: str, default: str, text: str) -> Callable[..., Any]:
    """Make an option for an address to listen on."""
    from webhook.http.listener import ListenAddress

    def address(written: str) -> ListenAddress:
        try:
            return ListenAddress.parse(written)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return option(spelling, type=address, metavar="HOST:PORT", default=default, help=text)


_KUBECTLS = (
    click.Option(["--kubeconfig"], type=FILE, hidden=True, help="Kubeconfig file."),
    click.Option(["--context"], hidden=True, help="Context of the kubeconfig."),
    click.Option(["--cluster"], hidden=True, help="Cluster of the kubeconfig."),
    click.Option(["--as"], hidden=True, help="Act as this user."),
    click.Option(["--as-group"], multiple=True, hidden=True, help="Act as this group too."),
    click.Option(["--request-timeout"], type=seconds, hidden=True, help="Of each request, 30s."),
)


class ClusterCommand(click.Command):
    """Have kubectl's options, which `connect_to_cluster` follows.

    They are the same in all such commands, whose help names them in one line.
    """

    def __init__(self, *, params: Sequence[click.Parameter], **given: Any) -> None:
        spelled = ", ".join(each.opts[0] for each in _KUBECTLS)
        super().__init__(params=[*params, *_KUBECTLS], epilog=f"As in kubectl: {spelled}.", **given)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, which is not given these options."""
        ctx.obj = {each.name: ctx.params.pop(str(each.name)) for each in _KUBECTLS}
        return super().invoke(ctx)


def connect_to_cluster() -> Connection:
    """Return a connection by kubectl's options; raise InputError without credentials."""
    from webhook.cli import kubeconfig

    context = click.get_current_context()
    given = context.obj
    user, groups, file = given["as"], given["as_group"], given["kubeconfig"]
    if groups and not user:
        raise InputError("--as-group needs --as: name the user too")
    try:
        connection = kubeconfig.connect(
            kubeconfig=file and file.expanduser(),
            context=given["context"] or "",
            cluster=given["cluster"] or "",
            impersonate=(user, *groups) if user else (),
            request_seconds=given["request_timeout"] or 0.0,
        )
    except NoCredentials as error:
        if "objects" in context.params:
            raise InputError(f"{error}, or do without a cluster, by --objects FILE") from None
        raise
    context.meta[TITLE] = connection.title
    return connection
