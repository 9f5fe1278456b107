"""Answer what validation asks of the cluster, all of one review within the time that the API server waits for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from webhook.core.errors import InputError, ProfilesError, Unavailable
from webhook.core.model import NetworkDefinition, Object, World
from webhook.core.profiles import Profile
from webhook.core.validation import UnfinishedPods
from webhook.serve.profiles_process import parse_configuration_apart, parse_objects_apart
from webhook.serve.slot import Slot
from webhook.world.held import Snapshot, names_profile

SECONDS = 1.4
"""The API server gives up after 2 s; a connection's handshake and the wait for a thread come before."""
FEW = 5
"""Namespaces that are asked for live before they keep a profile: they may have been labelled anew a moment ago."""


class CheckedWorld(World, Protocol):
    """Answer for the cluster as World does, and say how far the answers can be trusted."""

    def unfinished_pods(self, namespace: str) -> UnfinishedPods:
        """List pods of the namespace that run or may still run, a bounded number. Raises Unavailable."""

    def profile_spec(self, name: str, seconds: float) -> Object | None:
        """Look the content of a FabricProfile up live, within *seconds*; None where there is none. Raises Unavailable."""

    def checks(self) -> Mapping[str, str]:
        """Return each check's problem, empty if there is none."""

    def snapshot(self) -> Snapshot:
        """Return everything that is known."""


class BoundedWorld:
    """Implement ValidationWorld for one review; its time begins when it is made. Profiles are read in a process that takes *slot*.

    *of_objects*: the profiles in force are the cluster's objects; where they are a file's, no namespace needs one.
    """

    def __init__(
        self,
        world: CheckedWorld,
        slot: Slot,
        *,
        of_objects: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._world, self._slot, self._of_objects, self._monotonic = world, slot, of_objects, monotonic
        self._deadline = monotonic() + SECONDS

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a NetworkAttachmentDefinition up."""
        self._left()
        return self._world.network(namespace, name)

    def namespaces_naming(self, profile: str) -> Sequence[str]:
        """Name the namespaces whose label names *profile*, but for those being deleted; few are asked for live."""
        if not self._of_objects:
            return ()
        if doubt := self._world.checks().get("namespaces"):
            raise Unavailable(f"namespaces: {doubt}")
        held = self._world.snapshot().namespaces.values()
        found = sorted(each.name for each in held if names_profile(each, profile))
        return [name for name in found if self._still_names_profile(name, profile)] if len(found) <= FEW else found

    def unfinished_pods(self, namespace: str) -> UnfinishedPods:
        """List pods of the namespace that run or may still run."""
        return self._world.unfinished_pods(namespace)

    def new_profile(self, name: str) -> Profile | None:
        """Look live for a FabricProfile that is not in force, and read it."""
        spec = self._world.profile_spec(name, self._left()) if self._of_objects else None
        return None if spec is None else self.read_profile(name, spec)

    def read_profile(self, name: str, spec: Any) -> Profile:
        """Read the content of a FabricProfile. Raises ProfilesError with every fault, Unavailable where the process fails."""
        content = {name: json.dumps(spec).encode()}
        try:
            found = parse_objects_apart(content, self._slot, self._left(), yields=True)[name]
        except InputError as error:
            raise Unavailable(str(error)) from None
        if isinstance(found, ProfilesError):
            raise found
        return found

    def check_configuration(self, content: str) -> None:
        """Read the content of a configuration file. Raises ProfilesError with every fault, Unavailable where the process fails."""
        try:
            parse_configuration_apart(content.encode("utf-8", "surrogatepass"), self._slot, self._left(), yields=True)
        except InputError as error:
            raise Unavailable(str(error)) from None

    def _still_names_profile(self, name: str, profile: str) -> bool:
        try:
            self._left()
            namespace = self._world.fresh_namespace(name)
        except Unavailable:  # what was known last counts
            return True
        return namespace is not None and names_profile(namespace, profile)

    def _left(self) -> float:
        left = self._deadline - self._monotonic()
        if left <= 0:
            raise Unavailable(f"the answers of the cluster took longer than {SECONDS:g} s")
        return left
