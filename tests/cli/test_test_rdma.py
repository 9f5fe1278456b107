"""RDMA between the ranks of a test: what perftest writes, which port it is given, and its two sides.

The latter run stand-ins for perftest, scripts that write its table and carry nothing over RDMA: there is no such hardware here.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from webhook.cli import test_rank, test_rdma
from webhook.cli.test_rdma import BANDWIDTH, LATENCY, RdmaPort, choose_port, last_line, parse

RULE = "---------------------------------------------------------------------------------------"
WRITE_BW = f"""{RULE}
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Mtu             : 4096[B]
 Link type       : Ethernet
 GID index       : 4
{RULE}
 local address: LID 0000 QPN 0x008a PSN 0xfffb6d RKey 0x238f86 VAddr 0x007dd5a3cfd000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:06:116
{RULE}
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 1500.000000 != 3300.016000. CPU Frequency is not max.
 65536      560845           0.00               98.02  \t\t     0.186950
{RULE}
"""
WRITE_BW_MB = """ #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1024       1000             0.00               920.13 \t\t   0.942218
"""
PERCENTILES = "99% percentile[usec]   99.9% percentile[usec]"
READ_LAT = f""" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   {PERCENTILES}
Conflicting CPU frequency values detected: 2400.000000 != 1873.463000. CPU Frequency is not max.
 2       1000          1.76           6.12         1.79                1.80             0.06            1.88                    6.12
{RULE}
"""
FORMER_LAT = """------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]
 2       1000          1.21           5.40         1.25
------------------------------------------------------------------
"""
REFUSED = """Couldn't connect to 192.168.125.211:18515
Unable to open file descriptor for socket connection Unable to init the socket connection
"""
NO_MEMORY = f"{RULE}\nCouldn't allocate MR\nfailed to create mr\nFailed to create MR\n{RULE}\n"


@pytest.mark.parametrize(
    ("tool", "output", "figure"),
    [
        (BANDWIDTH, WRITE_BW, 98.02),
        (BANDWIDTH, WRITE_BW_MB, 920.13 * 8 * (1 << 20) / 1e9),
        (LATENCY, READ_LAT, 1.79),
        (LATENCY, FORMER_LAT, 1.25),
        (BANDWIDTH, READ_LAT, None),
        (BANDWIDTH, REFUSED, None),
        (BANDWIDTH, NO_MEMORY, None),
        (BANDWIDTH, "#bytes BW average[furlongs]\n1 2\n", None),
        (BANDWIDTH, "", None),
    ],
)
def test_tables_of_perftest(tool: str, output: str, figure: float | None) -> None:
    """As its users have written them into reports, of several versions."""
    found = parse(tool, output)
    assert found == (None if figure is None else pytest.approx(figure))


def test_the_last_line_is_no_rule() -> None:
    assert last_line(NO_MEMORY) == "Failed to create MR"
    assert last_line("") == ""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Write what the kernel shows of three devices; the container may open the last two."""
    for number in range(3):
        verbs, name = tmp_path / f"class/infiniband_verbs/uverbs{number}", f"mlx5_{number}"
        port = tmp_path / f"class/infiniband/{name}/ports/1"
        for folder in (verbs, port / "gids", port / "gid_attrs/types"):
            folder.mkdir(parents=True)
        (verbs / "ibdev").write_text(f"{name}\n")
        (port / "state").write_text("4: ACTIVE\n")
        gids = ["fe80:0000:0000:0000:0000:0000:0000:0001", *[f"0000:0000:0000:0000:0000:ffff:0a09:000{number}"] * 2]
        for index, (gid, kind) in enumerate(zip(gids, ("RoCE v2", "IB/RoCE v1", "RoCE v2"), strict=True)):
            (port / f"gids/{index}").write_text(gid + "\n")
            (port / f"gid_attrs/types/{index}").write_text(kind + "\n")
    (tmp_path / "dev/infiniband").mkdir(parents=True)
    for number in (1, 2):
        (tmp_path / f"dev/infiniband/uverbs{number}").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("address", "environ", "expected"),
    [
        ("10.9.0.2", {}, RdmaPort("mlx5_2", 1, 2)),
        ("10.9.0.0", {}, RdmaPort("mlx5_1", 1, None)),
        ("10.8.0.1", {"NCCL_IB_GID_INDEX": "5"}, RdmaPort("mlx5_1", 1, 5)),
        ("10.9.0.2", {"NCCL_IB_HCA": "^mlx5_2"}, RdmaPort("mlx5_1", 1, None)),
        ("10.8.0.1", {"NCCL_IB_HCA": "=mlx5_2:1"}, RdmaPort("mlx5_2", 1, None)),
        ("10.8.0.1", {"NCCL_IB_HCA": "^=mlx5_1,mlx5_2:2"}, RdmaPort("mlx5_2", 1, None)),
        ("10.8.0.1", {"NCCL_IB_HCA": "=mlx5"}, None),
        ("no address", {"NCCL_IB_HCA": "mlx5_2:2"}, None),
    ],
)
def test_the_port_of_the_fabric(system: Path, address: str, environ: dict[str, str], expected: RdmaPort | None) -> None:
    assert choose_port(address, environ, system, system / "dev") == expected


