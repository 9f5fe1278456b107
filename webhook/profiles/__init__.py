"""Describe fabrics: what an admin writes in profiles.yaml."""

from webhook.profiles.load import parse_profiles
from webhook.profiles.profile import Multus, PodInfo, Profile, ProfileNetwork, Profiles, Rendezvous, SharedMemory
from webhook.profiles.schema import profiles_schema

__all__ = [
    "Multus",
    "PodInfo",
    "Profile",
    "ProfileNetwork",
    "Profiles",
    "Rendezvous",
    "SharedMemory",
    "parse_profiles",
    "profiles_schema",
]
