"""Describe fabrics: `profile` has the fields, `template` those of a pod, `load` reads them."""

from webhook.core.profiles.grammar import INSTALLED, NetworkName
from webhook.core.profiles.load import Content, ProfileObject, parse_profiles, read_object
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
    same_pod_labels,
)

__all__ = ["ClaimConfig", "ClaimConstraint", "ClaimRequest", "ClusterSettings", "Content", "Multus"]
__all__ += ["NetworkName", "Profile", "ProfileClaim", "ProfileNetwork", "ProfileObject", "Profiles"]
__all__ += ["INSTALLED", "ProfileQuantity", "RendezvousSettings", "SharedMemory", "parse_profiles"]
__all__ += ["read_object", "same_pod_labels"]
