"""Keep the profiles in force as their file, or the objects of the cluster, say; log each change and each fault."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.profiles import ClusterSettings, Profile, Profiles, parse_profiles
from webhook.core.profiles.load import parse_configuration
from webhook.serve.metrics import WebhookMetrics
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.followed_file import FollowedFile

if TYPE_CHECKING:
    from webhook.world.cluster import Cluster
    from webhook.world.profile_objects import ProfileObjects

log = logging.getLogger(__name__)


ProfilesSource: TypeAlias = "FollowedFile[Profiles] | ProfileObjects"


def follow_file(
    path: Path, in_force: ActiveProfiles, metrics: WebhookMetrics, *, configured: bool
) -> ProfilesSource:
    """Read the profiles file, to be followed once started.

    *configured*: the settings of the whole cluster stand in a file of their own. Raises ProfilesError
    or InputError where the file cannot be used.
    """

    def put(profiles: Profiles) -> None:
        in_force.put(profiles=profiles.profiles, settings=None if configured else profiles.settings)

    def reloaded(profiles: Profiles) -> None:
        put(profiles)
        _log_reload(profiles.profiles, metrics)

    def broken(error: WebhookError) -> None:
        metrics.profiles_reloads.add("error")
        _log_faults("profiles not reloaded, the last good ones stay", path, error)

    def parse(content: bytes) -> Profiles:
        profiles = parse_profiles(content)
        if configured and (given := profiles.given_settings()):
            advice = "is given though there is a configuration file; write it there alone"
            raise InputError(f"{path}: {given}: {advice}")
        return profiles

    source = FollowedFile(path, parse=parse, on_reload=reloaded, on_error=broken)
    put(source.current())
    return source


def follow_configuration(
    path: Path, in_force: ActiveProfiles, metrics: WebhookMetrics
) -> FollowedFile[ClusterSettings]:
    """Read the configuration file, to be followed once started; the defaults hold while it is absent.

    Raises InputError where it cannot be used.
    """
    try:
        source = configuration_file(path, on_reload=lambda found: in_force.put(settings=found))
    except ProfilesError as error:
        faults = "\n".join(f"{path}: {fault}" for fault in error.problems)
        raise InputError(f"the configuration cannot be used\n{faults}") from None
    in_force.put(settings=source.current())
    log.info("configuration read: %s%s", path, _default(source.current()))
    metrics.faulty.ask(source.faulty, "configuration")
    return source


def configuration_file(
    path: Path,
    *,
    absent: ClusterSettings = ClusterSettings(),  # noqa: B008  # frozen
    at_first: ClusterSettings | None = None,
    verb: str = "reloaded",
    on_reload: Callable[[ClusterSettings], None] = lambda _: None,
) -> FollowedFile[ClusterSettings]:
    """Make what reads the configuration file, as ``FollowedFile`` does; the log calls that *verb*."""

    def reloaded(settings: ClusterSettings) -> None:
        on_reload(settings)
        log.info("configuration %s: %s%s", verb, path, _default(settings))

    def broken(error: WebhookError) -> None:
        _log_faults(f"configuration not {verb}, the last good one stays", path, error)

    return FollowedFile(
        path,
        parse=parse_configuration,
        title="configuration file",
        absent=absent,
        at_first=at_first,
        on_reload=reloaded,
        on_error=broken,
    )


def _default(settings: ClusterSettings) -> str:
    is_default = settings == ClusterSettings()
    return ", which is absent or says nothing: the defaults hold" if is_default else ""


def follow_objects(
    cluster: Cluster, in_force: ActiveProfiles, metrics: WebhookMetrics
) -> ProfilesSource:
    """Make what follows the FabricProfiles of *cluster* once started."""
    from webhook.world.profile_objects import DEFINITION_TITLE

    def reloaded(profiles: Mapping[str, Profile]) -> None:
        in_force.put(profiles=profiles)
        _log_reload(profiles, metrics)

    def broken(error: WebhookError) -> None:
        metrics.profiles_reloads.add("error")
        log.error("profiles not reloaded: %s", error)

    def installed(is_installed: bool) -> None:
        if is_installed:
            log.info("%s is installed: profiles are followed", DEFINITION_TITLE)
        else:
            log.warning("%s is not installed: there are no profiles until it is", DEFINITION_TITLE)

    return cluster.follow_profiles(on_reload=reloaded, on_error=broken, on_installed=installed)


def _log_faults(what: str, path: Path, error: WebhookError) -> None:
    for fault in error.problems if isinstance(error, ProfilesError) else (error,):
        log.error("%s: %s: %s", what, path, fault)


def _log_reload(profiles: Mapping[str, Profile], metrics: WebhookMetrics) -> None:
    metrics.profiles_reloads.add("success")
    log.info("profiles reloaded: %s", ", ".join(profiles) or "none")