STAND_IN = """#!{python}
# A stand-in for perftest: listens or connects as it does, and writes its table. It measures nothing.
import socket, sys
words = sys.argv[1:]
assert words[:6] == ["-d", "mlx5_2", "-i", "1", "-x", "2"], words
port = int(words[words.index("-p") + 1])
if words[-1].count(".") == 3:
    try:
        socket.create_connection((words[-1], port), timeout=5).close()
    except OSError:
        print(f"Couldn't connect to {{words[-1]}}:{{port}}")
        sys.exit(1)
else:
    with socket.create_server(("127.0.0.1", port)) as server:
        server.accept()[0].close()
print({output!r})
sys.exit({status})
"""


def stand_in(folder: Path, tool: str, output: str, status: int = 0) -> None:
    file = folder / tool
    file.write_text(STAND_IN.format(python=sys.executable, output=output, status=status))
    file.chmod(0o755)


def meet(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, object]:
    """Let two ranks meet on the loopback, with these programs on PATH; return what is said of RDMA."""
    ports = []
    for _ in range(2):
        with socket.create_server(("127.0.0.1", 0)) as free:
            ports.append(free.getsockname()[1])
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(test_rank, "_BULK_SECONDS", 0.05)
    monkeypatch.setattr(test_rdma, "choose_port", lambda _: RdmaPort("mlx5_2", 1, 2))
    command = test_rdma._command
    monkeypatch.setattr(test_rdma, "_command", lambda tool, address, _: command(tool, address, ports[1]))
    deadline = time.monotonic() + 60
    zero = threading.Thread(target=test_rank.serve, args=(1, deadline, "", ports[0]))
    zero.start()
    found = test_rank.meet(1, "127.0.0.1", deadline, ports[0])
    zero.join()
    assert "problem" not in found["met"]
    rdma: dict[str, object] = found.get("rdma", {})
    return rdma


def test_both_sides_run_and_what_they_write_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, BANDWIDTH, WRITE_BW)
    stand_in(tmp_path, LATENCY, READ_LAT)
    assert meet(monkeypatch, tmp_path) == {"device": "mlx5_2", "gbits": 98.02, "micros": 1.79}


def test_what_fails_is_told_in_the_words_of_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, BANDWIDTH, NO_MEMORY, 1)
    found = meet(monkeypatch, tmp_path)
    assert found["problem"] == "ib_write_bw: Failed to create MR; at rank 0: Failed to create MR"


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Failed to modify QP 1 to RTR", True),
        (" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81", True),
        (NO_MEMORY, False),
        ("Couldn't get context for the device", False),
        ("libibverbs: open: Permission denied", False),
    ],
)
def test_what_ran_and_failed_is_told_from_what_lacked_access(
    output: str, failed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, BANDWIDTH, output, 1)
    assert meet(monkeypatch, tmp_path)["failed"] is failed


ENDS_AT_ONCE = "print('ib_write_bw: error while loading shared libraries: libibverbs.so.1')\nsys.exit(127)"
WAITS = "import time\nprint('* Waiting for client to connect... *', flush=True)\ntime.sleep(600)"


@pytest.mark.parametrize(
    ("server", "failed", "told"), [(ENDS_AT_ONCE, False, "libibverbs.so.1"), (WAITS, True, "not done after")]
)
def test_a_pair_that_cannot_connect_is_told_from_a_tool_that_did_not_start(
    server: str, failed: bool, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_rdma, "_SECONDS", 1)
    client = "if words[-1].count('.') == 3:\n    print(\"Couldn't connect to 10.9.0.1:29401\")\n    sys.exit(1)"
    file = tmp_path / BANDWIDTH
    file.write_text(f"#!{sys.executable}\nimport sys\nwords = sys.argv\n{client}\n{server}\n")
    file.chmod(0o755)
    found = meet(monkeypatch, tmp_path)
    assert (found["failed"], told in str(found["problem"])) == (failed, True), found


def test_a_tool_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_rdma, "_SECONDS", 2)
    file = tmp_path / BANDWIDTH
    file.write_text(f"#!{sys.executable}\nimport time\nprint('waits', flush=True)\ntime.sleep(600)\n")
    file.chmod(0o755)
    assert "not done after" in str(meet(monkeypatch, tmp_path)["problem"])


def test_an_image_without_perftest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert meet(monkeypatch, tmp_path) == {}
