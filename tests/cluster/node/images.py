"""The images that pods of these tests run: a training program under Python, beside each POSIX shell that training images hold."""

import shutil
import subprocess
from pathlib import Path

from .archive import Image, docker_archive, layer, python, with_libraries

PROGRAMS = Path(__file__).parent / "image"
PAUSE = "fabric-injector.test/pause:1"
DASH = "fabric-injector.test/trainer:dash"
ASH = "fabric-injector.test/trainer:ash"
BASH = "fabric-injector.test/trainer:bash"
NO_SHELL = "fabric-injector.test/trainer:no-shell"
NCCL_CONF = "NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME=eth0"
"""The trainers' own /etc/nccl.conf, whose last line does not end, as people leave it."""
NSLOOKUP = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))\n"
"""Succeeds once the name does, as nslookup does in the training operator's alpine:3.10; busybox's newer one fails for the rest
of the search list."""


def archive() -> bytes:
    """Write all of them as one archive. Each trainer's `sh` is the shell of its tag; `dash` and `bash` have bash, as Debian has."""
    base, ash, sleep = layer(*_trainer()), layer(*_busybox()), _program("sleep")
    return docker_archive(
        (
            Image(PAUSE, (layer(with_libraries(sleep)),), (str(sleep), "infinity")),
            Image(DASH, (base, layer(*_shells("dash")))),
            Image(BASH, (base, layer(*_shells("bash")))),
            Image(ASH, (base, ash)),
            Image(NO_SHELL, (base,)),
        )
    )


def _trainer() -> tuple[dict[str, Path | bytes], dict[str, str]]:
    interpreter_files, interpreter = python()
    files: dict[str, Path | bytes] = {**interpreter_files}
    files["app/train.py"] = PROGRAMS / "train.py"
    torchrun = (PROGRAMS / "torchrun.py").read_bytes()
    files["usr/local/bin/torchrun"] = f"#!{interpreter}\n".encode() + torchrun
    files["usr/local/bin/nslookup"] = f"#!{interpreter}\n{NSLOOKUP}".encode()
    files["etc/nccl.conf"] = NCCL_CONF.encode()
    files["etc/passwd"] = b"root:x:0:0::/root:/bin/sh\ntrainer:x:1000:1000::/tmp:/bin/sh\n"
    return files, {"usr/local/bin/python": interpreter}


def _shells(name: str) -> tuple[dict[str, Path | bytes], dict[str, str]]:
    programs = ("dash", "bash", "sleep", "seq", "cat", "getent")
    files = with_libraries(*(_program(program) for program in programs))
    return {**files}, {"bin/sh": str(_program(name))}


def _busybox() -> tuple[dict[str, Path | bytes], dict[str, str]]:
    busybox = _program("busybox")
    listed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True)
    applets = (applet for applet in listed.stdout.split() if applet != "busybox")
    return {**with_libraries(busybox)}, {f"bin/{applet}": str(busybox) for applet in applets}


def _program(name: str) -> Path:
    found = shutil.which(name)
    assert found is not None, f"{name} is not on PATH"
    return Path(found)
