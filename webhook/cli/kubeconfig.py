"""Find this process's credentials: the pod's service account, else the kubeconfig.

The client library reads the kubeconfig, with all its plugins and identity providers; no other
module imports it. It takes 20 MB and 0.2 s, and no process in a pod comes here for more than its
service account.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.kube.connection import Connection
from webhook.kube.credentials import SERVICE_ACCOUNT, Credentials, anonymous, pod_credentials


def connect(
    environ: Mapping[str, str] = os.environ,
    *,
    impersonate: tuple[str, ...] = (),
    request_seconds: float = 0.0,
    **chosen: Any,
) -> Connection:
    """Prepare a connection by what is *chosen* for `find_credentials`, which raises InputError.

    *impersonate*: a user, and groups, in whose name requests are sent. *request_seconds*: the time
    that each may take, 0 for our own limits.
    """
    found = find_credentials(environ, **chosen)
    found = replace(found, impersonate=impersonate, namespace=found.namespace or "default")
    return Connection(found, request_seconds=request_seconds)


def find_credentials(
    environ: Mapping[str, str],
    *,
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
    written = environ.get("KUBECONFIG") or str(Path(environ.get("HOME", "~"), ".kube", "config"))
    files = [Path(part).expanduser() for part in written.split(":") if part]
    files = [kubeconfig] if kubeconfig is not None else files
    if present := [file for file in files if file.exists()]:
        return _kubeconfig(present, context, cluster)
    looked = f"no kubeconfig at {', '.join(map(str, files))}"
    if by_hand:
        raise InputError(f"{looked}; correct --kubeconfig or KUBECONFIG")
    no_pod = f"this is no pod with a service account ({service_account / 'token'})"
    todo = "set KUBECONFIG; dry-run does without a cluster, by --objects FILE"
    raise InputError(f"no credentials for a cluster: {no_pod}, and there is {looked}; {todo}")


def _kubeconfig(files: list[Path], context: str, cluster: str) -> Credentials:
    from kubernetes.client import Configuration
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    title = f"kubeconfig {', '.join(map(str, files))}"
    try:
        merger = KubeConfigMerger(os.pathsep.join(map(str, files)))  # type: ignore[no-untyped-call]
        # the first, as kubectl: among several files the library takes the last
        current = (file.get("current-context") for file in merger.config_files.values())
        name = context or next(filter(None, current), "")
        if not name:
            raise InputError("current-context: not set; run `kubectl config use-context NAME`")
        title += f", context {name}"
        of_context = merger.config["contexts"].get_with_name(name)["context"].value
        of_context["cluster"] = cluster or of_context.get("cluster")
        of_cluster = merger.config["clusters"].get_with_name(of_context["cluster"])["cluster"].value
        user = of_context.get("user")
        of_user = merger.config["users"].get_with_name(user).value.get("user") if user else None
        _check(of_cluster, of_user or {})
        loader = KubeConfigLoader(  # type: ignore[no-untyped-call]
            merger.config, active_context=name, config_base_path=None
        )
        loader.load_and_set(found := Configuration())  # type: ignore[no-untyped-call]
        return _credentials(title, found, of_cluster, of_context.get("namespace") or "")
    except OSError as error:
        problem = f"cannot be read ({error.strerror}); correct its path or mode"
    except (AttributeError, KeyError, TypeError):
        problem = "it is not written as a kubeconfig is"
    except Exception as error:  # the library raises whatever its assumptions meet
        problem = str(error) or repr(error)
    raise InputError(f"{title}: {problem}; see `kubectl config view`")


def _check(cluster: Object, user: Object) -> None:
    """Refuse what the library would pass over.

    It would act on another server, as another user, or check nothing. Raises InputError.
    """
    if not str(cluster.get("server")).startswith(("https://", "http://")):
        raise InputError("server is no http or https URL; write https://HOST:PORT")
    if not isinstance(cluster.get("insecure-skip-tls-verify") or False, bool):
        raise InputError("insecure-skip-tls-verify is no boolean; write true or false")
    if not str(cluster.get("proxy-url") or "http").startswith("http"):
        raise InputError("proxy-url: only http and https proxies are supported; use one or none")
    if "as" in user:
        raise InputError("as: impersonation is not read of a kubeconfig; give --as USER")


def _credentials(title: str, found: Any, cluster: Object, namespace: str) -> Credentials:
    files = (found.ssl_ca_cert, found.cert_file, found.key_file)
    ca, certificate, key = (Path(file) if file else None for file in files)
    lock = threading.Lock()

    def authorization() -> str:
        with lock:  # the library asks a plugin again before its token expires
            return found.get_api_key_with_prefix("BearerToken") or ""

    return Credentials(
        source=title,
        server=found.host,
        # As kubectl: nothing secret is sent where nothing is encrypted.
        authorization=authorization if found.host.startswith("https:") else anonymous,
        ca=ca,
        certificate=certificate,
        key=key,
        verify=found.verify_ssl,
        server_name=found.tls_server_name or "",
        proxy=_proxy(cluster, found),
        namespace=namespace,
    )


def _proxy(cluster: Object, found: Any) -> str:
    """Choose the proxy as kubectl does: loopback is never proxied."""
    from kubernetes.client.rest import should_bypass_proxies

    if chosen := cluster.get("proxy-url"):
        return str(chosen)
    if should_bypass_proxies(found.host, f"{found.no_proxy or ''},localhost,127.0.0.0/8,::1/128"):
        return ""
    proxy = found.proxy or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"
