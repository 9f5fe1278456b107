"""Answer what the page's process asks of this one, so that both know the same cluster and the same profiles.

A question and an answer are a line of JSON each: ``["network", "rails", "rail-0"]``, ``{"value": …}`` with plain data, or
``{"unavailable": "why"}``. One is answered at a time, and none is longer than QUESTION_BYTES.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Protocol

from webhook.core.errors import Unavailable
from webhook.core.model import World
from webhook.core.profiles import Profiles
from webhook.serve.plain import to_plain
from webhook.world.held import Snapshot

QUESTION_BYTES = 16 << 10
PAGE_ITEMS = 500
"""Most objects of an answer that lists some: what is known of a large cluster is never written at once."""

log = logging.getLogger(__name__)


class CheckedWorld(World, Protocol):
    """Answer for the cluster as World does, and say how far the answers can be trusted."""

    def checks(self) -> Mapping[str, str]:
        """Return each check's problem, empty if there is none."""

    def snapshot(self) -> Snapshot:
        """Return everything that is known."""


class Answers:
    """Answer from *world* and *profiles*; *problems* gives why a source cannot be trusted, by its name."""

    def __init__(
        self, world: CheckedWorld, profiles: Callable[[], Profiles], problems: Callable[[], Mapping[str, str]]
    ) -> None:
        self._world = world
        self._left: Iterator[Any] = iter(())  # of what is listed
        self._answers: dict[str, Callable[..., Any]] = {
            "profiles": profiles,
            "problems": problems,
            "namespace": world.namespace,
            "fresh_namespace": world.fresh_namespace,
            "network": world.network,
            "master": world.master,
            "known": self._known,
            "more": self._more,
        }

    def serve(self, asking: socket.socket) -> None:
        """Answer each question that comes from *asking*, until it is closed or asks what cannot be asked."""
        try:
            with asking.makefile("rwb") as lines:
                while (line := lines.readline(QUESTION_BYTES)).endswith(b"\n"):
                    lines.write(json.dumps(self._answer(*json.loads(line))).encode() + b"\n")
                    lines.flush()
        finally:
            self._left = iter(())  # nobody asks for the rest

    def _answer(self, name: str, *arguments: str) -> Any:
        try:
            return {"value": to_plain(self._answers[name](*arguments))}
        except Unavailable as error:
            return {"unavailable": str(error)}

    def _known(self, kind: str) -> tuple[Any, ...]:
        """Return the first objects of *kind*, a field of Snapshot, with their keys.

        They come in no order: to look for the next key in each answer would take as many steps as there are objects, each time.
        """
        self._left = iter(getattr(self._world.snapshot(), kind).items())
        return self._more()

    def _more(self) -> tuple[Any, ...]:
        """Return the next objects; none where all were told."""
        return tuple(islice(self._left, PAGE_ITEMS))
