"""Follow the FabricProfiles of a cluster, and keep of each the last content that could be used."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.model import Object
from webhook.core.profiles import Multus, Profile, Profiles
from webhook.core.profiles.load import read_profile
from webhook.kube.catalogue import FABRIC_PROFILES
from webhook.kube.connection import Connection
from webhook.kube.reflector import Reflector
from webhook.kube.resource import Key


class ObservedProfile(NamedTuple):
    """Hold what an object says: a *profile*, or the *problem* of its content."""

    generation: int
    profile: Profile | None
    problem: str = ""


class ProfileObjects:
    """Hold the profiles that the objects describe; once started, follow their changes in a thread.

    *multus*, *own_image*: what is not a profile's own. *is_in_use* says whether a namespace names a profile: one that is deleted all
    the same serves on until restart. *on_reload* gets each new set of profiles; *on_error*, once for each new one, what is wrong with
    an object, whose last good content stays. All are called in the thread, and must not raise.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        multus: Multus | None = None,
        own_image: str = "",
        is_in_use: Callable[[str], bool] = lambda _: False,
        on_reload: Callable[[Profiles], None] = lambda _: None,
        on_error: Callable[[WebhookError], None] = lambda _: None,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._multus = multus or Multus()
        self._own_image = own_image
        self._is_in_use, self._on_reload, self._on_error = is_in_use, on_reload, on_error
        self._good: dict[str, Profile] = {}
        self._problems: dict[str, str] = {}
        self._profiles = Profiles(multus=self._multus, own_image=own_image)
        self._reflector = Reflector(
            connection,
            FABRIC_PROFILES,
            _observe,
            on_change=self._change,
            on_listed=self._publish,
            on_restart=on_restart,
            monotonic=monotonic,
        )

    def current(self) -> Profiles:
        """Return the last good profiles."""
        return self._profiles

    def error(self) -> WebhookError | None:
        """Say which objects are not in use as they stand, and why; None where all are."""
        problems = [self._problems[name] for name in sorted(self._problems)]
        return InputError("\n".join(problems)) if problems else None

    def checks(self) -> Mapping[str, str]:
        """Say what keeps the profiles from being known; no profile, and no CustomResourceDefinition, are an answer too."""
        problem = f" ({self._reflector.problem})" if self._reflector.problem else ""
        return {self._reflector.resource.name: "" if self._reflector.synced else f"not listed yet{problem}"}

    def start(self) -> None:
        """Begin to follow the objects."""
        self._reflector.start()

    def stop(self) -> None:
        """Stop following; what they said last stays."""
        self._reflector.stop()

    def _change(self, key: Key, observed: ObservedProfile | None) -> None:
        _, name = key
        before = self._problems.pop(name, "")
        problem = ""
        if observed is None:
            if name in self._good and self._is_in_use(name):
                problem = f"FabricProfile {name}: was deleted, though namespaces name it; it serves on until restart: create it again"
            else:
                self._good.pop(name, None)
        elif observed.profile is not None:
            self._good[name] = observed.profile
        else:
            last = "its last good content stays" if name in self._good else "it is not in use"
            problem = f"FabricProfile {name}: {observed.problem}; {last}"
        if problem:
            self._problems[name] = problem
            if problem != before:
                self._on_error(InputError(problem))
        if self._reflector.synced:
            self._publish()

    def _publish(self) -> None:
        found = dict(sorted(self._good.items()))
        if found != self._profiles.profiles or not self._reflector.synced:
            self._profiles = Profiles(multus=self._multus, profiles=found, own_image=self._own_image)
            self._on_reload(self._profiles)


def _observe(obj: Object) -> ObservedProfile:
    metadata: Any = obj.get("metadata")
    name, generation = str(metadata["name"]), metadata.get("generation")
    number = generation if isinstance(generation, int) else 0
    try:
        return ObservedProfile(number, read_profile(name, obj.get("spec")))
    except ProfilesError as error:
        problems = "; ".join(f"{problem.path}: {problem.message}" for problem in error.problems)
        return ObservedProfile(number, None, problems.replace(f"FabricProfile {name}: ", ""))
