"""Describe fabrics: `profile` has the fields, `template` those of a pod, `load` reads them."""

from webhook.core.profiles.grammar import INSTALLED, NetworkName
from webhook.core.profiles.load import Content, parse_profiles, read_content, read_profile
from webhook.core.profiles.profile import (
    ClaimConfig,
    ClaimConstraint,
    ClaimRequest,
    ClusterSettings,
    Multus,
    Profile,
    ProfileClaim,
    ProfileNetwork,
    ProfileQuantity,
    Profiles,
    RendezvousSettings,
    SharedMemory,
    foreign_pod_labels,
    same_pod_labels,
)

__all__ = [
    "INSTALLED",
    "ClaimConfig",
    "ClaimConstraint",
    "ClaimRequest",
    "ClusterSettings",
    "Content",
    "Multus",
    "NetworkName",
    "Profile",
    "ProfileClaim",
    "ProfileNetwork",
    "ProfileQuantity",
    "Profiles",
    "RendezvousSettings",
    "SharedMemory",
    "foreign_pod_labels",
    "parse_profiles",
    "read_content",
    "read_profile",
    "same_pod_labels",
]
