"""Describe fabrics: what an admin writes in profiles.yaml."""

from webhook.profiles.json_schema import profiles_schema
from webhook.profiles.load import parse_profiles
from webhook.profiles.profile import Multus, PodInfo, Profile, ProfileNetwork, Profiles, Rendezvous, SharedMemory

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
