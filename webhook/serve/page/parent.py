"""Ask the process that started this one, whose world and profiles are admission's. The other end is in ``serve.questions``."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from webhook.core.errors import Unavailable
from webhook.core.model import MasterAddress, Namespace, NetworkDefinition
from webhook.core.profiles import Profiles
from webhook.serve.plain import from_plain
from webhook.serve.questions import QUESTION_BYTES
from webhook.world.held import Snapshot

_LONGEST_NAME = QUESTION_BYTES // 16
"""Far longer than any name in a cluster, and short enough for two in a question, however they are escaped."""


class ParentWorld:
    """Implement model.World by questions to the parent, one at a time: for the one thread that answers dry runs."""

    def __init__(self, asked: socket.socket) -> None:
        self._lines = asked.makefile("rwb")

    def profiles(self) -> Profiles:
        """Return the profiles in use."""
        found: Profiles = self._ask("profiles")
        return found

    def problems(self) -> Mapping[str, str]:
        """Return why a source cannot be trusted, by its name; an empty text means no problem."""
        found: Mapping[str, str] = self._ask("problems")
        return found

    def namespace(self, name: str) -> Namespace | None:
        """Look a namespace up by name."""
        found: Namespace | None = self._ask("namespace", name)
        return found

    def fresh_namespace(self, name: str) -> Namespace | None:
        """Look a namespace up live."""
        found: Namespace | None = self._ask("fresh_namespace", name)
        return found

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a NetworkAttachmentDefinition up."""
        found: NetworkDefinition | None = self._ask("network", namespace, name)
        return found

    def master(self, namespace: str, job: str) -> MasterAddress | None:
        """Look up the published address of the newest live rank 0 of the job."""
        found: MasterAddress | None = self._ask("master", namespace, job)
        return found

    def snapshot(self) -> Snapshot:
        """Copy all that is known."""
        return Snapshot(self._known("namespaces"), self._known("networks"), self._known("masters"))

    def _known(self, kind: str) -> dict[Any, Any]:
        known: dict[Any, Any] = {}
        page = self._ask("known", kind)
        while page:
            known.update(page)
            page = self._ask("more")
        return known

    def _ask(self, *question: str) -> Any:
        if any(len(part) > _LONGEST_NAME for part in question):
            return None  # no object is called so
        self._lines.write(json.dumps(question).encode() + b"\n")
        self._lines.flush()
        answer = json.loads(self._lines.readline())
        if "unavailable" in answer:
            raise Unavailable(answer["unavailable"])
        return from_plain(answer["value"])
