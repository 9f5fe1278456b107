"""Container images without a registry: programs of this machine, as one docker archive."""

import hashlib
import io
import json
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
FOLDERS = ("bin", "etc", "dev", "proc", "sys", "root", "var", "tmp")
LEFT_OUT = {"test", "tests", "idlelib", "ensurepip", "lib2to3", "turtledemo", "tkinter"}
LEFT_OUT |= {"site-packages", "dist-packages"}


class Image(NamedTuple):
    """A name, layers from the bottom up, and what the image runs by default."""

    name: str
    layers: tuple[bytes, ...]
    entrypoint: tuple[str, ...] = ()
    user: str = ""


def layer(files: Mapping[str, Path | bytes], links: Mapping[str, str] | None = None) -> bytes:
    """Give a layer with files, executable for all, the usual folders, and links name -> target."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in FOLDERS:
            _add(tar, name, kind=tarfile.DIRTYPE)
        for name, content in files.items():
            if isinstance(content, Path):
                tar.add(content, name, filter=_executable)
            else:
                _add(tar, name, content)
        for name, target in (links or {}).items():
            _add(tar, name, kind=tarfile.SYMTYPE, target=target)
    return buffer.getvalue()


def _executable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode = 0o1777 if entry.name == "tmp" else 0o755
    return entry


def _add(
    tar: tarfile.TarFile,
    name: str,
    data: bytes = b"",
    kind: bytes = tarfile.REGTYPE,
    target: str = "",
) -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size = kind, target, len(data)
    tar.addfile(_executable(entry), io.BytesIO(data))


def with_libraries(*programs: Path) -> dict[str, Path]:
    """Give the programs or modules, and the libraries that they load, by their paths here."""
    files = {str(program).lstrip("/"): program.resolve() for program in programs}
    for program in programs:
        listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
        for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", listed, re.MULTILINE):
            files[path.lstrip("/")] = Path(path).resolve()
    return files


def python() -> tuple[dict[str, Path], str]:
    """Give the files of this interpreter and its standard library, and the interpreter's path."""
    interpreter, library = Path(sys.executable).resolve(), Path(sysconfig.get_path("stdlib"))
    found = (path for path in library.rglob("*") if not LEFT_OUT & {*path.parts})
    kept = [path for path in found if path.suffix in (".py", ".pyc", ".so")]
    modules = (path for path in kept if path.suffix == ".so")
    files = with_libraries(interpreter, *modules)
    return files | {str(path).lstrip("/"): path for path in kept}, str(interpreter)


def docker_archive(images: tuple[Image, ...]) -> bytes:
    """Write the images, which may share layers, as `docker save` would."""
    files: dict[str, Path | bytes] = {}
    manifest = []
    for image in images:
        digests = [hashlib.sha256(content).hexdigest() for content in image.layers]
        files |= zip(digests, image.layers, strict=True)
        settings = {
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
            "WorkingDir": "/app",
            "Entrypoint": image.entrypoint,
            "User": image.user,
        }
        layers = {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]}
        machine = {"architecture": MACHINES[platform.machine()], "os": "linux"}
        config = json.dumps({**machine, "config": settings, "rootfs": layers}).encode()
        name = hashlib.sha256(config).hexdigest()
        files[name] = config
        manifest.append({"Config": name, "RepoTags": [image.name], "Layers": digests})
    files["manifest.json"] = json.dumps(manifest).encode()
    return layer(files)
