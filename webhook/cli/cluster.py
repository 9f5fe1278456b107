"""Reach a cluster by kubectl's options, and say what to do where that fails."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from webhook.cli.options import FILE
from webhook.core.errors import InputError, WebhookError
from webhook.core.printable import LONGEST_TEXT, printable

if TYPE_CHECKING:
    from webhook.kube.connection import Connection

_TITLE = f"{__name__}.title"
"""Under this key of a context's *meta* stands how messages call the cluster that was asked."""
_TIME = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
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


def seconds(text: str) -> float:
    """Read a time as kubectl does: ``30``, ``30s``, ``2m``; raise BadParameter for another text."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no time; write 30s or 2m")
    return float(found[1]) * _SECONDS[found[2]]


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


def connect_to_cluster(request_seconds: float = 0.0) -> Connection:
    """Return a connection by kubectl's options; raise InputError without credentials.

    *request_seconds*: the time that a request may take, where the user gives none.
    """
    from webhook.cli import kubeconfig

    context = click.get_current_context()
    given = context.obj
    user, groups, file = given["as"], given["as_group"], given["kubeconfig"]
    if groups and not user:
        raise InputError("--as-group needs --as: name the user too")
    connection = kubeconfig.connect(
        kubeconfig=file and file.expanduser(),
        context=given["context"] or "",
        cluster=given["cluster"] or "",
        impersonate=(user, *groups) if user else (),
        request_seconds=given["request_timeout"] or request_seconds,
    )
    context.meta[_TITLE] = connection.title
    return connection


def failure_by(error: Exception, context: click.Context) -> click.UsageError | None:
    """Return the end that *error* means, with status 2; None for a mistake of ours.

    A message may name objects of tenants, whose names a terminal must not obey: no line can break.
    """
    from webhook.diagnose.snapshot import Unread

    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        text = f"the output cannot be written: {error.strerror}"
    elif isinstance(error, WebhookError | Unread):
        text = with_cluster(str(error), context.meta.get(_TITLE, ""))
    else:
        return None
    lines = (printable(line, limit=LONGEST_TEXT) for line in text.split("\n"))
    return click.UsageError("\n".join(lines))  # without a context it shows no usage


def with_cluster(message: str, title: str) -> str:
    """Add the *title* of the connection, and what to do, to an error of a failed request."""
    failed = _REQUEST.search(message)
    if failed is None or title in message:
        return message
    status = failed["status"] or ""
    fits = (each[2] for each in _REMEDIES if each[0] == status and each[1] in message)
    if advice := next(fits, ""):
        title += f": {advice}, or name another by --context or --kubeconfig"
    return f"{message}\nthis is {title}"
