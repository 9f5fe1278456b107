"""What the page's process asks and is answered: the same values on both sides, of any names, in bounded pieces."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.calls import count_calls
from tests.world.test_held import pod
from tests.worlds import namespace, network, profiles
from webhook.core.errors import Unavailable
from webhook.core.model import Namespace
from webhook.core.profiles import Profiles
from webhook.serve.page.parent import ParentWorld
from webhook.serve.plain import from_plain, to_plain
from webhook.serve.questions import PAGE_ITEMS, QUESTION_BYTES, Answers, CheckedWorld
from webhook.world.objects import ObjectsWorld

EVERYTHING = """
multus: {namespaceIsolation: true, globalNamespaces: [a, b], defaultNetworks: 2, resourceNameKeys: [x.io/y]}
profiles:
  bare: {}
  full:
    podLabels: {"x.io/y": "z"}
    networks: [{network: rails/rail-0@rail0, resource: "a.io/x,a.io/y", count: 2}, {network: here}]
    resources: {a.io/x: 1, hugepages-2Mi: 1Gi}
    sharedMemory: {sizeLimit: 16Gi, limitExisting: true}
    env: {NCCL_IB_HCA: "mlx5 \U0001f600"}
    annotations: {a.io/b: "c"}
    nodeSelector: {a.io/b: "c"}
    rendezvous: {network: rails/rail-0, timeout: 10m, ipFamily: IPv6}
    allowedNamespaces: [b, a]
    volumes:
      - {name: sys, hostPath: {path: /sys, type: Directory}}
      - {name: scratch, emptyDir: {medium: Memory, sizeLimit: 1Gi}}
      - {name: topology, configMap: {name: topology, optional: true}}
    mounts: [{name: topology, mountPath: /etc/topology, subPath: a/b, readOnly: true}]
    sidecars:
      - name: daemon
        image: a.io/b:1
        command: [a]
        args: [b]
        env: {A: b}
        mounts: [{name: sys, mountPath: /hostsysfs}]
        capabilities: [NET_ADMIN]
        resources: {cpu: 1}
    tolerations: [{key: a.io/b, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]
    quantities: [{resource: a.io/z, perAccelerator: 2, byNodeType: {big: 4}, nodeLabel: a.io/type}]
allowed: {hostPaths: [/sys, /dev/], sidecarImages: ["a.io/*"]}
"""


def over_the_wire(value: object) -> object:
    return from_plain(json.loads(json.dumps(to_plain(value))))


@contextmanager
def asking(world: CheckedWorld, known: Profiles | None = None) -> Iterator[ParentWorld]:
    near, far = socket.socketpair()
    answers = Answers(world, lambda: known or profiles(), lambda: {"pods": "not listed yet"})
    thread = threading.Thread(target=answers.serve, args=(near,))
    thread.start()
    try:
        yield ParentWorld(far)
    finally:
        far.shutdown(socket.SHUT_RDWR)
        thread.join()
        near.close()
        far.close()


@pytest.mark.parametrize("text", ["profiles: {}", EVERYTHING], ids=["nothing", "everything"])
def test_profiles_come_back_as_they_were(text: str) -> None:
    known = profiles(text)
    with asking(ObjectsWorld(()), known) as world:
        found = world.profiles()
    assert found == known
    assert sorted(repr(found)) == sorted(repr(known))  # the same types; a set has an order of its own
    assert found.by_pod_label == known.by_pod_label


def test_answers_are_those_of_the_world() -> None:
    told = pod("rank-0", addr="fd00::1")
    own = ObjectsWorld([namespace("ml", mode="observe"), network("rails/rail-0", "a.io/x"), {"kind": "Pod", **told}])
    with asking(own) as world:
        assert world.namespace("ml") == world.fresh_namespace("ml") == own.namespace("ml")
        assert world.network("rails", "rail-0") == own.network("rails", "rail-0")
        assert world.master("ml", "j") == own.master("ml", "j")
        assert world.snapshot() == own.snapshot()
        assert world.problems() == {"pods": "not listed yet"}
        assert own.network("rails", "rail-0") is not None
        assert own.master("ml", "j") is not None


@pytest.mark.parametrize("name", ["", "absent", "\ud800", '"\n', "ü" * QUESTION_BYTES, "x" * QUESTION_BYTES])
def test_a_name_of_any_kind_is_absent(name: str) -> None:
    with asking(ObjectsWorld(())) as world:
        assert world.namespace(name) is None
        assert world.network(name, name) is None
        assert world.master(name, name) is None
        assert world.namespace("absent") is None


def test_what_cannot_be_known_is_not_absent() -> None:
    class Silent(ObjectsWorld):
        def namespace(self, name: str) -> Namespace | None:
            raise Unavailable(f"{name}: the API server has not answered in time")

    with asking(Silent(())) as world:
        with pytest.raises(Unavailable, match="ml: the API server has not answered in time"):
            world.namespace("ml")
        assert world.fresh_namespace("ml") is None


@pytest.mark.parametrize("count", [0, 1, PAGE_ITEMS, PAGE_ITEMS + 1, 3 * PAGE_ITEMS])
def test_a_large_cluster_is_told_in_pieces(count: int) -> None:
    own = ObjectsWorld(network(f"n{number % 7}/n{number}") for number in range(count))
    with asking(own) as world:
        assert world.snapshot() == own.snapshot()
    assert len(own.snapshot().networks) == count


def test_a_cluster_twenty_times_as_large_takes_twenty_times_as_long_to_tell() -> None:
    def told(count: int) -> int:
        """Count the calls that it takes in the process of admission, which they keep waiting."""
        world = ObjectsWorld(namespace(f"n{number}") for number in range(count))
        near, far = socket.socketpair()

        def ask() -> None:
            with far:
                assert ParentWorld(far).snapshot() == world.snapshot()
                far.shutdown(socket.SHUT_RDWR)

        with near, ThreadPoolExecutor(1) as asking:
            asked = asking.submit(ask)
            calls = count_calls(lambda: Answers(world, profiles, dict).serve(near))
            asked.result()
        return calls

    assert told(20 * PAGE_ITEMS) <= 20 * told(PAGE_ITEMS)


def test_a_question_without_an_end_is_not_kept() -> None:
    near, far = socket.socketpair()
    with near, far:
        thread = threading.Thread(target=Answers(ObjectsWorld(()), profiles, dict).serve, args=(near,))
        thread.start()
        far.sendall(b"x" * QUESTION_BYTES)
        thread.join(20)
        assert not thread.is_alive()


def test_plain_data_stays_as_it_is() -> None:
    for value in (None, True, 0, 1.5, "", (), ("a", (1,)), frozenset(("b", "a"))):
        assert over_the_wire(value) == value
