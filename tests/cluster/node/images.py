"""The images that pods run: a training program under Python, beside each shell of such images."""

import functools
import shutil
import subprocess
from pathlib import Path

from .archive import Content, Image, docker_archive, layer, python, with_libraries

PAUSE = "fabric-injector.test/pause:1"
DASH = "fabric-injector.test/trainer:dash"
ASH = "fabric-injector.test/trainer:ash"
BASH = "fabric-injector.test/trainer:bash"
NO_SHELL = "fabric-injector.test/trainer:no-shell"
NCCL_CONF = "NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=eth0"
"""The trainers' own /etc/nccl.conf, whose last line does not end, as people leave it."""
NSLOOKUP = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))\n"
"""As in alpine:3.10; busybox's newer one fails for the rest of the search list."""
TORCHRUN = "import sys; sys.path.append('/app'); import train; sys.exit(train.torchrun())\n"


@functools.cache
def archive() -> bytes:
    """Write them as one archive. Each trainer's `sh` is its tag; all but ash's have bash too."""
    tools = ("dash", "bash", "sleep", "seq", "cat", "getent")
    debian, busybox = with_libraries(*map(_program, tools)), _program("busybox")
    listed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True)
    applets = {f"bin/{name}": str(busybox) for name in listed.stdout.split() if name != "busybox"}
    shells = {
        DASH: layer({**debian, "bin/sh": str(_program("dash"))}),
        BASH: layer({**debian, "bin/sh": str(_program("bash"))}),
        ASH: layer({**with_libraries(busybox), **applets}),
    }
    own: dict[str, Content] = {
        "app/train.py": Path(__file__).parent / "image" / "train.py",
        "usr/local/bin/ip": _program("ip").resolve(),  # before busybox's
        "etc/nccl.conf": NCCL_CONF.encode(),
        "etc/passwd": b"root:x:0:0::/root:/bin/sh\ntrainer:x:1000:1000::/tmp:/bin/sh\n",
    }
    programs = python(torchrun=TORCHRUN, nslookup=NSLOOKUP)
    trainer = layer({**programs, **with_libraries(_program("ip")), **own})
    pause = Image(PAUSE, (layer(debian),), (str(_program("sleep")), "infinity"))
    images = (Image(name, (trainer, shell)) for name, shell in shells.items())
    return docker_archive((pause, Image(NO_SHELL, (trainer,)), *images))


def _program(name: str) -> Path:
    found = shutil.which(name)
    assert found is not None, f"{name} is not on PATH"
    return Path(found)
