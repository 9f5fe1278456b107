"""Hold the profiles that admission uses, whichever way they come: from a file, or from the objects of the cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from webhook.core.profiles import ClusterSettings, Profile, Profiles
from webhook.world.held import Master

RECENT_SECONDS = 60.0
"""How long an earlier content is kept that no rank 0 tells: one that was admitted by it may not have been seen yet."""
MOST_PAST = 64

_Revision: TypeAlias = tuple[str, str]


class ProfilesInForce:
    """Put together the profiles, the settings of the cluster and *own_image*, the image of this program.

    *claims_problem*: why no pod gets the claims of its profile. Earlier contents of profiles are kept while a rank 0 has them:
    *masters*, which may be set later, gives those that live. *on_change* gets each new set, in the thread that brought a part of it.
    """

    def __init__(
        self,
        *,
        own_image: str = "",
        claims_problem: str = "",
        on_change: Callable[[Profiles], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.masters: Callable[[], Iterable[Master]] = tuple
        self._on_change, self._monotonic = on_change, monotonic
        self._lock = threading.Lock()
        self._ended: dict[_Revision, float] = {}
        self._profiles = Profiles(own_image=own_image, claims_problem=claims_problem)

    def current(self) -> Profiles:
        """Return what is in force."""
        return self._profiles

    def put(
        self,
        *,
        profiles: Mapping[str, Profile] | None = None,
        settings: ClusterSettings | None = None,
        claims_problem: str | None = None,
    ) -> None:
        """Put a new part in force."""
        with self._lock:
            before = self._profiles
            found = before.profiles if profiles is None else MappingProxyType(dict(profiles))
            self._profiles = Profiles(
                multus=before.multus if settings is None else settings.multus,
                allowed=before.allowed if settings is None else settings.allowed,
                profiles=found,
                own_image=before.own_image,
                claims_problem=before.claims_problem if claims_problem is None else claims_problem,
                past=self._past(found),
            )
            self._on_change(self._profiles)

    def _past(self, present: Mapping[str, Profile]) -> Mapping[_Revision, Profile] | None:
        """Return the earlier contents that a rank 0 may still have: where there are too many, those that one has, then the newest."""
        before, now = self._profiles, self._monotonic()
        known = {
            **(before.past or {}),
            **{(each.name, each.revision): each for each in before.profiles.values() if each.revision},
        }
        for each in present.values():
            known.pop((each.name, each.revision), None)
        had = {(one.profile.name, one.profile.revision) for one in self.masters() if one.profile is not None}
        ended = {key: self._ended.get(key, now) for key in known}
        kept = [key for key in known if key in had or now - ended[key] < RECENT_SECONDS]
        newest = sorted(kept, key=lambda key: (key in had, ended[key]), reverse=True)[:MOST_PAST]
        self._ended = {key: ended[key] for key in newest}
        return MappingProxyType({key: known[key] for key in newest}) if newest else None
