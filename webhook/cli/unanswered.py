"""Say of a request that the cluster did not grant, which cluster was asked, by what kubeconfig and context, and what to do."""

from __future__ import annotations

import re

_REQUEST = re.compile(r"\b(?:GET|POST|PUT|PATCH|DELETE) /\S*?(?: answered (?P<status>\d{3})\b|: )")
"""How `webhook.kube.connection` names a request in its errors."""
_ANOTHER = "or name another by --context or --kubeconfig"


def with_cluster(message: str, title: str) -> str:
    """Add to an error *message* the *title* of the connection, where it tells of a request without success; else return it."""
    failed = _REQUEST.search(message)
    if failed is None or title in message:
        return message
    advice = _advice(int(failed["status"] or 0), message)
    return f"{message}\nthis is {title}{f': {advice}' if advice else ''}"


def _advice(status: int, message: str) -> str:
    """Return what to do about the answer; *status* 0: there was none."""
    if not status:
        return f"{_unconnected(message)}, {_ANOTHER}"
    if status == 401:
        return f"its user is not known there, or no longer: log in to the cluster again, {_ANOTHER}"
    if status == 403 and "system:anonymous" in message:
        return f"its user sends no credentials: log in to the cluster, {_ANOTHER}"
    if status == 403:
        return f"ask for the right there, {_ANOTHER}"
    return ""


def _unconnected(message: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in message:
        if "match" in message or "not valid for" in message:
            return "the certificate is for another name: correct the cluster's server, or its tls-server-name"
        return "its certificate is not trusted: correct the cluster's certificate-authority"
    if "WRONG_VERSION_NUMBER" in message or "RECORD_LAYER_FAILURE" in message:
        return "it does not speak TLS: correct the cluster's server"
    return "see whether it runs and can be reached from here, correct the cluster's server"
