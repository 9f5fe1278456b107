"""Read the profiles that a cluster's webhook uses: objects, or the file that it mounts."""

from collections.abc import Mapping
from dataclasses import replace

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
    """Read them where the webhook of *namespace* does; *place* None: look at its Deployment.

    Where the Deployment does not exist or may not be read, FabricProfiles are taken. Raises
    RequestFailed where what is asked for may not be read, or the API server does not answer.
    """
    place = place or _place(reader, namespace)
    if place.config_map is not None:
        read = _with_settings(
            reader, namespace, place.settings, _of_file(reader, namespace, place.config_map)
        )
        return _without_claims(read, CLAIMS_OF_A_FILE)
    if place.file:
        source = f"file {place.file} of the webhook's pods"
        return ProfilesRead(source, problem="is out of no ConfigMap, and cannot be read from here")
    read = _with_settings(reader, namespace, place.settings, _of_objects(reader))
    profiles = read.profiles.profiles.values() if read.profiles else ()
    has_claims = any(profile.claims for profile in profiles)
    return _without_claims(read, _claims_problem(reader) if has_claims else "")


def beside_installed_settings(
    reader: Reader, namespace: str, read: ProfilesRead, place: ProfilesPlace | None = None
) -> ProfilesRead:
    """Give profiles of a file the cluster's Configuration, unless they have their own.

    Raises RequestFailed as `installed_profiles` does.
    """
    if read.profiles is None or read.profiles.has_settings:
        return read
    return _with_settings(reader, namespace, (place or _place(reader, namespace)).settings, read)


def config_map_data(obj: Object) -> Mapping[str, str]:
    """Return the texts of a ConfigMap."""
    return {key: text for key, text in (obj.get("data") or {}).items() if isinstance(text, str)}


def _place(reader: Reader, namespace: str) -> ProfilesPlace:
    key = (namespace, DEPLOYMENT)
    try:
        return reader.find(DEPLOYMENTS, key, place_in_deployment) or FROM_OBJECTS
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        return FROM_OBJECTS


def _of_file(reader: Reader, namespace: str, place: ConfigMapKey) -> ProfilesRead:
    source = f"ConfigMap {namespace}/{place.name}, {place.key}"
    data = reader.find(CONFIG_MAPS, (namespace, place.name), config_map_data)
    if data is None or place.key not in data:
        return ProfilesRead(source, missing="does not exist")
    return read_file(source, data[place.key])


def _of_objects(reader: Reader) -> ProfilesRead:
    found: list[Object] = []
    faults: list[ProfileFault] = []
    is_installed = False
    try:
        for page in reader.pages(FABRIC_PROFILES, whole, most=MOST_PAGES):
            found += page.objects
            faults += [ProfileFault(name, f"cannot be read: {why}") for name, why in page.broken]
            is_installed = True
    except RequestFailed as error:
        # who may not list them is refused whether or not the cluster knows them
        group = FABRIC_PROFILES.group.rpartition("/")[0]
        if not error.is_refusal or reader.preferred_version(group):
            raise
    if not is_installed:
        return ProfilesRead(OBJECTS, missing=NO_DEFINITION)
    return read_objects(OBJECTS, found, tuple(faults))


def _without_claims(read: ProfilesRead, problem: str) -> ProfilesRead:
    """Say that pods get no claims, as the webhook does; nothing where the problem is empty."""
    if read.profiles is None or not problem:
        return read
    return replace(read, profiles=replace(read.profiles, claims_problem=problem))


def _claims_problem(reader: Reader) -> str:
    """Say why no pod gets the claims of its profile; empty where that is not known."""
    try:
        return "" if ClaimsApi(reader).is_served() else CLAIMS_UNSERVED
    except RequestFailed:
        return ""


def _with_settings(
    reader: Reader, namespace: str, place: ConfigMapKey | None, read: ProfilesRead
) -> ProfilesRead:
    """Add the settings of a Configuration to profiles, which then may say nothing of them."""
    if place is None or read.profiles is None:
        return read
    if given := read.profiles.given_settings():
        message = f"{given}: is given though there is a configuration file; write it there alone"
        return replace(read, profiles=None, faults=(ProfileFault(read.source, message),))
    title = f"ConfigMap {namespace}/{place.name}"
    try:
        data = reader.find(CONFIG_MAPS, (namespace, place.name), config_map_data)
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        taken = "so Multus is taken to have its defaults"
        return replace(read, unread=f"{title} cannot be read, {taken}: {error}")
    settings, faults = _settings(title, place.key, data)
    profiles = replace(read.profiles, multus=settings.multus)
    return replace(read, profiles=profiles, faults=(*faults, *read.faults))


def _settings(
    title: str, key: str, data: Mapping[str, str] | None
) -> tuple[ClusterSettings, tuple[ProfileFault, ...]]:
    """Read a Configuration, and its faults; the defaults hold with any, and without the data."""
    if data is None:
        return ClusterSettings(), ()
    if key not in data:
        message = f"holds no {key}; write the Configuration there"
        return ClusterSettings(), (ProfileFault(title, message),)
    try:
        return parse_configuration(data[key]), ()
    except ProfilesError as error:
        return ClusterSettings(), faults_in_file(f"{title}, {key}", error)
