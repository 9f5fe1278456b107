"""Send an Event about each pod that the webhook left alone because a number was not certain."""

from collections.abc import Callable

from webhook.control.events import MESSAGE_BYTES, PodRef
from webhook.control.leader_loop import LeaderLoop
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile.complaint import about_left_alone
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer

IDLE_SECONDS = 300.0
_LEFT = PODS.metadata.select(labels=names.LEFT_ALONE, fields=UNFINISHED)


class LeftAlone(LeaderLoop):
    """Follow pods with the webhook's mark; *tell* gets the pod, the reason and what to write.

    It tells of each once, while *may_write*. A new leader tells of those that are there: the one
    before it may have ended too early.
    """

    fault = "no Event tells of pods that were left alone"

    def __init__(
        self,
        connection: Connection,
        tell: Callable[[PodRef, str, str], None],
        may_write: Callable[[], bool],
    ) -> None:
        super().__init__(may_write)
        self._tell = tell
        self._told: set[PodRef] = set()
        self._pods = Informer(connection, _LEFT, _read, on_change=self.wake)
        self.watches = (self._pods,)

    def lost(self) -> None:
        """Tell of all again when this replica leads again."""
        self._told.clear()

    def turn(self) -> float:
        """Tell of those that are new."""
        there = {PodRef(*key, uid): text for key, (uid, text) in self._pods.items.copy().items()}
        for pod, message in there.items():
            if pod not in self._told:
                self._tell(pod, *about_left_alone(message))
        self._told.intersection_update(there)
        self._told.update(there)
        return IDLE_SECONDS


def _read(pod: Object) -> tuple[str, str] | None:
    """Keep the pod's uid, and of what is written there no more than an Event takes."""
    metadata = pod["metadata"]
    message = (metadata.get("annotations") or {}).get(names.LEFT_ALONE)
    uid = str(metadata.get("uid") or "")
    return (uid, str(message)[:MESSAGE_BYTES]) if message else None
