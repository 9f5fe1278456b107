"""Pods that are created all the time, and what of that failed."""

import time
from contextlib import ExitStack

import urllib3

from tests.cluster.client import Client
from tests.cluster.nodes import again_and_again
from tests.cluster.objects import pod
from webhook.core import names

THREADS = 4


class Traffic(ExitStack):
    """Dry-run creates of pods that must be injected, about *per_second*, until the block is left.

    *profile*: what the pods ask for. `seconds` has how long each took, `failures` why one failed.
    """

    def __init__(self, api: Client, namespace: str, profile: str, per_second: float = 50.0) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self._api, self._namespace = api, namespace
        self._pod = pod(labels={names.PROFILE: profile})
        for _ in range(THREADS):
            self.enter_context(again_and_again(self._create, THREADS / per_second))

    @property
    def admitted(self) -> int:
        """Give how many succeeded."""
        return len(self.seconds)

    def _create(self) -> None:
        begun = time.monotonic()
        if why := self._why_not():
            self.failures.append(why)
        else:
            self.seconds.append(time.monotonic() - begun)

    def _why_not(self) -> str:
        try:
            answer = self._api.create(self._pod, self._namespace, dry_run=True)
        except urllib3.exceptions.HTTPError as error:
            return repr(error)
        if answer.status != 201:
            return f"{answer.status} {answer.message}"
        is_injected = names.STATUS in answer.json["metadata"].get("annotations", {})
        return "" if is_injected else "created without injection"
