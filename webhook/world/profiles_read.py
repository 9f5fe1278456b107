"""Hold the profiles that were read, with their faults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.core.errors import InputError, ProfilesError
from webhook.core.model import Object
from webhook.core.profiles import (
    ProfileObject,
    Profiles,
    parse_profiles,
    read_object,
    same_pod_labels,
)
from webhook.core.profiles.load import gather
from webhook.core.profiles.objects import PROFILE_KIND, SETTINGS_KIND
from webhook.core.yaml_reader import Marks

OBJECTS = f"{PROFILE_KIND}s"
"""What profiles are called that no file holds."""


class ProfileFault(NamedTuple):
    """Name one fault: *where* as ``FabricProfile hostdev`` or ``profiles.yaml, line 7``."""

    where: str
    message: str


@dataclass(frozen=True, slots=True)
class ProfilesRead:
    """Hold the *profiles* and the *source*, ``FabricProfiles`` or ``profiles.yaml``.

    *profiles* None: *faults* say what is wrong, *missing* why there is none. *objects*: the
    FabricProfiles, those with faults too. *unread*: why the settings of the cluster are not known,
    whose defaults are taken; else empty.
    """

    source: str
    profiles: Profiles | None = None
    faults: tuple[ProfileFault, ...] = ()
    missing: str = ""
    objects: tuple[ProfileObject, ...] = ()
    unread: str = ""

    @property
    def unusable(self) -> frozenset[str]:
        """Return the names of what cannot be used: the webhook may have earlier content."""
        return frozenset(each.name for each in self.objects if each.content.profile is None)

    @property
    def not_ready(self) -> Mapping[str, str]:
        """Return what the controller says of each object that is not Ready as it is, by name."""
        return {each.name: each.why_not_ready for each in self.objects if each.why_not_ready}

    def known(self) -> Profiles:
        """Return the profiles; raise InputError where there are none to go by."""
        if self.profiles is not None:
            return self.profiles
        if self.faults:
            faults = "\n".join(f"{fault.where}: {fault.message}" for fault in self.faults)
            raise InputError(f"the profiles cannot be used\n{faults}")
        raise InputError(f"{self.source}: {self.missing}")


def read_file(source: str, content: str | bytes) -> ProfilesRead:
    """Read the content of a profiles file."""
    try:
        return ProfilesRead(source, parse_profiles(content))
    except ProfilesError as error:
        return ProfilesRead(source, faults=faults_in_file(source, error))


def read_objects(
    source: str, objects: Iterable[Object], faults: tuple[ProfileFault, ...] = ()
) -> ProfilesRead:
    """Read FabricProfiles; the faults of each keep only that one from being used.

    *faults*: what is wrong with others.
    """
    read = tuple(map(read_object, objects))
    good = {each.name: each.content.profile for each in read if each.content.profile is not None}
    problems = [(each.name, each.content.problem) for each in read if each.content.problem]
    for name, owner in same_pod_labels(good.values()).items():
        problems.append((name, f"spec.podLabels: profile {owner} has the same"))
    found = (*faults, *(ProfileFault(f"{PROFILE_KIND} {name}", why) for name, why in problems))
    profiles = Profiles(profiles=dict(sorted(good.items())))
    return ProfilesRead(source, profiles, found, objects=read)


def of_file_objects(source: str, objects: Iterable[Object]) -> ProfilesRead | None:
    """Read the FabricProfiles and the Configuration among *objects* of files; None without any.

    Any fault of a file keeps all of it from being used.
    """
    kept = list(objects)
    kinds = (SETTINGS_KIND, PROFILE_KIND)
    items = [each for kind in kinds for each in kept if each.get("kind") == kind]
    if not items:
        return None
    try:
        return ProfilesRead(source, gather(((each, 1) for each in items), Marks()))
    except ProfilesError as error:  # all stands in one line here
        faults = [f"{each.path}: {each.message}" for each in error.problems]
        return ProfilesRead(source, faults=tuple(ProfileFault(source, each) for each in faults))


def faults_in_file(source: str, error: ProfilesError) -> tuple[ProfileFault, ...]:
    """Name the file and the line of each fault."""
    return tuple(
        ProfileFault(f"{source}, line {each.line}", f"{each.path}: {each.message}")
        for each in error.problems
    )
