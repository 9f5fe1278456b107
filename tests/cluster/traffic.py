"""Pods that are created all the time, and what of that failed."""

import threading
import time
from typing import NamedTuple, Self

import urllib3

from .client import Client
from .objects import pod

POD = pod(container={"name": "train"})


class Failure(NamedTuple):
    """An admission that failed: when it began and ended, by the monotonic clock, and why."""

    begun: float
    ended: float
    why: str


class Traffic:
    """Dry-run creates of pods that must be injected, *per_second* of them, from entering the block until it is left."""

    def __init__(
        self, api: Client, namespace: str, per_second: float = 50.0, threads: int = 4
    ) -> None:
        self.seconds: list[float] = []
        self.failures: list[Failure] = []
        self._api, self._namespace = api, namespace
        self._period = threads / per_second
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    @property
    def admitted(self) -> int:
        """Give how many succeeded."""
        return len(self.seconds)

    def __enter__(self) -> Self:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, and wait for what is under way."""
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ended.wait(max(0.0, due - time.monotonic())):
            begun = time.monotonic()
            why = self._create()
            ended = time.monotonic()
            if why:
                self.failures.append(Failure(begun, ended, why))
            else:
                self.seconds.append(ended - begun)
            due = max(due + self._period, ended - 1.0)

    def _create(self) -> str:
        try:
            answer = self._api.create(POD, self._namespace, dry_run=True)
        except urllib3.exceptions.HTTPError as error:
            return repr(error)
        if answer.status != 201:
            return f"{answer.status} {answer.message}"
        mounts = answer.json["spec"]["containers"][0].get("volumeMounts", [])
        return (
            ""
            if any(mount["mountPath"] == "/dev/shm" for mount in mounts)
            else "created without injection"
        )
