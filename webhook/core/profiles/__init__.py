"""Describe fabrics: what an admin writes in profiles.yaml. `profile` defines each field, `load` reads the file."""

from typing import TYPE_CHECKING, Any

from webhook.core.profiles.grammar import INSTALLED
from webhook.core.profiles.profile import (
    Allowed,
    ClaimConfig,
    ClaimConstraint,
    ClaimRequest,
    ClusterSettings,
    ConfigMapSource,
    EmptyDirSource,
    HostPathSource,
    Multus,
    Profile,
    ProfileClaim,
    ProfileMount,
    ProfileNetwork,
    ProfileQuantity,
    Profiles,
    ProfileSidecar,
    ProfileToleration,
    ProfileVolume,
    RendezvousSettings,
    SharedMemory,
    same_pod_labels,
)

if TYPE_CHECKING:
    from webhook.core.profiles.json_schema import profiles_schema
    from webhook.core.profiles.load import parse_profiles

__all__ = [
    "INSTALLED",
    "Allowed",
    "ClaimConfig",
    "ClaimConstraint",
    "ClaimRequest",
    "ClusterSettings",
    "ConfigMapSource",
    "EmptyDirSource",
    "HostPathSource",
    "Multus",
    "Profile",
    "ProfileClaim",
    "ProfileMount",
    "ProfileNetwork",
    "ProfileQuantity",
    "ProfileSidecar",
    "ProfileToleration",
    "ProfileVolume",
    "Profiles",
    "RendezvousSettings",
    "SharedMemory",
    "parse_profiles",
    "profiles_schema",
    "same_pod_labels",
]


def __getattr__(name: str) -> Any:
    """Load pydantic where a file is read or its schema written, and only there."""
    if name == "parse_profiles":
        from webhook.core.profiles.load import parse_profiles

        return parse_profiles
    if name == "profiles_schema":
        from webhook.core.profiles.json_schema import profiles_schema

        return profiles_schema
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
