"""Keep the profiles in force as their file, or the objects of the cluster, say; log each change."""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.profiles import ClusterSettings, Profile, Profiles, parse_profiles
from webhook.core.profiles.load import parse_configuration
from webhook.serve.metrics import WebhookMetrics
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.followed_file import FollowedFile

if TYPE_CHECKING:
    from webhook.world.cluster import Cluster

log = logging.getLogger(__name__)


def follow_file(
    path: Path, active: ActiveProfiles, metrics: WebhookMetrics, *, configured: bool
) -> FollowedFile[Profiles]:
    """Put the profiles of a file in force, at each look of what is returned too.

    *configured*: the settings of the whole cluster stand in a file of their own. Raises
    ProfilesError or InputError where the file cannot be used.
    """

    def parse(content: bytes) -> Profiles:
        profiles = parse_profiles(content)
        if configured and (given := profiles.given_settings()):
            advice = "is given though there is a configuration file; write it there alone"
            raise InputError(f"{path}: {given}: {advice}")
        return profiles

    def put(profiles: Profiles) -> None:
        active.put(profiles=profiles.profiles, settings=None if configured else profiles.settings)
        _log_profiles(profiles.profiles)

    broken = partial(_log_fault, f"profiles not reloaded, the last good ones stay: {path}")
    source = FollowedFile(path, parse=parse, on_read=put, on_error=broken)
    metrics.faulty.ask(lambda: source.error() is not None, "profiles")
    return source


def follow_configuration(
    path: Path, active: ActiveProfiles, metrics: WebhookMetrics
) -> FollowedFile[ClusterSettings]:
    """Put the settings of a file in force, as `follow_file` does; the defaults hold without one.

    Raises InputError where it cannot be used.
    """

    def put(settings: ClusterSettings) -> None:
        active.put(settings=settings)

    try:
        source = configuration_file(path, on_read=put)
    except ProfilesError as error:
        faults = "\n".join(f"{path}: {fault}" for fault in error.problems)
        raise InputError(f"the configuration cannot be used\n{faults}") from None
    metrics.faulty.ask(lambda: source.error() is not None, "configuration")
    return source


def configuration_file(
    path: Path,
    *,
    absent: ClusterSettings = ClusterSettings(),  # noqa: B008  # frozen
    at_first: ClusterSettings | None = None,
    on_read: Callable[[ClusterSettings], None] = lambda _: None,
) -> FollowedFile[ClusterSettings]:
    """Make what reads the configuration file, as FollowedFile does."""

    def read(settings: ClusterSettings) -> None:
        on_read(settings)
        _log_read(path, settings)

    return FollowedFile(
        path,
        parse=parse_configuration,
        title="configuration file",
        absent=absent,
        at_first=at_first,
        on_read=read,
        on_error=partial(
            _log_fault, f"configuration not reloaded, the last good one stays: {path}"
        ),
    )


def follow_objects(cluster: "Cluster", active: ActiveProfiles, metrics: WebhookMetrics) -> None:
    """Put the FabricProfiles of *cluster* in force, once it is started."""
    from webhook.world.profile_objects import DEFINITION_TITLE

    def put(profiles: Mapping[str, Profile]) -> None:
        active.put(profiles=profiles)
        _log_profiles(profiles)

    def installed(is_installed: bool) -> None:
        if is_installed:
            log.info("%s is installed: profiles are followed", DEFINITION_TITLE)
        else:
            log.warning("%s is not installed: there are no profiles until it is", DEFINITION_TITLE)

    broken = partial(_log_fault, "profiles not reloaded")
    source = cluster.follow_profiles(on_reload=put, on_error=broken, on_installed=installed)
    metrics.faulty.ask(source.faulty, "profiles")


def _log_read(path: Path, settings: ClusterSettings) -> None:
    is_default = settings == ClusterSettings()
    told = ", which is absent or says nothing: the defaults hold" if is_default else ""
    log.info("configuration read: %s%s", path, told)


def _log_fault(what: str, error: WebhookError) -> None:
    for fault in error.problems if isinstance(error, ProfilesError) else (error,):
        log.error("%s: %s", what, fault)


def _log_profiles(profiles: Mapping[str, Profile]) -> None:
    log.info("profiles in force: %s", ", ".join(profiles) or "none")
