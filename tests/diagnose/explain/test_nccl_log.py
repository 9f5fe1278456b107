"""What is read of NCCL's and RCCL's lines, in the formats of their versions and around them."""

from __future__ import annotations

import pytest

from tests import ROOT
from webhook.diagnose.explain.nccl_log import NcclLog, Sign, read_log

FOLDER = ROOT / "tests" / "fixtures" / "nccl"


def read(name: str) -> NcclLog:
    return read_log([(FOLDER / f"{name}.log").read_bytes()])


@pytest.mark.parametrize(
    ("name", "chosen", "channels"),
    [
        ("2.18-socket", ["Socket"], {"Socket": ["eth0"]}),
        ("2.21-roce", ["IB"], {"IB": ["mlx5_2", "mlx5_3"]}),
        ("2.23-hpcx-merged", ["IBext_v8"], {"IBext_v8": ["mlx5_0", "mlx5_1"]}),
        ("2.28-ib", ["IB"], {}),
        ("2.28-socket", ["Socket"], {"Socket": ["net1"]}),
        ("2.31-efa", ["Libfabric"], {"Libfabric": []}),
        ("2.32-ib", ["IB"], {"IB": ["mlx5_3"]}),
        ("efa", ["AWS Libfabric"], {"AWS Libfabric": []}),
        ("rccl", ["IB"], {"IB": ["bnxt_re1"]}),
        ("one-node", ["Socket"], {}),
    ],
)
def test_networks_and_the_devices_of_channels(
    name: str, chosen: list[str], channels: dict[str, list[str]]
) -> None:
    log = read(name)
    assert list(log.chosen) == chosen
    assert {network: list(named) for network, named in log.channels.items()} == channels


def test_a_hostile_log_names_no_end_of_networks() -> None:
    start = "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET"
    lines = (f"{start}/N{number}/0" for number in range(80))
    assert len(read_log(["\n".join(lines).encode()]).channels) == 64


def test_where_the_ranks_meet_is_not_what_they_train_over() -> None:
    log = read("bootstrap")
    assert not log.tells


def test_settings_and_signs() -> None:
    assert read("2.28-ib").settings == {"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": "mlx5_0"}
    assert read("2.21-roce").settings["NCCL_SOCKET_IFNAME"] == "=net1"
    assert set(read("2.18-socket").signs) == {Sign.NO_DEVICE, Sign.NO_PLUGIN}
    assert set(read("efa-missing").signs) == {Sign.NO_DEVICE, Sign.NO_PROVIDER}
    assert set(read("memlock").signs) == {Sign.LOCKED_MEMORY}
    assert set(read("unconnected").signs) == set(read("2.32-ib").signs) == {Sign.UNCONNECTED}
    assert list(read("efa").providers) == list(read("2.31-efa").providers) == ["efa"]
    assert (read("2.21-roce").nodes, read("one-node").nodes) == (2, 1)


def test_gpudirect_is_told_where_all_channels_have_it() -> None:
    assert read("2.21-roce").is_direct
    assert read("2.31-efa").is_direct
    assert read("2.32-ib").is_direct
    assert not read("2.23-hpcx-merged").is_direct


@pytest.mark.parametrize(
    "written",
    [
        "{}",
        "[rank0]: {}",
        "[default0]:{}",
        "[1,0]<stdout>:{}",
        "bert-master-0: {}",
        "2026-11-21T11:42:10.123456789Z {}",
        "\x1b[36m[pod/bert-master-0/pytorch]\x1b[0m {}",
        "2026-11-21 11:42:10,991 | INFO | {}",
    ],
)
def test_what_stands_before_a_line_is_passed_over(written: str) -> None:
    lines = (FOLDER / "2.28-socket.log").read_text().splitlines()
    log = read_log(["\n".join(map(written.format, lines)).encode()])
    assert list(log.channels["Socket"]) == ["net1"]


def test_lines_may_be_cut_coloured_mixed_and_behind_a_progress_bar() -> None:
    text = (
        b"ket : Using [0]eth9:10.0.0.1<0>\n"
        b"\r 12%|###   | 3/24\rhost:5:6 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>"
        b"host:7:8 [1] NCCL INFO NET/Socket : Using [0]net1:10.0.0.2<0>\n"
        b"host:5:6 [0] NCCL \x1b[0mINFO Using network Socket"
        b"host:7:8 [1] NCCL INFO Using network Socket\n"
        b"host:7:8 [1] NCCL INFO Channel 00 : 0[b01000] -> 4[201000] [send] via NET/Socket/0\n"
        b"host:5:6 [0] NCCL INFO Channel 01/0 : 0[0] -> 4[0] [send] via NET/Sock"
    )
    log = read_log([text])
    assert list(log.interfaces) == ["eth0", "net1"]
    assert list(log.chosen) == ["Socket"]
    assert list(log.channels) == ["Socket"]


@pytest.mark.parametrize(
    "hostile",
    [
        b"NCCL INFO " * 50_000,
        b"a" * 250_000 + b":1:2 [0] NCCL INFO Channel 0 : " + b"via NET/" * 30_000,
        b"NCCL INFO NET/IB : Using " + b"[1]a:1/IB" * 60_000,
        b"NCCL INFO NET/IB : Using [0]={" + b"[0] a:1/" * 60_000,
        b"\n".join(b"h:1:2 [0] NCCL INFO Using network n%d" % number for number in range(20_000)),
        b"\n".join(
            b"h:%d:1 [0] NCCL INFO Channel 0 : via NET/n%d/1" % (number, number)
            for number in range(20_000)
        ),
        b"\x1b[" * 200_000 + b"NCCL",
        bytes(range(256)) * 2_000 + b"NCCL INFO Using network \x07\x1b]0;x\x07",
        b"NCCL WARN NET/OFI " * 30_000,
        b"Gloo [Gloo] Rank " + b"9" * 400_000,
    ],
)
def test_hostile_content_is_bounded(hostile: bytes) -> None:
    log = read_log([hostile, b"\nhost:1:2 [0] NCCL INFO NET/IB : No device found.\n"])
    assert Sign.NO_DEVICE in log.signs
    assert max(len(log.chosen), len(log.channels), len(log.devices), len(log.settings)) <= 64
    assert all(name.isprintable() for name in (*log.chosen, *log.channels, *log.devices))


def test_what_no_process_wrote_is_a_quotation() -> None:
    quoted = b"config: NCCL INFO Using network Socket # NET/Socket\n"
    own = b"bert-worker-1:31:48 [0] NCCL INFO Using network IB\n"
    assert list(read_log([quoted, own]).chosen) == ["IB"]


_SOCKETS = "NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.0.0.1<0>"


@pytest.mark.parametrize(
    "last",
    [
        "Using network Sock",
        "Using network Socketepoch 1\n",
        "Using network IB is what we want\n",
        "Channel 00/0 : 0[0] -> 8[0] [send] via NET\n",
    ],
)
def test_a_choice_or_channel_that_is_cut_or_mixed_with_other_text_is_none(last: str) -> None:
    text = "\n".join(f"bert-master-0:12:40 [0] NCCL INFO {each}" for each in (*_SOCKETS, last))
    assert not read_log([text.encode()]).tells
