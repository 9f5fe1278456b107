"""Read the profiles that a cluster's webhook uses: FabricProfiles and a Configuration, or the file that its Deployment mounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from webhook.core.claim_templates import CLAIMS_OF_A_FILE, CLAIMS_UNSERVED
from webhook.core.errors import ProfilesError
from webhook.core.model import Object
from webhook.core.profiles import ClusterSettings
from webhook.core.profiles.load import parse_configuration
from webhook.core.profiles.objects import DEFINITION
from webhook.kube.catalogue import CONFIG_MAPS, DEPLOYMENTS, FABRIC_PROFILES
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader, whole
from webhook.world.profiles_read import (
    FROM_OBJECTS,
    OBJECTS,
    ConfigMapKey,
    ProfileFault,
    ProfilesPlace,
    ProfilesRead,
    faults_in_file,
    place_in_deployment,
    read_file,
    read_objects,
)

DEPLOYMENT = "fabric-injector-webhook"
MOST_PAGES = 20
"""Ten thousand profiles."""
NO_DEFINITION = (
    f"the cluster has no CustomResourceDefinition {DEFINITION}, which the manifests hold"
)


def installed_profiles(
    reader: Reader, namespace: str, place: ProfilesPlace | None = None
) -> ProfilesRead:
    """Read them where the webhook of *namespace* does; *place*: where that is, None to look at its Deployment.

    Where the Deployment does not exist or may not be read, FabricProfiles are taken. Raises RequestFailed where what is asked for may
    not be read, Unavailable where the API server does not answer.
    """
    if place is None:
        place = _place(reader, namespace)
    if place.config_map is not None:
        source = f"ConfigMap {namespace}/{place.config_map.name}, {place.config_map.key}"
        data = reader.find(CONFIG_MAPS, (namespace, place.config_map.name), config_map_data)
        if data is None or place.config_map.key not in data:
            return ProfilesRead(source, missing="does not exist")
        read = _with_settings(
            reader, namespace, place.settings, read_file(source, data[place.config_map.key])
        )
        return _without_claims(read, CLAIMS_OF_A_FILE)
    if place.file:
        source = f"file {place.file} of the webhook's pods"
        return ProfilesRead(source, problem="is out of no ConfigMap, and cannot be read from here")
    return _objects(reader, namespace, place.settings)


def beside_installed_settings(
    reader: Reader, namespace: str, read: ProfilesRead, place: ProfilesPlace | None = None
) -> ProfilesRead:
    """Give profiles of a file without a Configuration that of the cluster, as they get it once they are applied there.

    Raises Unavailable as `installed_profiles` does.
    """
    if read.profiles is None or read.profiles.has_settings:
        return read
    return _with_settings(reader, namespace, (place or _place(reader, namespace)).settings, read)


def config_map_data(obj: Object) -> Mapping[str, str]:
    """Return the texts of a ConfigMap."""
    return {key: text for key, text in (obj.get("data") or {}).items() if isinstance(text, str)}


def _place(reader: Reader, namespace: str) -> ProfilesPlace:
    try:
        return (
            reader.find(DEPLOYMENTS, (namespace, DEPLOYMENT), place_in_deployment) or FROM_OBJECTS
        )
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        return FROM_OBJECTS


def _objects(reader: Reader, namespace: str, settings: ConfigMapKey | None) -> ProfilesRead:
    found: list[Object] = []
    broken: list[tuple[str, str]] = []
    is_installed = False
    try:
        for page in reader.pages(FABRIC_PROFILES, whole, most=MOST_PAGES):
            found += page.objects
            broken += page.broken
            is_installed = True
    except RequestFailed as error:
        # who may not list them is refused whether or not the cluster knows them
        if not error.is_refusal or reader.preferred_version(
            FABRIC_PROFILES.group.rpartition("/")[0]
        ):
            raise
    if not is_installed:
        return ProfilesRead(OBJECTS, missing=NO_DEFINITION)
    known = _settings(reader, namespace, settings) if settings else _Settings()
    specs = [each.get("spec") for each in found]
    has_claims = any(isinstance(spec, dict) and spec.get("claims") for spec in specs)
    unreadable = [ProfileFault(name, f"cannot be read: {problem}") for name, problem in broken]
    faults = (*known.faults, *unreadable)
    read = read_objects(OBJECTS, found, known.settings, faults=faults, unread=known.unread)
    return _without_claims(read, _claims_problem(reader) if has_claims else "")


def _without_claims(read: ProfilesRead, problem: str) -> ProfilesRead:
    """Say that pods get no claims, as the webhook does; nothing where the problem is empty."""
    if read.profiles is None or not problem:
        return read
    return replace(read, profiles=replace(read.profiles, claims_problem=problem))


def _claims_problem(reader: Reader) -> str:
    """Say why no pod gets the claims of its profile, as the webhook does; empty where that is not known."""
    try:
        return "" if ClaimsApi(reader).version() else CLAIMS_UNSERVED
    except RequestFailed:
        return ""


def _with_settings(
    reader: Reader, namespace: str, place: ConfigMapKey | None, read: ProfilesRead
) -> ProfilesRead:
    """Add the settings of a Configuration to the profiles of a file, which then may say nothing of them itself."""
    if place is None or read.profiles is None:
        return read
    if given := read.profiles.given_settings():
        message = f"{given}: is given though there is a configuration file; write it there alone"
        return replace(read, profiles=None, faults=(ProfileFault(read.source, message),))
    known = _settings(reader, namespace, place)
    profiles = replace(read.profiles, multus=known.settings.multus)
    return replace(read, profiles=profiles, faults=known.faults, unread=known.unread)


class _Settings(NamedTuple):
    """Hold the settings of the whole cluster, their faults, and why they are not known."""

    settings: ClusterSettings = ClusterSettings()
    faults: tuple[ProfileFault, ...] = ()
    unread: str = ""


def _settings(reader: Reader, namespace: str, place: ConfigMapKey) -> _Settings:
    """Read them; without the ConfigMap the defaults hold."""
    title = f"ConfigMap {namespace}/{place.name}"
    try:
        data = reader.find(CONFIG_MAPS, (namespace, place.name), config_map_data)
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        taken = "so Multus is taken to have its defaults"
        return _Settings(unread=f"{title} cannot be read, {taken}: {error}")
    if data is None:
        return _Settings()
    if place.key not in data:
        advice = f"holds no {place.key}; write the Configuration there"
        return _Settings(faults=(ProfileFault(title, advice),))
    try:
        return _Settings(parse_configuration(data[place.key]))
    except ProfilesError as error:
        return _Settings(faults=faults_in_file(f"{title}, {place.key}", error))
