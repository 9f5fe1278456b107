"""Environment: what NCCL and Gloo read of their variables; the step's rows are in ``steps/``."""

from webhook.core.injection.environment import disables_rdma, gloo_may_use, nccl_may_use

MAY = "net1 net =net1 =net1,eth0 =eth0,net1 eth,net ^lo ^lo,docker ^=net ^=net10 net1:4000 x ,,"
MAY_NOT = "=net eth0 net10 eth0,=net1 ^lo,net ^=net1 eth0:4000 ^,"
ON = ["", "0", "00", "0x0", "0x", "08", "true", "yes", "-0"]


def test_reads_the_lists_of_nccl_and_gloo() -> None:
    assert [value for value in ("", *MAY.split()) if not nccl_may_use(value, "net1")] == []
    assert [value for value in MAY_NOT.split() if nccl_may_use(value, "net1")] == []
    assert [value for value in ("", "net1", "eth0,net1") if not gloo_may_use(value, "net1")] == []
    assert [
        value for value in ("net", "=net1", "^lo", "net10") if gloo_may_use(value, "net1")
    ] == []


def test_tells_values_with_which_nccl_uses_no_rdma() -> None:
    off = ("1", " 1", "+2", "-1", "0x1", "010", "1abc", "9")
    assert [value for value in off if not disables_rdma("NCCL_IB_DISABLE", value)] == []
    assert [value for value in ON if disables_rdma("NCCL_IB_DISABLE", value)] == []
    sockets = ("Socket", "socket", "SOCKET")
    assert [value for value in sockets if not disables_rdma("NCCL_NET", value)] == []
    others = ("", "IB", "Socket ", "AWS Libfabric")
    assert [value for value in others if disables_rdma("NCCL_NET", value)] == []
