"""Read the profiles that a cluster's webhook uses, from the ConfigMap that it mounts."""

from __future__ import annotations

from webhook.core import names
from webhook.core.errors import InputError
from webhook.core.profiles import Profiles, parse_profiles
from webhook.kube.catalogue import CONFIG_MAPS
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader


def installed_profiles(reader: Reader, namespace: str) -> Profiles:
    """Read them from ConfigMap fabric-injector-profiles of *namespace*.

    Raises InputError where it is absent, may not be read or holds no profiles, ProfilesError with every fault of the content,
    Unavailable where the API server does not answer.
    """
    try:
        data = reader.find(CONFIG_MAPS, (namespace, names.PROFILES_CONFIG_MAP), lambda found: found.get("data") or {})
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        raise InputError(f"{title(namespace)} cannot be read: {error}") from None
    if data is None:
        raise InputError(f"{title(namespace)} does not exist")
    if names.PROFILES_FILE not in data:
        raise InputError(f"{title(namespace)} holds no {names.PROFILES_FILE}")
    return parse_profiles(data[names.PROFILES_FILE])


def title(namespace: str) -> str:
    """Name the ConfigMap for people."""
    return f"ConfigMap {namespace}/{names.PROFILES_CONFIG_MAP}"
