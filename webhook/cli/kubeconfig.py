"""Find this process's credentials: the pod's service account, else the kubeconfig.

The client library reads the kubeconfig, with all its plugins and identity providers; no other
module imports it. It takes 20 MB and 0.2 s, and no process in a pod comes here for more than its
service account.
"""

import ipaddress
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.yaml_reader import YamlFault, decode, read_documents
from webhook.kube.connection import Connection
from webhook.kube.credentials import (
    SERVICE_ACCOUNT,
    Credentials,
    NoCredentials,
    TokenFile,
    anonymous,
    pod_credentials,
)


def connect(
    environ: Mapping[str, str] | None = None,
    *,
    kubeconfig: Path | None = None,
    context: str = "",
    cluster: str = "",
    impersonate: tuple[str, ...] = (),
    request_seconds: float = 0.0,
) -> Connection:
    """Prepare a connection by `find_credentials`; raise InputError where there are none.

    *impersonate*: a user, and groups, in whose name requests are sent. *request_seconds*: the time
    that each may take, 0 for our own limits.
    """
    environ = os.environ if environ is None else environ
    found = find_credentials(environ, kubeconfig=kubeconfig, context=context, cluster=cluster)
    found = replace(found, impersonate=impersonate)
    return Connection(found, request_seconds=request_seconds)


def find_credentials(
    environ: Mapping[str, str],
    *,
    home: Path | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    kubeconfig: Path | None = None,
    context: str = "",
    cluster: str = "",
) -> Credentials:
    """Find those of the pod's service account, else of ``$KUBECONFIG``, else of ``~/.kube/config``.

    A *kubeconfig*, or the name of a *context* or *cluster* in it, is chosen by hand and goes before
    the service account. Raises InputError naming what cannot be used, or all places.
    """
    by_hand = kubeconfig is not None or bool(context or cluster)
    if not by_hand and (found := pod_credentials(environ, service_account)):
        return found
    listed = [Path(part).expanduser() for part in environ.get("KUBECONFIG", "").split(":") if part]
    files = listed or [(home or Path.home()) / ".kube" / "config"]
    files = [kubeconfig] if kubeconfig is not None else files
    if present := [file for file in files if file.exists()]:
        return _kubeconfig(present, context, cluster)
    looked = f"no kubeconfig at {', '.join(map(str, files))}"
    if by_hand:
        raise InputError(f"{looked}; correct --kubeconfig or KUBECONFIG")
    no_pod = f"this is no pod with a service account ({service_account / 'token'})"
    problem = f"no credentials for a cluster: {no_pod}, and there is {looked}"
    raise NoCredentials(f"{problem}; set KUBECONFIG")


class _Chosen(NamedTuple):
    """Hold what a context names; relative paths of *user* begin where its *file* is."""

    namespace: str
    cluster: Object
    user: Object
    file: Path


def _kubeconfig(files: list[Path], context: str, cluster: str) -> Credentials:
    documents = {file: _document(file) for file in files}
    # Among several files the library takes the last current-context, kubectl the first.
    current = (document.get("current-context") for document in documents.values())
    name = context or next(filter(None, current), "")
    title = f"kubeconfig {', '.join(map(str, files))}"
    if not name:
        advice = "run `kubectl config use-context NAME`"
        raise InputError(f"{title}: current-context: not set; {advice}")
    title += f", context {name}"
    try:
        chosen = _chosen(documents, name, cluster)
        _check(chosen)
        return _credentials(title, chosen, _loaded(chosen))
    except InputError as error:
        problem = str(error).removeprefix(f"{title}: ")  # that of a token file has it
        raise InputError(f"{title}: {problem}") from None
    except Exception as error:  # the library raises whatever its assumptions meet
        problem = str(error) or repr(error)
        raise InputError(f"{title}: {problem}; see `kubectl config view`") from None


def _document(file: Path) -> Object:
    try:
        documents = read_documents(decode(file.read_bytes()))
    except OSError as error:
        advice = "check its mode or KUBECONFIG"
        raise InputError(
            f"kubeconfig {file}: cannot be read ({error.strerror}); {advice}"
        ) from None
    except YamlFault as fault:
        raise InputError(f"kubeconfig {file}: {fault}") from None
    document = documents[0].value if documents else {}  # kubectl, too, reads the first alone
    if not isinstance(document, dict):
        raise InputError(f"kubeconfig {file}: is not an object; see `kubectl config view`")
    return document


