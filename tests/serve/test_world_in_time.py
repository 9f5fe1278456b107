"""What admission asks of the cluster ends before the API server has given up."""

from __future__ import annotations

import pytest

from tests.worlds import namespace
from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import Namespace, NetworkDefinition
from webhook.serve.world_in_time import WorldInTime
from webhook.world.lookup import MustAsk
from webhook.world.objects import ObjectsWorld


class Held(ObjectsWorld):
    """Answer as a watch does that has brought these objects."""

    def namespace(self, name: str) -> Namespace:
        if (found := super().namespace(name)) is None:
            raise MustAsk
        return found

    def fresh_namespace(self, name: str) -> Namespace:
        raise MustAsk

    def network(self, namespace: str, name: str) -> NetworkDefinition:
        raise MustAsk


CLUSTER = ObjectsWorld([namespace("known", "plain"), namespace("new", "plain")])
HELD = Held([namespace("known", "plain")])


def test_it_is_asked_in_time() -> None:
    world = WorldInTime(CLUSTER, HELD, 100.0, monotonic=lambda: 102.9)
    assert world.namespace("new") == world.fresh_namespace("new") == Namespace("new", {names.PROFILE: "plain"})
    assert world.network("new", "absent") is None


def test_late_only_what_is_known_is_answered() -> None:
    world = WorldInTime(CLUSTER, HELD, 100.0, monotonic=lambda: 103.0)
    assert world.namespace("known") == Namespace("known", {names.PROFILE: "plain"})
    for ask in (
        lambda: world.namespace("new"),
        lambda: world.fresh_namespace("known"),
        lambda: world.network("new", "absent"),
    ):
        with pytest.raises(Unavailable, match="what is asked of the cluster takes longer than 3 s: ask again"):
            ask()
