"""What `explain --exec` says of the bytes that pods send, by counters as Linux prints them."""

from __future__ import annotations

import pytest

from tests.diagnose.scenes import Scene
from webhook.diagnose.explain.counters import Counters, Traffic, read_counters
from webhook.diagnose.explain.explanation import explain
from webhook.diagnose.finding import Finding

DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 1104 12 0 0 0 0 0 0 1104 12 0 0 0 0 0 0
  eth0:{eth0} 20 0 0 0 0 0 0 {eth0} 30 0 0 0 0 0 0
  net1: {net1} 20 0 0 0 0 0 0 {net1} 30 0 0 0 0 0 0
/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data {words}
/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data {words}
"""


def counters(eth0: int = 0, net1: int = 0, words: int = 0) -> Counters:
    found = read_counters(DEV.format(eth0=eth0, net1=net1, words=words))
    assert found is not None
    return found


def told(second: Counters, first: Counters | None = None, seconds: float = 5.0) -> list[Finding]:
    scene = Scene(0)
    scene.changes["traffic"] = {"bert-master-0": Traffic(seconds, first or counters(), second)}
    return [each for each in explain(scene.reading).findings if str(each.code).startswith("traffic")]


def test_words_of_rdma_are_four_bytes_and_lo_is_left_out() -> None:
    found = counters(eth0=10, net1=20, words=30)
    assert found.interfaces == {"eth0": (10, 10), "net1": (20, 20)}
    assert found.devices == {"mlx5_0/1": (120, 120)}


@pytest.mark.parametrize("text", ["", "sh: cat: not found\n", "lo: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n", "x: 1 2 3\n"])
def test_what_holds_no_interface(text: str) -> None:
    assert read_counters(text) is None


def test_bytes_over_the_fabric() -> None:
    [found] = told(counters(eth0=5000, net1=0, words=5 * 10**9))
    assert (found.level, str(found.code)) == ("ok", "traffic-measured")
    assert found.message.startswith(
        "in 5 s eth0 received 1 kB/s and sent 1 kB/s; net1 received 0 B/s and sent 0 B/s; "
        "mlx5_0/1 received 4 GB/s and sent 4 GB/s; what goes by RDMA is counted at its device"
    )


def test_bytes_beside_the_fabric() -> None:
    [found] = told(counters(eth0=5 * 10**8, net1=500))
    assert (found.level, str(found.code)) == ("warn", "traffic-on-pod-network")
    assert "eth0 received 100 MB/s and sent 100 MB/s" in found.message


def test_hardly_any_bytes_tell_nothing() -> None:
    [found] = told(counters(eth0=500))
    assert found.level == "ok"
    assert found.message.endswith("; that is hardly anything: ask again while it trains")


def test_counters_that_began_anew_are_no_negative_bytes() -> None:
    [found] = told(counters(eth0=1), counters(eth0=10**9))
    assert "eth0 received 0 B/s" in found.message


def test_bytes_where_no_rdma_device_is_counted() -> None:
    bare = [read_counters("\n".join(DEV.format(eth0=n, net1=n, words=0).splitlines()[:5])) for n in (0, 10**9)]
    assert bare[0] is not None
    assert bare[1] is not None
    [found] = told(bare[1], bare[0])
    assert found.message == "in 5 s eth0 received 200 MB/s and sent 200 MB/s; net1 received 200 MB/s and sent 200 MB/s"
