"""The images that pods run: a training program under Python, beside each shell of such images."""

import functools
import shutil
import subprocess
from pathlib import Path

from .archive import Image, docker_archive, layer, python, with_libraries

PAUSE = "fabric-injector.test/pause:1"
DASH = "fabric-injector.test/trainer:dash"
ASH = "fabric-injector.test/trainer:ash"
BASH = "fabric-injector.test/trainer:bash"
NO_SHELL = "fabric-injector.test/trainer:no-shell"
NCCL_CONF = "NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=eth0"
"""The trainers' own /etc/nccl.conf, whose last line does not end, as people leave it."""
NSLOOKUP = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))\n"
"""Succeeds once the name does, as nslookup does in the training operator's alpine:3.10; busybox's
newer one fails for the rest of the search list."""
TORCHRUN = "import sys; sys.path.append('/app'); import train; sys.exit(train.torchrun())\n"


@functools.cache
def archive() -> bytes:
    """Write all of them as one archive.

    Each trainer's `sh` is the shell of its tag; `dash` and `bash` have bash, as Debian has.
    """
    tools = ("dash", "bash", "sleep", "seq", "cat", "getent")
    debian, busybox = with_libraries(*map(_program, tools)), _program("busybox")
    listed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True)
    applets = {f"bin/{name}": str(busybox) for name in listed.stdout.split() if name != "busybox"}
    shells = {
        DASH: layer(debian, {"bin/sh": str(_program("dash"))}),
        BASH: layer(debian, {"bin/sh": str(_program("bash"))}),
        ASH: layer(with_libraries(busybox), applets),
    }
    trainer = _trainer()
    pause = Image(PAUSE, (layer(debian),), (str(_program("sleep")), "infinity"))
    images = (Image(name, (trainer, shell)) for name, shell in shells.items())
    return docker_archive((pause, Image(NO_SHELL, (trainer,)), *images))


def _trainer() -> bytes:
    files, interpreter = python()
    first = f"#!{interpreter}\n"
    own: dict[str, Path | bytes] = {
        "app/train.py": Path(__file__).parent / "image" / "train.py",
        **with_libraries(_program("ip")),
        "usr/local/bin/ip": _program("ip").resolve(),  # before busybox's
        "usr/local/bin/torchrun": f"{first}{TORCHRUN}".encode(),
        "usr/local/bin/nslookup": f"{first}{NSLOOKUP}".encode(),
        "etc/nccl.conf": NCCL_CONF.encode(),
        "etc/passwd": b"root:x:0:0::/root:/bin/sh\ntrainer:x:1000:1000::/tmp:/bin/sh\n",
    }
    return layer(files | own, {"usr/local/bin/python": interpreter})


def _program(name: str) -> Path:
    found = shutil.which(name)
    assert found is not None, f"{name} is not on PATH"
    return Path(found)
