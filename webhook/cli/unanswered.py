"""Add to the error of a failed request which cluster it went to, and what to do."""

from __future__ import annotations

import re

_REQUEST = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S*?(?: answered (?P<status>\d{3})\b|: )")
"""How `webhook.kube.connection` names a request in its errors."""
_ANOTHER = "or name another by --context or --kubeconfig"
_REMEDIES = (
    ("401", "", "its user is unknown there, or no longer known: log in to the cluster again"),
    ("403", "system:anonymous", "its user sends no credentials: log in to the cluster"),
    ("403", "", "ask for the right there"),
    (
        "",
        "not valid for",
        "the certificate is for another name: correct the cluster's server, or its tls-server-name",
    ),
    (
        "",
        "CERTIFICATE_VERIFY_FAILED",
        "its certificate is not trusted: correct the cluster's certificate-authority",
    ),
    *(
        ("", word, "it does not speak TLS: correct the cluster's server")
        for word in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
    ),
    ("", "", "see whether it runs and can be reached from here, correct the cluster's server"),
)
"""Status, or empty for no answer; a word of the message; what to do. The first that fits counts."""


def with_cluster(message: str, title: str) -> str:
    """Add the *title* of the connection, and what to do, to an error of a failed request."""
    failed = _REQUEST.search(message)
    if failed is None or title in message:
        return message
    status = failed["status"] or ""
    advice = [text for code, word, text in _REMEDIES if code == status and word in message][:1]
    return "".join((f"{message}\nthis is {title}", *(f": {each}, {_ANOTHER}" for each in advice)))
