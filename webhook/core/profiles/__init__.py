"""Describe fabrics: what an admin writes in profiles.yaml. `profile` defines each field, `load` reads the file."""

from webhook.core.profiles.field_types import INSTALLED
from webhook.core.profiles.json_schema import profiles_schema
from webhook.core.profiles.load import parse_profiles
from webhook.core.profiles.profile import (
    Multus,
    PodInfo,
    Profile,
    ProfileNetwork,
    Profiles,
    RendezvousSettings,
    SharedMemory,
)

__all__ = [
    "INSTALLED",
    "Multus",
    "PodInfo",
    "Profile",
    "ProfileNetwork",
    "Profiles",
    "RendezvousSettings",
    "SharedMemory",
    "parse_profiles",
    "profiles_schema",
]
