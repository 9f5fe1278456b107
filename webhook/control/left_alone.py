"""Send an Event about each pod that the webhook left alone because a number was not certain."""

from collections.abc import Callable

from webhook.control.events import PodRef
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile.complaint import about_left_alone
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.resource import Key

_LEFT = PODS.metadata.select(labels=names.LEFT_ALONE, fields=UNFINISHED)


class LeftAlone:
    """Follow pods with the webhook's mark; *tell* gets the pod, the reason and what to write."""

    def __init__(self, connection: Connection, tell: Callable[[PodRef, str, str], None]) -> None:
        self._tell = tell
        self._pods = Informer(connection, _LEFT, _read, on_change=self._changed)

    def start(self) -> None:
        """Start the thread."""
        self._pods.start()

    def stop(self) -> bool:
        """End it; it writes nothing itself."""
        self._pods.stop()
        return True

    def _changed(self, key: Key, left: tuple[str, str] | None) -> None:
        if left is not None:
            uid, message = left
            self._tell(PodRef(*key, uid), *about_left_alone(message))


def _read(pod: Object) -> tuple[str, str] | None:
    """Keep the pod's uid, and what the webhook wrote."""
    metadata = pod["metadata"]
    message = (metadata.get("annotations") or {}).get(names.LEFT_ALONE)
    return (str(metadata.get("uid") or ""), str(message)) if message else None
