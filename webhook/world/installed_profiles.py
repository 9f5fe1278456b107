"""Read the profiles that a cluster's webhook uses, from the ConfigMap that it mounts."""

from __future__ import annotations

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.profiles import Profiles, parse_profiles
from webhook.kube.catalogue import CONFIG_MAPS
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader, whole


def installed_profiles(connection: Connection, namespace: str, *, timeout_seconds: float) -> Profiles:
    """Read them from ConfigMap fabric-injector-profiles of *namespace*.

    Raises InputError and ProfilesError as `profiles_of` does, InputError also where it may not be read, Unavailable where the API
    server does not answer.
    """
    reader, key = Reader(connection, timeout_seconds), (namespace, names.PROFILES_CONFIG_MAP)
    try:
        found = reader.find(CONFIG_MAPS, key, whole)
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        raise InputError(f"{title(namespace)} cannot be read: {error}") from None
    return profiles_of(found, namespace)


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
