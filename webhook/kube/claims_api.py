"""Know whether the cluster serves resource.k8s.io/v1, the API of claims (DRA)."""

import threading
import time
from collections.abc import Callable

from webhook.kube.catalogue import CLAIMS
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader

REFRESH_SECONDS = 300.0
"""How long an answer counts: an upgrade of the API server changes it, and a flag."""
AGAIN_SECONDS = 30.0
"""After how long a question that failed is asked again."""


class ClaimsApi:
    """Ask once, and again after REFRESH_SECONDS. Safe to share between threads.

    A failure leaves the former answer as it is; where there is none, it stands for AGAIN_SECONDS.
    """

    def __init__(self, reader: Reader, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._reader, self._monotonic = reader, monotonic
        self._lock = threading.Lock()
        self._is_served: bool | None = None
        self._failure = ("", 0)
        self._due = float("-inf")

    def is_served(self) -> bool:
        """Tell whether the cluster serves v1.

        Raises RequestFailed where that is not known: with 403 if refused, 0 if not answered.
        """
        with self._lock:
            if self._monotonic() >= self._due:
                self._ask()
            if self._is_served is None:
                raise RequestFailed(*self._failure)
            return self._is_served

    def _ask(self) -> None:
        try:
            served = self._reader.versions(CLAIMS)
        except RequestFailed as error:
            self._failure = str(error), error.status
            self._due = self._monotonic() + AGAIN_SECONDS
            return
        self._is_served = "v1" in served
        self._due = self._monotonic() + REFRESH_SECONDS
