"""A pod that the webhook left alone gets an Event with what to write."""

import threading

from tests.fake_apiserver import PODS, FakeApiServer
from tests.waiting import wait_until
from webhook.control.events import MESSAGE_BYTES, PodRef
from webhook.control.left_alone import LeftAlone
from webhook.core import names


def test_a_leader_tells_once_of_each_pod_that_carries_the_mark(server: FakeApiServer) -> None:
    label = {names.LEFT_ALONE: "unknown-quantity"}
    said = {names.LEFT_ALONE: "select nodes by type"}
    told: list[tuple[PodRef, str, str]] = []
    leads = threading.Event()
    part = LeftAlone(server.connection(), lambda *event: told.append(event), leads.is_set)
    server.put(PODS, "early", "ml", uid="1", labels=label, annotations=said)
    part.start()
    try:
        wait_until(lambda: server.asked("watch", PODS), "the pods are watched")
        assert not told
        leads.set()
        wait_until(lambda: len(told) == 1, "the first pod is told of")
        long = {names.LEFT_ALONE: said[names.LEFT_ALONE] + " " * MESSAGE_BYTES * 2}
        server.put(PODS, "late", "ml", uid="3", labels=label, annotations=long)
        server.put(PODS, "unsaid", "ml", uid="4", labels=label)
        wait_until(lambda: len(told) == 2, "the next pod is told of")
    finally:
        part.stop()
    assert max(len(message) for _, _, message in told) == MESSAGE_BYTES
    assert [(pod, reason, message.rstrip()) for pod, reason, message in told] == [
        (PodRef("ml", name, uid), "LeftAlone", "select nodes by type")
        for name, uid in (("early", "1"), ("late", "3"))
    ]
