"""Read the profiles that a cluster's webhook uses, from the ConfigMap that it mounts."""

from __future__ import annotations

from webhook import names
from webhook.errors import InputError
from webhook.kube.connection import Connection
from webhook.kube.resource import Resource
from webhook.profiles import Profiles, parse_profiles

CONFIG_MAPS = Resource("configmaps", "/api/v1")


def installed_profiles(connection: Connection, namespace: str, *, timeout_seconds: float) -> Profiles:
    """Read them from ConfigMap fabric-injector-profiles of *namespace*.

    Raises InputError where it is absent, holds no profiles or may not be read, ProfilesError with every fault of the content,
    Unavailable where the API server does not answer.
    """
    subject = f"ConfigMap {namespace}/{names.PROFILES_CONFIG_MAP}"
    path = CONFIG_MAPS.object_path((namespace, names.PROFILES_CONFIG_MAP))
    response = connection.request("GET", path, timeout=timeout_seconds)
    if response.status == 404:
        raise InputError(f"{subject} does not exist")
    if response.status != 200:
        raise InputError(f"{subject} cannot be read: {response.problem}")
    data = response.json().get("data")
    text = data.get(names.PROFILES_FILE) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise InputError(f"{subject} holds no {names.PROFILES_FILE}")
    return parse_profiles(text)
