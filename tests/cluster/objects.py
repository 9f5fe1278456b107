"""Objects of the API, written from a few words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from .pki import write_private


def made(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    """Write an object of a kind such as ``batch/v1 Job``; *fields* stand beside its metadata."""
    version, _, kind = kind.rpartition(" ")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def account(name: str = "default") -> dict[str, Any]:
    """Write a ServiceAccount."""
    return made("v1 ServiceAccount", name)


def pod(
    name: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    container: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """Write a pod of one container, which *container* adds to; without a name it gets one."""
    named: dict[str, Any] = {"name": name} if name else {"generateName": "pod-"}
    metadata = {**named, "labels": labels or {}, "annotations": annotations or {}}
    main = {"name": "main", "image": "registry.example.com/i:1", **(container or {})}
    whole = {"containers": [main], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def without_token(value: Any) -> Any:
    """Drop the ServiceAccount's token volume and mounts, whose name is made anew for each pod."""
    if isinstance(value, dict):
        return {key: without_token(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_token(one) for one in value if not _is_of_token(one)]
    return value


def _is_of_token(one: Any) -> bool:
    return isinstance(one, dict) and str(one.get("name", "")).startswith("kube-api-access")


def write_kubeconfig(
    path: Path, server: str, token: str = "secret", *, ca: Path | None = None, namespace: str = ""
) -> Path:
    """Write a kubeconfig for the bearer of the token, for its owner alone; give its path."""
    cluster = {"server": server} | ({"certificate-authority": str(ca)} if ca else {})
    own = {"namespace": namespace} if namespace else {}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", **own}}],
    }
    return write_private(path, yaml.safe_dump(config).encode())
