"""Describe fabrics: what an admin writes in profiles.yaml."""

from webhook.profiles.profile import Multus, PodInfo, Profile, ProfileNetwork, Profiles, Rendezvous, SharedMemory

__all__ = ["Multus", "PodInfo", "Profile", "ProfileNetwork", "Profiles", "Rendezvous", "SharedMemory"]
