"""Write profiles in few words: the spec of each by its name, in YAML."""

from __future__ import annotations

import yaml

from webhook.core.model import Object
from webhook.core.profiles import Profiles, parse_profiles
from webhook.core.profiles.objects import (
    PROFILE_API_VERSION,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)


def as_objects(specs: str, multus: str = "") -> list[Object]:
    """Return a FabricProfile for each name; a Configuration where *multus* or nothing is given."""
    settings = {
        "apiVersion": SETTINGS_API_VERSION,
        "kind": SETTINGS_KIND,
        "multus": yaml.safe_load(multus) or {},
    }
    profiles = [
        {
            "apiVersion": PROFILE_API_VERSION,
            "kind": PROFILE_KIND,
            "metadata": {"name": name},
            "spec": spec or {},
        }
        for name, spec in yaml.safe_load(specs).items()
    ]
    return [settings, *profiles] if multus or not profiles else profiles


def as_text(specs: str, multus: str = "") -> str:
    """Return the text of a file that holds these objects."""
    return yaml.safe_dump_all(as_objects(specs, multus), sort_keys=False, width=1000)


def profiles(specs: str, multus: str = "") -> Profiles:
    """Return the profiles as they are read from such a file."""
    return parse_profiles(as_text(specs, multus))
