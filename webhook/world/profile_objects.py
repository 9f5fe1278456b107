"""Follow the FabricProfiles of a cluster, and keep of each the last content that could be used."""

import logging
from collections.abc import Callable, Iterator, Mapping

from webhook.core.profiles import Profile, ProfileObject, read_object
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.kube.catalogue import FABRIC_PROFILES
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.resource import Key
from webhook.world.active_profiles import ActiveProfiles

log = logging.getLogger(__name__)


class ProfileObjects(Informer[ProfileObject]):
    """Hold the profiles that the objects describe; once started, follow their changes.

    An object is read as the watch brings it. *is_in_use* tells whether a namespace names a profile:
    one that is deleted all the same serves on until restart. Each new set of profiles is put into
    *active*. Why an object is not in use as it stands is logged once; its last good content stays.
    """

    def __init__(
        self, connection: Connection, active: ActiveProfiles, is_in_use: Callable[[str], bool]
    ) -> None:
        self._active, self._is_in_use = active, is_in_use
        self._good: dict[str, Profile] = {}
        self._problems: tuple[str, ...] = ()
        self._profiles: Mapping[str, Profile] | None = None
        super().__init__(
            connection,
            FABRIC_PROFILES,
            read_object,
            on_change=self._changed,
            on_listed=self._publish,
        )

    def current(self) -> Mapping[str, Profile]:
        """Return the last good profiles by name."""
        return self._profiles or {}

    def faulty(self) -> int:
        """Count the objects that are not in use as they stand."""
        return len(self._problems)

    def _changed(self, key: Key, obj: ProfileObject | None) -> None:
        name = key[1]
        if obj is not None and obj.content.profile is not None:
            self._good[name] = obj.content.profile
        elif obj is None and self.installed and not self._is_in_use(name):
            self._good.pop(name, None)  # without its definition nobody has deleted it
        if self.synced:
            self._publish()

    def _publish(self) -> None:
        before, self._problems = self._problems, tuple(self._judge())
        for problem in self._problems:
            if problem not in before:
                log.error("profiles not reloaded: %s", problem)
        found = dict(sorted(self._good.items()))
        if self._profiles is None or _revisions(found) != _revisions(self._profiles):
            self._profiles = found
            self._active.put(profiles=found)

    def _judge(self) -> Iterator[str]:
        """Say of each object why it is not in use as it stands."""
        for (_, name), obj in self.items.items():
            if obj.content.profile is None:
                last = "its last good content stays" if name in self._good else "it is not in use"
                yield f"{PROFILE_KIND} {name}: {obj.content.problem}; {last}"
        deleted = "was deleted, though namespaces name it"
        why = deleted if self.installed else "is gone with its definition"
        for name in self._good:
            if ("", name) not in self.items:
                yield f"{PROFILE_KIND} {name}: {why}; it serves on until restart: create it again"


def _revisions(profiles: Mapping[str, Profile]) -> dict[str, tuple[str, int]]:
    return {name: (profile.revision, profile.generation) for name, profile in profiles.items()}
