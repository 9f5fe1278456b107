"""A pod that the webhook left alone gets an Event with what to write."""

from tests.fake_apiserver import PODS, FakeApiServer
from tests.waiting import wait_until
from webhook.control.events import PodRef
from webhook.control.left_alone import LeftAlone
from webhook.core import names


def test_tells_of_each_pod_that_carries_the_mark(server: FakeApiServer) -> None:
    label = {names.LEFT_ALONE: "unknown-quantity"}
    said = {names.LEFT_ALONE: "select nodes by type"}
    told: list[tuple[PodRef, str, str]] = []
    part = LeftAlone(server.connection(), lambda *event: told.append(event))
    server.put(PODS, "early", "ml", uid="1", labels=label, annotations=said)
    part.start()
    try:
        wait_until(lambda: len(told) == 1, "the first pod is told of")
        server.put(PODS, "late", "ml", uid="3", labels=label, annotations=said)
        server.put(PODS, "unsaid", "ml", uid="4", labels=label)
        wait_until(lambda: len(told) == 2, "the next pod is told of")
    finally:
        assert part.stop()
    assert told == [
        (PodRef("ml", name, uid), "LeftAlone", "select nodes by type")
        for name, uid in (("early", "1"), ("late", "3"))
    ]
