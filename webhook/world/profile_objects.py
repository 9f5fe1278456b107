"""Follow the FabricProfiles of a cluster, and keep of each the last content that could be used."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import orjson

from webhook.core.errors import InputError, ProfilesError, WebhookError
from webhook.core.model import Object
from webhook.core.profiles import Profile, same_pod_labels
from webhook.core.profiles.objects import DEFINITION, faults_in_object
from webhook.kube.catalogue import FABRIC_PROFILES
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer

SETTLE_SECONDS = 0.05
"""What changes within it is read at once."""
REST_SECONDS = 0.25
"""Pause after each reading, so that objects that change without end leave some of the processor to admission."""
LEAST_PAUSE_SECONDS = 0.5
MOST_PAUSE_SECONDS = 30.0
"""Pause before what failed is tried again; it grows to this."""
MOST_OBJECTS = 1000
MOST_BYTES = 1 << 20
"""How much is read at once; more is read in turns, so that it fits into the memory of who reads it."""
STOP_SECONDS = 1.0
DEFINITION_TITLE = f"CustomResourceDefinition {DEFINITION}"

Parse: TypeAlias = Callable[[Mapping[str, bytes]], Mapping[str, Profile | ProfilesError]]
"""Read the contents of objects, JSON by name, each into a profile or all of its faults; raises InputError where nothing can be read."""

_log = logging.getLogger(__name__)


class ProfileContent(NamedTuple):
    """Hold what is kept of an object: its *spec* as JSON."""

    uid: str
    generation: int
    spec: bytes


class ProfileObjects:
    """Hold the profiles that the objects describe; once started, follow their changes.

    One thread watches; another reads what has changed with *parse*, which may take its time and is asked again where it fails.
    *is_in_use* says whether a namespace names a profile: one that is deleted all the same serves on until restart. *on_reload* gets
    each new set of profiles; *on_error*, once for each new one, why an object is not in use as it stands, whose last good content
    stays; *on_installed* whether there is a CustomResourceDefinition, where that has changed. They must not raise.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        parse: Parse,
        is_in_use: Callable[[str], bool] = lambda _: False,
        on_reload: Callable[[Mapping[str, Profile]], None] = lambda _: None,
        on_error: Callable[[WebhookError], None] = lambda _: None,
        on_installed: Callable[[bool], None] = lambda _: None,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
    ) -> None:
        self._parse, self._is_in_use = parse, is_in_use
        self._on_reload, self._on_error, self._on_installed = on_reload, on_error, on_installed
        self._good: dict[str, Profile] = {}
        self._judged: dict[str, ProfileContent] = {}
        self._failures: dict[str, int] = {}
        self._alone: set[str] = set()
        self._kept: set[str] = set()
        self._problems: dict[str, str] = {}
        self._clashes: dict[str, str] = {}
        self._profiles: Mapping[str, Profile] | None = None
        self._is_read = False
        self._installed = True
        self._most = MOST_OBJECTS
        self._changed, self._stopping = threading.Event(), threading.Event()
        self._informer = Informer(
            connection,
            FABRIC_PROFILES,
            _read_content,
            on_change=lambda _key, _content: self._changed.set(),
            on_listed=self._changed.set,
            on_restart=on_restart,
        )
        self._thread = threading.Thread(target=self._follow, name="profile-objects", daemon=True)

    def current(self) -> Mapping[str, Profile]:
        """Return the last good profiles by name."""
        return self._profiles or {}

    def faulty(self) -> int:
        """Count the objects that are not in use as they stand."""
        return len(self._faults())

    def checks(self) -> Mapping[str, str]:
        """Say what keeps the profiles from being known; no profile, and no CustomResourceDefinition, are an answer too."""
        why = self._informer.problem if not self._informer.synced else "; ".join(self._faults()[:1])
        problem = f" ({why})" if why else ""
        state = "not listed yet" if not self._informer.synced else "not read yet"
        return {"profiles": "" if self._is_read else f"{state}{problem}"}

    def start(self) -> None:
        """Begin to follow the objects."""
        self._informer.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop following; what they said last stays."""
        self._stopping.set()
        self._changed.set()
        self._informer.stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _faults(self) -> list[str]:
        return [
            fault for _, fault in sorted([*self._problems.copy().items(), *self._clashes.items()])
        ]

    def _follow(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            self._changed.wait(pause or None)
            if self._stopping.wait(SETTLE_SECONDS):
                return
            self._changed.clear()
            try:
                is_done = not self._informer.synced or self._take()
            except Exception:  # the next change may go better, and nobody else would ever read one
                _log.exception("FabricProfiles: change not handled")
                is_done = False
            pause = 0.0 if is_done else min(MOST_PAUSE_SECONDS, max(LEAST_PAUSE_SECONDS, 2 * pause))
            self._stopping.wait(REST_SECONDS)

    def _take(self) -> bool:
        """Bring the profiles to what the objects say now. Returns False where some have to be tried again."""
        if self._installed is not self._informer.installed:
            self._installed = self._informer.installed
            self._on_installed(self._installed)
        while True:
            wanted = {name: content for (_, name), content in self._informer.items.copy().items()}
            for name in (self._good.keys() | self._problems.keys()) - wanted.keys() - self._kept:
                self._drop(name)
            pending = {
                name: each for name, each in wanted.items() if self._judged.get(name) != each
            }
            self._is_read = self._is_read or (
                pending.keys() <= self._alone and (bool(self._judged) or not wanted)
            )  # what cannot be read even alone holds up no other
            if self._is_read:
                self._publish()
            if not pending:
                return True
            batch = self._first(pending)
            if not self._read(batch):
                return False

    def _first(self, pending: Mapping[str, ProfileContent]) -> dict[str, ProfileContent]:
        """Choose what is read next: what has failed least, as much as can be read at once."""
        batch: dict[str, ProfileContent] = {}
        left = MOST_BYTES
        for name in sorted(pending, key=lambda name: (self._failures.get(name, 0), name)):
            left -= len(pending[name].spec)
            if batch and (left < 0 or len(batch) >= self._most):
                break
            batch[name] = pending[name]
        return batch

    def _read(self, batch: Mapping[str, ProfileContent]) -> bool:
        try:
            found = self._parse({name: content.spec for name, content in batch.items()})
        except Exception as error:  # as in _follow; whatever it is, it is told
            why = error if isinstance(error, WebhookError) else f"internal error: {error!r}"
            self._most = max(
                1, len(batch) // 2
            )  # one of them may be what keeps the others from being read
            for name in batch:
                self._failures[name] = self._failures.get(name, 0) + 1
            if len(batch) == 1:
                self._alone.update(batch)
            listed = ", ".join([*list(batch)[:5], *(["…"] if len(batch) > 5 else [])])
            self._complain(
                dict.fromkeys(batch, f"FabricProfile {listed}: {why}; it is tried again")
            )
            return False
        self._most = MOST_OBJECTS
        for name, result in found.items():
            self._judge(name, batch[name], result)
        return True

    def _judge(self, name: str, content: ProfileContent, result: Profile | ProfilesError) -> None:
        self._judged[name] = content
        self._failures.pop(name, None)
        self._alone.discard(name)
        self._kept.discard(name)
        if isinstance(result, Profile):
            self._good[name] = replace(result, generation=content.generation)
            self._problems.pop(name, None)
            return
        last = "its last good content stays" if name in self._good else "it is not in use"
        told = "; ".join(faults_in_object(name, result.problems))
        self._complain({name: f"FabricProfile {name}: {told}; {last}"})

    def _drop(self, name: str) -> None:
        """Forget a deleted object; without the CustomResourceDefinition nobody has deleted it."""
        self._judged.pop(name, None)
        self._failures.pop(name, None)
        self._alone.discard(name)
        if name in self._good and (not self._installed or self._is_in_use(name)):
            self._kept.add(name)
            why = (
                "was deleted, though namespaces name it"
                if self._installed
                else "is gone with its definition"
            )
            self._complain(
                {name: f"FabricProfile {name}: {why}; it serves on until restart: create it again"}
            )
        else:
            self._good.pop(name, None)
            self._problems.pop(name, None)

    def _complain(self, problems: Mapping[str, str]) -> None:
        told = dict.fromkeys(
            problem for name, problem in problems.items() if self._problems.get(name) != problem
        )
        self._problems.update(problems)
        for problem in told:
            self._on_error(InputError(problem))

    def _publish(self) -> None:
        found = dict(sorted(self._good.items()))
        if self._profiles is not None and _revisions(found) == _revisions(self._profiles):
            return
        self._profiles = found
        self._on_reload(found)
        before, self._clashes = self._clashes, dict(_clashes(found))
        for name, problem in self._clashes.items():
            if before.get(name) != problem:
                self._on_error(InputError(problem))


def _revisions(profiles: Mapping[str, Profile]) -> dict[str, tuple[str, int]]:
    return {name: (profile.revision, profile.generation) for name, profile in profiles.items()}


def _clashes(profiles: Mapping[str, Profile]) -> Iterator[tuple[str, str]]:
    """Yield what no object by itself shows: two that the same pods would choose, of which they take the first."""
    for name, owner in same_pod_labels(profiles.values()).items():
        why = f"{owner} has the same, and pods that carry them take that one; change one of the two"
        yield name, f"FabricProfile {name}: spec.podLabels: {why}"


def _read_content(obj: Object) -> ProfileContent:
    metadata: Any = obj["metadata"]
    generation = metadata.get("generation")
    spec = orjson.dumps(obj.get("spec"), option=orjson.OPT_SORT_KEYS)
    return ProfileContent(
        metadata.get("uid") or "", generation if isinstance(generation, int) else 0, spec
    )
