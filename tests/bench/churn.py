"""Change jobs at random while processes are killed, and go on until the API server has taken each change."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from urllib3.exceptions import HTTPError

from tests.cluster.client import RequestFailed
from tests.cluster.jobs import Job


class Churn(threading.Thread):
    """Replaces ranks 0, their sandboxes and workers of random jobs, until told to end; knows where each rank 0 is."""

    def __init__(self, jobs: list[Job], size: int, chance: random.Random) -> None:
        super().__init__(name="churn", daemon=True)
        self.done: Counter[str] = Counter()
        self.addresses: dict[Job, str] = {}
        self.ended = threading.Event()
        self._jobs, self._size, self._chance = jobs, size, chance

    def run(self) -> None:
        """Change something every now and then."""
        while not self.ended.wait(self._chance.uniform(0.0, 0.4)):
            job = self._chance.choice(self._jobs)
            kind = self._chance.choice(
                ("rank 0 created anew", "rank 0's sandbox rebuilt", "worker created anew")
            )
            if kind == "rank 0's sandbox rebuilt":
                self.move(job)
            elif kind == "rank 0 created anew":
                _replace(job, job.master)
                self.move(job)
            else:
                _replace(job, f"{job.name}-{self._chance.randrange(1, self._size)}")
            self.done[kind] += 1

    def move(self, job: Job) -> None:
        """Give rank 0 an address that no job has had yet."""
        number = sum(self.done.values()) + 1
        self.addresses[job] = f"10.{self._jobs.index(job)}.{number // 250}.{number % 250 + 1}"
        _insist(lambda: job.attach(job.master, self.addresses[job]))


def _replace(job: Job, name: str) -> None:
    _insist(lambda: _unless(404, lambda: job.delete(name)))
    _insist(lambda: _unless(409, lambda: job.create_pod(name)))


def _unless(status: int, action: Callable[[], object]) -> None:
    """Do it; an answer of this status says that an earlier try has been carried out, though its answer was lost."""
    try:
        action()
    except RequestFailed as error:
        if error.response.status != status:
            raise


def _insist(action: Callable[[], object]) -> None:
    """Do it again until the API server has done it."""
    while True:
        try:
            action()
            return
        except (RequestFailed, HTTPError, ValueError):
            time.sleep(0.2)
