"""Keep the profiles in force as their file, or the objects of the cluster, say; and tell what becomes of each change."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from webhook.core.errors import ProfilesError, WebhookError
from webhook.core.profiles import Profile, Profiles
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.profiles_process import parse_objects_apart, parse_profiles_apart
from webhook.serve.slot import Slot
from webhook.world.profiles_file import ProfilesFile
from webhook.world.profiles_in_force import ProfilesInForce

if TYPE_CHECKING:
    from webhook.world.cluster import Cluster

log = logging.getLogger(__name__)


class ProfilesSource(Protocol):
    """Follow what the profiles are written in."""

    def start(self) -> None:
        """Begin to follow it."""

    def stop(self) -> None:
        """Stop following; what it said last stays."""

    def faulty(self) -> int:
        """Count what is not in use as it stands."""

    def problems(self) -> list[str]:
        """Say what is not in use as it stands, and why."""

    def checks(self) -> Mapping[str, str]:
        """Say what keeps the profiles from being known."""


def follow_file(path: Path, in_force: ProfilesInForce, slot: Slot, metrics: WebhookMetrics) -> ProfilesSource:
    """Read the profiles file, to be followed once started. Raises ProfilesError or InputError where it cannot be used."""

    def reloaded(profiles: Profiles) -> None:
        in_force.put(profiles=profiles.profiles, multus=profiles.multus)
        _tell(profiles.profiles, metrics)

    def broken(error: WebhookError) -> None:
        metrics.profiles_reloaded("error")
        faults = error.problems if isinstance(error, ProfilesError) else (error,)
        for fault in faults:
            log.error("profiles not reloaded, the last good ones stay: %s: %s", path, fault)

    def parse(content: bytes) -> Profiles:
        return parse_profiles_apart(content, slot)

    source = ProfilesFile(path, parse=parse, on_reload=reloaded, on_error=broken)
    in_force.put(profiles=source.current().profiles, multus=source.current().multus)
    return source


def follow_objects(cluster: Cluster, in_force: ProfilesInForce, slot: Slot, metrics: WebhookMetrics) -> ProfilesSource:
    """Make what follows the FabricProfiles of *cluster* once started."""
    from webhook.world.profile_objects import DEFINITION

    def reloaded(profiles: Mapping[str, Profile]) -> None:
        in_force.put(profiles=profiles)
        _tell(profiles, metrics)

    def broken(error: WebhookError) -> None:
        metrics.profiles_reloaded("error")
        log.error("profiles not reloaded: %s", error)

    def installed(is_installed: bool) -> None:
        if is_installed:
            log.info("%s is installed: profiles are followed", DEFINITION)
        else:
            log.warning("%s is not installed: there are no profiles until it is", DEFINITION)

    def parse(contents: Mapping[str, bytes]) -> Mapping[str, Profile | ProfilesError]:
        return parse_objects_apart(contents, slot)

    return cluster.follow_profiles(parse, on_reload=reloaded, on_error=broken, on_installed=installed)


def _tell(profiles: Mapping[str, Profile], metrics: WebhookMetrics) -> None:
    metrics.profiles_reloaded("success")
    log.info("profiles reloaded: %s", ", ".join(profiles) or "none")
