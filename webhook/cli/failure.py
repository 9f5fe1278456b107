"""Say how a command ends whose input is wrong, or whose request fails: what to do about it."""

import errno
import re

import click

from webhook.core.errors import WebhookError
from webhook.core.printable import LONGEST_TEXT, printable
from webhook.diagnose.snapshot import Unread

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


class Failure(click.ClickException):
    """End with status 2: the command or its input is wrong, or the cluster refuses a request."""

    exit_code = 2


def failure_by(error: Exception, title: str) -> Failure | None:
    """Return the end that *error* means, None for a mistake of ours; *title*: of the cluster.

    A message may name objects of tenants, whose names a terminal must not obey: no line can break.
    """
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return Failure(f"the output cannot be written: {error.strerror}")
    if not isinstance(error, WebhookError | Unread):
        return None
    lines = with_cluster(str(error), title).split("\n")
    return Failure("\n".join(printable(line, limit=LONGEST_TEXT) for line in lines))


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
