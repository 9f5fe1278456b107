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
PYTHON = str(Path(sys.executable).resolve())

Content = Path | bytes | str
"""A file of this machine, what a file holds, or the target of a link."""


class Image(NamedTuple):
    """A name, layers from the bottom up, and what the image runs by default."""

    name: str
    layers: tuple[bytes, ...]
    entrypoint: tuple[str, ...] = ()
    user: str = ""


def layer(files: Mapping[str, Content]) -> bytes:
    """Give a layer with the files, executable for all, and the usual folders."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in {**dict.fromkeys(FOLDERS), **files}.items():
            if isinstance(content, Path):
                tar.add(content, name, filter=_executable)
                continue
            data = content if isinstance(content, bytes) else b""
            entry = _executable(tarfile.TarInfo(name))
            entry.size = len(data)
            if content is None:
                entry.type = tarfile.DIRTYPE
            elif isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _executable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode = 0o1777 if entry.name == "tmp" else 0o755
    return entry


def with_libraries(*programs: Path) -> dict[str, Path]:
    """Give the programs or modules, and the libraries that they load, by their paths here."""
    files = {str(program).lstrip("/"): program.resolve() for program in programs}
    for program in programs:
        listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
        for path in re.findall(r"(?:=> |^\s*)(/\S+) \(0x", listed, re.MULTILINE):
            files[path.lstrip("/")] = Path(path).resolve()
    return files


def python(**scripts: str) -> dict[str, Content]:
    """Give the files of this interpreter and its standard library, and scripts that it runs."""
    library = Path(sysconfig.get_path("stdlib"))
    found = (path for path in library.rglob("*") if not LEFT_OUT & {*path.parts})
    kept = [path for path in found if path.suffix in (".py", ".pyc", ".so")]
    files: dict[str, Content] = {str(path).lstrip("/"): path for path in kept}
    files |= with_libraries(Path(PYTHON), *(path for path in kept if path.suffix == ".so"))
    files |= dict.fromkeys(("usr/local/bin/python", "usr/local/bin/python3"), PYTHON)
    for name, text in scripts.items():
        files[f"usr/local/bin/{name}"] = f"#!{PYTHON}\n{text}".encode()
    return files


def docker_archive(images: tuple[Image, ...]) -> bytes:
    """Write the images, which may share layers, as `docker save` would."""
    files: dict[str, Content] = {}
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
        files[name := hashlib.sha256(config).hexdigest()] = config
        manifest.append({"Config": name, "RepoTags": [image.name], "Layers": digests})
    files["manifest.json"] = json.dumps(manifest).encode()
    return layer(files)
