"""Read the profiles that a cluster's webhook uses, from the ConfigMap that it mounts."""

from __future__ import annotations

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.profiles import Profiles, parse_profiles
from webhook.kube.connection import Connection
from webhook.kube.resource import Resource

CONFIG_MAPS = Resource("configmaps", "/api/v1")


def installed_profiles(connection: Connection, namespace: str, *, timeout_seconds: float) -> Profiles:
    """Read them from ConfigMap fabric-injector-profiles of *namespace*.

    Raises InputError and ProfilesError as `profiles_of` does, InputError also where it may not be read, Unavailable where the API
    server does not answer.
    """
    path = CONFIG_MAPS.object_path((namespace, names.PROFILES_CONFIG_MAP))
    response = connection.request("GET", path, timeout=timeout_seconds)
    if response.status not in (200, 404):
        raise InputError(f"{title(namespace)} cannot be read: {response.problem}")
    return profiles_of(response.json() if response.status == 200 else None, namespace)


def profiles_of(config_map: Object | None, namespace: str) -> Profiles:
    """Read the profiles in the ConfigMap, None where there is none.

    Raises InputError where it is absent or holds no profiles, ProfilesError with every fault of the content.
    """
    if config_map is None:
        raise InputError(f"{title(namespace)} does not exist")
    data = config_map.get("data")
    text = data.get(names.PROFILES_FILE) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise InputError(f"{title(namespace)} holds no {names.PROFILES_FILE}")
    return parse_profiles(text)


def title(namespace: str) -> str:
    """Name the ConfigMap for people."""
    return f"ConfigMap {namespace}/{names.PROFILES_CONFIG_MAP}"
