"""Read the profiles that a cluster's webhook uses: its FabricProfiles, and the Configuration."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from webhook.core import names
from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import ProfilesError
from webhook.core.model import Object
from webhook.core.profiles import ClusterSettings
from webhook.core.profiles.load import parse_configuration
from webhook.core.profiles.objects import DEFINITION
from webhook.kube.catalogue import CONFIG_MAPS, FABRIC_PROFILES
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader, whole
from webhook.world.profiles_read import (
    OBJECTS,
    ProfileFault,
    ProfilesRead,
    faults_in_file,
    read_objects,
)

DEPLOYMENT = "fabric-injector-webhook"
MOST_PAGES = 20
"""Ten thousand profiles."""
NO_DEFINITION = (
    f"the cluster has no CustomResourceDefinition {DEFINITION}, which the manifests hold; where "
    "the webhook reads a file, give it by --profiles"
)


def installed_profiles(reader: Reader, namespace: str) -> ProfilesRead:
    """Read the FabricProfiles, and the Configuration of the webhook in *namespace*.

    Raises RequestFailed where they may not be read, or the API server does not answer.
    """
    read = _with_settings(reader, namespace, _of_objects(reader))
    if read.profiles and any(profile.claims for profile in read.profiles.profiles.values()):
        with suppress(RequestFailed):  # then it is not known
            if not reader.serves_claims():
                profiles = replace(read.profiles, claims_problem=CLAIMS_UNSERVED)
                return replace(read, profiles=profiles)
    return read


def beside_installed_settings(reader: Reader, namespace: str, read: ProfilesRead) -> ProfilesRead:
    """Give profiles of a file the cluster's Configuration, unless they have their own.

    Raises RequestFailed as `installed_profiles` does.
    """
    if read.profiles is None or read.profiles.has_settings:
        return read
    return _with_settings(reader, namespace, read)


def config_map_data(obj: Object) -> Mapping[str, str]:
    """Return the texts of a ConfigMap."""
    return {key: text for key, text in (obj.get("data") or {}).items() if isinstance(text, str)}


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


def _with_settings(reader: Reader, namespace: str, read: ProfilesRead) -> ProfilesRead:
    """Add the settings of the Configuration to the profiles."""
    if read.profiles is None:
        return read
    title = f"ConfigMap {namespace}/{names.CONFIG_MAP}"
    try:
        data = reader.find(CONFIG_MAPS, (namespace, names.CONFIG_MAP), config_map_data)
    except RequestFailed as error:
        if not error.is_refusal:
            raise
        taken = "so Multus is taken to have its defaults"
        return replace(read, unread=f"{title} cannot be read, {taken}: {error}")
    settings, faults = _settings(title, data)
    profiles = replace(read.profiles, multus=settings.multus)
    return replace(read, profiles=profiles, faults=(*faults, *read.faults))


def _settings(
    title: str, data: Mapping[str, str] | None
) -> tuple[ClusterSettings, tuple[ProfileFault, ...]]:
    """Read a Configuration, and its faults; the defaults hold with any, and without the data."""
    key = names.CONFIG_FILE
    if data is None:
        return ClusterSettings(), ()
    if key not in data:
        message = f"holds no {key}; write the Configuration there"
        return ClusterSettings(), (ProfileFault(title, message),)
    try:
        return parse_configuration(data[key]), ()
    except ProfilesError as error:
        return ClusterSettings(), faults_in_file(f"{title}, {key}", error)
