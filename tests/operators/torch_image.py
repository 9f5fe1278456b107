"""An image with PyTorch, from PyPI's wheel, beside this Python and bash; without CUDA's libraries, which only a GPU needs."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.apiserver.assets import AssetsUnavailable, cache_folder
from tests.node.archive import Image, docker_archive, layer, python, with_libraries

from .cuda_stubs import write_stubs

PROGRAMS = Path(__file__).parent / "image"
NEEDED = ("filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools")
"""What torch imports besides CUDA's packages, which are 2 GB."""
SHELLS = ("bash", "sleep", "cat", "env", "sh")
LEFT_OUT = ("include", "test", "share")
PLACE = "opt/torch"


class NoWheel(Exception):
    """PyPI has no wheel of this version of torch for this Python and machine; the message names it."""


def torch_archive(name: str, folder: Path) -> bytes:
    """Give the archive of an image of this name with the torch that is installed in the folder."""
    found, interpreter = python()
    files: dict[str, Path | bytes] = {**found}
    modules = list(folder.rglob("*.so*"))
    files |= {name: path for name, path in with_libraries(*modules).items() if not path.is_relative_to(folder)}
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.is_file() and not (parts[0] == "torch" and parts[1] in LEFT_OUT):
            files[f"{PLACE}/{path.relative_to(folder)}"] = path
    standard_library = sysconfig.get_path("stdlib").lstrip("/")
    files[f"{standard_library}/sitecustomize.py"] = f"import site\nsite.addsitedir('/{PLACE}')\n".encode()
    files["app/train.py"] = (PROGRAMS / "train.py").read_bytes()
    files["usr/local/bin/torchrun"] = f"#!{interpreter}\nfrom torch.distributed.run import main\nmain()\n".encode()
    files["etc/passwd"] = b"root:x:0:0::/root:/bin/bash\n"
    files |= with_libraries(*(Path(place) for name in SHELLS if (place := shutil.which(name))))
    links = {"usr/local/bin/python": interpreter, "usr/local/bin/python3": interpreter}
    return docker_archive((Image(name, (layer(files, links),)),))


def torch_installed(version: str) -> Path:
    """Give the folder with this version of torch, from PyPI, kept in the user's cache; raise NoWheel, AssetsUnavailable."""
    tag = sys.implementation.cache_tag
    folder = cache_folder() / "torch" / f"{version}-{tag}"
    if folder.is_dir():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    numpy = "numpy<2" if _numbers(version) < (2, 3) else "numpy"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for arguments in (["--no-deps", f"torch=={version}"], [*NEEDED, numpy]):
        done = subprocess.run([*pip, "--target", str(partial), *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            message = f"torch {version}: {done.stderr.strip().splitlines()[-1]}"
            raise NoWheel(message) if "No matching distribution found" in message else AssetsUnavailable(message)
    write_stubs(partial / "torch" / "lib")
    partial.rename(folder)
    return folder


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