def _chosen(documents: Mapping[Path, Object], name: str, another: str) -> _Chosen:
    _, context = _entry(documents, "context", name)
    cluster_file, cluster = _entry(documents, "cluster", another or context.get("cluster"))
    file, user = cluster_file, Object()
    if context.get("user"):
        file, user = _entry(documents, "user", context["user"])
    if path := cluster.get("certificate-authority"):  # the library knows one folder only
        absolute = str(cluster_file.absolute().parent / path)
        cluster = {**cluster, "certificate-authority": absolute}
    return _Chosen(context.get("namespace") or "", cluster, user, file)


def _entry(documents: Mapping[Path, Object], kind: str, name: Any) -> tuple[Path, Object]:
    """Return the first entry of this name and its file; raise LookupError with those there are."""
    found: dict[str, tuple[Path, Object]] = {}
    for file, document in documents.items():
        for each in document.get(f"{kind}s") or []:
            found.setdefault(each["name"], (file, each.get(kind) or {}))
    if name not in found:
        listed = ", ".join(sorted(found)) or "none"
        raise LookupError(f"no {kind} is named {name}; use one of: {listed}")
    return found[name]


def _check(chosen: _Chosen) -> None:
    """Refuse what the library would pass over.

    It would act on another server, as another user, or check nothing. Raises InputError.
    """
    cluster, user, web = chosen.cluster, chosen.user, ("https://", "http://")
    if not str(cluster.get("server")).startswith(web):
        raise InputError("server is no http or https URL; write https://HOST:PORT")
    if not isinstance(cluster.get("insecure-skip-tls-verify") or False, bool):
        raise InputError("insecure-skip-tls-verify is no boolean; write true or false")
    if not str(cluster.get("proxy-url") or web[0]).startswith(web):
        raise InputError("proxy-url: only http and https proxies are supported; use one or none")
    if as_whom := [key for key in user if key == "as" or key.startswith("as-")]:
        advice = "choose a context whose user is meant itself"
        raise InputError(f"{as_whom[0]}: impersonation is not supported; {advice}")
    for key, value in (*cluster.items(), *user.items()):
        if key.endswith("-data") and not str(value or "").strip():
            raise InputError(f"{key} is empty; leave it out or fill it")


def _loaded(chosen: _Chosen) -> Any:
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import KubeConfigLoader

    document = {
        "current-context": "context",
        "contexts": [{"name": "context", "context": {"cluster": "cluster", "user": "user"}}],
        "clusters": [{"name": "cluster", "cluster": chosen.cluster}],
        "users": [{"name": "user", "user": chosen.user}],
    }
    found, folder = Configuration(), str(chosen.file.absolute().parent)
    loader = KubeConfigLoader(document, config_base_path=folder)  # type: ignore[no-untyped-call]
    loader.load_and_set(found)  # type: ignore[no-untyped-call]  # the library gives it no types
    return found


def _credentials(title: str, chosen: _Chosen, found: Any) -> Credentials:
    authorization = _authorization(title, chosen, found)
    ca, certificate, key = (
        Path(file) if file else None
        for file in (found.ssl_ca_cert, found.cert_file, found.key_file)
    )
    if ca is not None and not ca.read_bytes().strip():
        raise InputError("the certificate authority is empty; give a PEM file")
    if (certificate is None) != (key is None):
        raise InputError("a client certificate and its key go together, one is missing; give both")
    plugins = chosen.user.keys() & {"exec", "auth-provider"}
    if plugins and not authorization() and certificate is None:  # which the library only logs
        problem = "it gave neither a token nor a certificate; try `kubectl get namespaces`"
        raise InputError(f"{plugins.pop()}: {problem}")
    return Credentials(
        source=title,
        server=found.host,
        # As kubectl: nothing secret is sent where nothing is encrypted.
        authorization=authorization if found.host.startswith("https://") else anonymous,
        ca=ca,
        certificate=certificate,
        key=key,
        verify=found.verify_ssl,
        server_name=found.tls_server_name or "",
        proxy=_proxy(chosen.cluster, found),
        namespace=chosen.namespace,
    )


def _authorization(title: str, chosen: _Chosen, found: Any) -> Callable[[], str]:
    if path := chosen.user.get("tokenFile"):  # which the library reads once
        return TokenFile(chosen.file.absolute().parent / path, title)
    lock = threading.Lock()

    def authorization() -> str:
        with lock:  # the library asks a plugin again before its token expires
            return found.get_api_key_with_prefix("BearerToken") or ""

    return authorization


def _proxy(cluster: Object, found: Any) -> str:
    """Choose the proxy as kubectl does: loopback is never proxied."""
    from kubernetes.client.rest import should_bypass_proxies

    if chosen := cluster.get("proxy-url"):
        return str(chosen)
    host = urlsplit(found.host).hostname or ""
    if _is_loopback(host) or should_bypass_proxies(found.host, found.no_proxy or ""):
        return ""
    proxy = found.proxy or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
