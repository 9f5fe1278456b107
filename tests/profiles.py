"""Write profiles in few words: the spec of each by its name, in YAML."""

from __future__ import annotations

from typing import Any, get_args

import yaml
from msgspec import Struct
from msgspec.structs import fields

from webhook.core.errors import Problem, ProfilesError
from webhook.core.model import Object
from webhook.core.profiles import Profile, Profiles, parse_profiles, read_object
from webhook.core.profiles.objects import (
    PROFILE_API_VERSION,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)
from webhook.core.profiles.template import ContainerTemplate, PodTemplate


def _closed(kind: Any) -> Any:
    """Return the fields of a type that takes no others, each with those below; None for others."""
    kinds = [each for each in (kind, *get_args(kind)) if isinstance(each, type)]
    for each in kinds:
        if issubclass(each, Struct) and each.__struct_config__.forbid_unknown_fields:
            return {field.encode_name: _closed(field.type) for field in fields(each)}
    return None


CLOSED_LIST = {"container": _closed(ContainerTemplate), "pod": _closed(PodTemplate)}
"""The fields of a pod that a profile may write; None: whatever Kubernetes has below it."""


def read_profile(name: str, spec: object) -> Profile:
    """Read a FabricProfile of this ``spec``. Raises ProfilesError with its first fault."""
    content = read_object({"metadata": {"name": name}, "spec": spec}).content
    if content.profile is None:
        raise ProfilesError((Problem(f"{PROFILE_KIND} {name}", 1, content.problem),))
    return content.profile


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
