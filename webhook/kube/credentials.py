"""Find the API server's address and this process's credentials: the pod's service account, else the kubeconfig.

Knows files and environment, not HTTP. Read here without the client library, which costs 20 MB of memory: tokens, token files,
client certificates, basic authentication. Programs and identity providers (``exec``, ``auth-provider``) are left to
:mod:`webhook.kube.plugins`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import urllib3

from webhook.core.errors import InputError
from webhook.kube.kubeconfig import NamedEntry, read_context
from webhook.kube.proxy import environment_proxy

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

Pem: TypeAlias = Path | bytes
"""A certificate or key: a file that may be replaced while we run, or its content."""


def _anonymous() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Hold what a connection needs: *server* as ``https://10.96.0.1:443``, *source* for messages.

    *authorization* gives the value of the header for the next request, ``"Bearer …"`` or nothing. *ca* None trusts the system's
    authorities. *server_name* is what the certificate must name, where that is not the host. *namespace* is the one that is meant
    where none is named; empty where nothing says.
    """

    source: str
    server: str
    authorization: Callable[[], str] = _anonymous
    ca: Pem | None = None
    certificate: Pem | None = None
    key: Pem | None = None
    verify: bool = True
    server_name: str = ""
    proxy: str = ""
    namespace: str = ""


class TokenFile:
    """Give the token in a file, as it is now; while the file cannot be read, the last one that could."""

    def __init__(self, path: Path, source: str) -> None:
        self._path = path
        self._token = self._read()
        if not self._token:
            raise InputError(
                f"{source}: the token file {path} is empty or cannot be read; mount or write a token there"
            )

    def __call__(self) -> str:
        """Give ``"Bearer TOKEN"``."""
        self._token = self._read() or self._token
        return f"Bearer {self._token}"

    def _read(self) -> str:
        return _read_text(self._path)


class NoCredentials(InputError):
    """Say that nothing names a cluster."""


def find_credentials(
    environ: Mapping[str, str],
    *,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    kubeconfig: Path | None = None,
    context: str = "",
) -> Credentials:
    """Find the credentials: in a pod its service account, else ``$KUBECONFIG``, else ``~/.kube/config``.

    A *kubeconfig*, or the name of a *context* in it, is chosen by hand and goes before the service account.
    Raises InputError naming the file and field that cannot be used, or all places that were looked at.
    """
    host, port = (
        environ.get("KUBERNETES_SERVICE_HOST", ""),
        environ.get("KUBERNETES_SERVICE_PORT", ""),
    )
    by_hand = kubeconfig is not None or bool(context)
    if not by_hand and host and port and (service_account / "token").exists():
        return _service_account(host, port, service_account)
    listed = [Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(":") if part]
    files = (
        [kubeconfig]
        if kubeconfig is not None
        else listed or [(home or Path.home()) / ".kube" / "config"]
    )
    present = [file for file in files if file.exists()]
    if not present and by_hand:
        raise InputError(
            f"no kubeconfig at {', '.join(map(str, files))}; correct --kubeconfig or KUBECONFIG"
        )
    if not present:
        raise NoCredentials(
            f"no credentials for a cluster: this is no pod with a service account ({service_account / 'token'}), and there is "
            f"no kubeconfig at {', '.join(map(str, files))}; set KUBECONFIG"
        )
    return _kubeconfig(present, environ, context)


def _service_account(host: str, port: str, folder: Path) -> Credentials:
    source = "service account"
    if not (folder / "ca.crt").is_file():
        raise InputError(
            f"{source}: {folder / 'ca.crt'} does not exist; mount the service account's volume whole"
        )
    return Credentials(
        source=source,
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        authorization=TokenFile(folder / "token", source),
        ca=folder / "ca.crt",
        namespace=_read_text(folder / "namespace"),
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _kubeconfig(files: list[Path], environ: Mapping[str, str], chosen: str) -> Credentials:
    context = read_context(files, chosen)
    cluster, user = context.cluster, context.user
    server = cluster.text("server").rstrip("/")
    if not server.startswith(("https://", "http://")):
        found = f"{server!r} is no http or https URL" if server else "is not set"
        raise cluster.wrong(
            "server", f"{found}, and context {context.name} needs it", "write https://HOST:PORT"
        )
    proxy = cluster.text("proxy-url") or environment_proxy(server, environ)
    if proxy and not proxy.startswith(("https://", "http://")):
        raise cluster.wrong(
            "proxy-url", "only http and https proxies are supported", "use such a proxy or none"
        )
    credentials = Credentials(
        source=f"kubeconfig {context.file}, context {context.name}",
        server=server,
        ca=_pem(cluster, "certificate-authority"),
        verify=not cluster.flag("insecure-skip-tls-verify"),
        server_name=cluster.text("tls-server-name"),
        proxy=proxy,
        namespace=context.namespace,
    )
    # As kubectl: nothing secret is sent where nothing is encrypted.
    return _with_user(credentials, cluster, user) if server.startswith("https://") else credentials


def _with_user(found: Credentials, cluster: NamedEntry, user: NamedEntry) -> Credentials:
    for field in ("as", "as-uid", "as-groups", "as-user-extra"):
        if user.values.get(field):
            raise user.wrong(
                field,
                "impersonation is not supported",
                "choose a context whose user is meant itself",
            )
    if user.values.get("exec") or user.values.get("auth-provider"):
        from webhook.kube.plugins import plugin_credentials

        authorization, certificate_file, key_file = plugin_credentials(cluster, user)
        return replace(
            found, authorization=authorization, certificate=certificate_file, key=key_file
        )
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if (certificate is None) != (key is None):
        missing = "client-certificate" if certificate is None else "client-key"
        raise user.wrong(
            missing,
            "a client certificate and its key go together, one is missing",
            "give both or none",
        )
    return replace(found, authorization=_authorization(user), certificate=certificate, key=key)


def _authorization(user: NamedEntry) -> Callable[[], str]:
    if path := user.text("tokenFile"):
        return TokenFile(user.path(path), f"kubeconfig {user.file}: {user.field}.tokenFile")
    if token := user.text("token"):
        return lambda: f"Bearer {token}"
    if name := user.text("username"):
        header = urllib3.make_headers(basic_auth=f"{name}:{user.text('password')}")["authorization"]
        return lambda: header
    return _anonymous


def _pem(entry: NamedEntry, key: str) -> Pem | None:
    if encoded := entry.text(f"{key}-data"):
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error:
            raise entry.wrong(
                f"{key}-data", "not base64", "encode the PEM file with base64, without line breaks"
            ) from None
    if not entry.text(key):
        return None
    path = entry.path(entry.text(key))
    if not path.is_file():
        raise entry.wrong(
            key, f"there is no file {path}", "correct the path (it is relative to the kubeconfig)"
        )
    return path
