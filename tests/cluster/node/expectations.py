"""What holds for every job whose data was exchanged by the programs of this node's images."""

from .pods import Report

MIB = 1 << 20
EXCHANGED = 8 * MIB
IDLE_BYTES = 1024
"""What any interface carries: neighbour discovery, ARP. One piece of the data would be 64 KiB."""
IPC_LOCK = 1 << 14


def assert_on_the_fabric(report: Report) -> None:
    """Assert that the data was on net1, and that eth0 carried no more than any idle interface."""
    assert report.carried("net1") > EXCHANGED
    assert report.carried("eth0") < IDLE_BYTES, report.train
