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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
    """Give a layer with the files, executable for all, the usual folders, and links name -> target."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in FOLDERS:
            _add(tar, folder, tarfile.DIRTYPE, mode=0o1777 if folder == "tmp" else 0o755)
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.read_bytes()
            changed = 0 if isinstance(content, bytes) else int(content.stat().st_mtime)
            _add(tar, name, tarfile.REGTYPE, data, mtime=changed)
        for name, target in (links or {}).items():
            _add(tar, name, tarfile.SYMTYPE, linkname=target)
    return buffer.getvalue()


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
    interpreter = Path(sys.executable).resolve()
    files = with_libraries(interpreter)
    compiled = f".{sys.implementation.cache_tag}.pyc"
    for path in _standard_library(Path(sysconfig.get_path("stdlib"))):
        if path.suffix == ".so":
            files |= with_libraries(path)
        elif path.suffix == ".py" or path.name.endswith(compiled):
            files[str(path).lstrip("/")] = path
    return files, str(interpreter)


def _standard_library(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif path.is_dir() and path.name not in LEFT_OUT and not path.name.startswith("config-"):
            yield from _standard_library(path)


def docker_archive(images: tuple[Image, ...]) -> bytes:
    """Write the images, which may share layers, as `docker save` would."""
    files: dict[str, bytes] = {}
    manifest = []
    for image in images:
        digests = [hashlib.sha256(content).hexdigest() for content in image.layers]
        for digest, content in zip(digests, image.layers, strict=True):
            files[f"{digest}/layer.tar"] = content
        config = json.dumps(_config(image, digests)).encode()
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        files[name] = config
        layers = [f"{one}/layer.tar" for one in digests]
        manifest.append({"Config": name, "RepoTags": [image.name], "Layers": layers})
    files["manifest.json"] = json.dumps(manifest).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            _add(tar, name, tarfile.REGTYPE, content)
    return buffer.getvalue()


def _config(image: Image, digests: list[str]) -> dict[str, Any]:
    settings = {
        "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
        "WorkingDir": "/app",
        "Entrypoint": list(image.entrypoint),
        "User": image.user,
    }
    return {
        "architecture": MACHINES[platform.machine()],
        "os": "linux",
        "config": settings,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }


def _add(
    tar: tarfile.TarFile, name: str, kind: bytes, data: bytes = b"", **fields: int | str
) -> None:
    entry = tarfile.TarInfo(name)
    values = {"type": kind, "size": len(data), "mode": 0o755, **fields}
    for field, value in values.items():
        setattr(entry, field, value)
    tar.addfile(entry, io.BytesIO(data) if kind == tarfile.REGTYPE else None)
