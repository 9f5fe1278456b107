"""Get credentials that a program or an identity provider hands out: ``exec`` and ``auth-provider`` of a kubeconfig.

The only module that imports the client library's loader, and with it its models (20 MB): pods never come here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from webhook.core.model import Object
from webhook.kube.kubeconfig import NamedEntry


def plugin_credentials(
    cluster: NamedEntry, user: NamedEntry
) -> tuple[Callable[[], str], Path | None, Path | None]:
    """Ask the plugin once; give what later answers the header (asking again before a token expires), certificate and key.

    Raises InputError where the plugin gives neither a token nor a certificate.
    """
    from kubernetes.client import Configuration
    from kubernetes.config import ConfigException
    from kubernetes.config.kube_config import KubeConfigLoader

    document = {
        "current-context": "context",
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "clusters": [{"name": "cluster", "cluster": _cluster(cluster)}],
        "users": [{"name": "user", "user": user.values}],
    }
    kind = "exec" if user.values.get("exec") else "auth-provider"
    configuration = Configuration()
    try:
        loader = KubeConfigLoader(  # type: ignore[no-untyped-call]  # the library gives it no types
            document, config_base_path=str(user.file.absolute().parent)
        )
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]  # as above
    except (ConfigException, KeyError, TypeError, ValueError, OSError) as error:
        raise user.wrong(
            kind,
            f"no credentials ({type(error).__name__}: {error})",
            "try `kubectl get namespaces`",
        ) from None
    lock = threading.Lock()

    def authorization() -> str:
        with lock:
            return configuration.get_api_key_with_prefix("BearerToken") or ""

    certificate, key = (
        Path(file) if file else None for file in (configuration.cert_file, configuration.key_file)
    )
    if not authorization() and certificate is None:
        raise user.wrong(
            kind,
            "it gave neither a token nor a certificate",
            "its error is above; try `kubectl get namespaces`",
        )
    return authorization, certificate, key


def _cluster(cluster: NamedEntry) -> Object:
    """Give the cluster's entry with its path made absolute: the loader knows one folder only, the user's."""
    if file := cluster.text("certificate-authority"):
        return {**cluster.values, "certificate-authority": str(cluster.path(file))}
    return cluster.values
