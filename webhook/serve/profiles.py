"""Keep the profiles and the settings in force that files hold."""

import logging
from collections.abc import Callable
from pathlib import Path

from webhook.core.errors import InputError, ProfilesError
from webhook.core.profiles import ClusterSettings, Multus, Profiles, parse_profiles
from webhook.core.profiles.load import parse_configuration
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.followed_file import FollowedFile

log = logging.getLogger(__name__)


def follow_file(path: Path, active: ActiveProfiles, *, configured: bool) -> FollowedFile[Profiles]:
    """Put the profiles of a file in force, at each look of what is returned too.

    *configured*: the settings of the whole cluster stand in a file of their own. Raises
    ProfilesError or InputError where the file cannot be used.
    """

    def parse(content: bytes) -> Profiles:
        profiles = parse_profiles(content)
        if configured and profiles.multus != Multus():
            advice = "is given though there is a configuration file; write it there alone"
            raise InputError(f"{path}: multus: {advice}")
        return profiles

    def put(profiles: Profiles) -> None:
        active.put(profiles=profiles.profiles, settings=None if configured else profiles.settings)

    return FollowedFile(path, parse=parse, on_read=put)


def follow_configuration(path: Path, active: ActiveProfiles) -> FollowedFile[ClusterSettings]:
    """Put the settings of a file in force, as `follow_file` does; the defaults hold without one.

    Raises InputError where it cannot be used.
    """

    def put(settings: ClusterSettings) -> None:
        active.put(settings=settings)

    try:
        return configuration_file(path, on_read=put)
    except ProfilesError as error:
        faults = "\n".join(f"{path}: {fault}" for fault in error.problems)
        raise InputError(f"the configuration cannot be used\n{faults}") from None


def configuration_file(
    path: Path,
    *,
    given: ClusterSettings | None = None,
    on_read: Callable[[ClusterSettings], None] = lambda _: None,
) -> FollowedFile[ClusterSettings]:
    """Make what reads the configuration file; *given* holds until it does, and where it is absent.

    Without it the file is read here, and an absent one means the defaults.
    """

    def read(settings: ClusterSettings) -> None:
        on_read(settings)
        is_default = settings == ClusterSettings()
        told = ", which is absent or says nothing: the defaults hold" if is_default else ""
        log.info("configuration read: %s%s", path, told)

    return FollowedFile(
        path,
        parse=parse_configuration,
        title="configuration file",
        absent=given or ClusterSettings(),
        at_first=given,
        on_read=read,
    )
