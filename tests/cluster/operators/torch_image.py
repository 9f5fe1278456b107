"""An image with PyTorch, from PyPI's wheel, beside this Python and bash; without CUDA."""

import shutil
import sys
import sysconfig
from pathlib import Path

from packaging.version import Version

from tests.cluster.assets import AssetsUnavailable, cache_folder, run
from tests.cluster.node.archive import Image, docker_archive, layer, python, with_libraries
from tests.cluster.node.images import NSLOOKUP

from .cuda_stubs import write_stubs

PROGRAMS = Path(__file__).parent / "image"
NEEDED = ("filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools")
"""What torch imports besides CUDA's packages, which are 2 GB."""
SERVERS = ("pyzmq", "grpcio", "python-etcd")
"""What the stand-ins for servers of models, and torch's etcd rendezvous, import."""
SHELLS = ("bash", "sleep", "cat", "env", "sh", "true", "grep", "cut", "getent", "etcd")
LEFT_OUT = ("include", "test", "share")
PLACE = "opt/torch"


class NoWheel(Exception):
    """PyPI has no wheel of this torch for this Python and machine; the message names it."""


def torch_archive(name: str, version: str) -> bytes:
    """Give an image with this version of torch, and SERVERS; raise NoWheel, AssetsUnavailable."""
    numpy = "numpy<2" if Version(version) < Version("2.3") else "numpy"
    torch = [["--no-deps", f"torch=={version}"], [*NEEDED, numpy]]
    torchrun = "from torch.distributed.run import main\nmain()\n"
    files = python(torchrun=torchrun, nslookup=NSLOOKUP)
    for folder in (_installed(f"torch/{version}", *torch), _installed("torch/servers", [*SERVERS])):
        libraries = with_libraries(*folder.rglob("*.so*"))
        files |= {k: path for k, path in libraries.items() if not path.is_relative_to(folder)}
        for path in folder.rglob("*"):
            parts = path.relative_to(folder).parts
            if path.is_file() and not (parts[0] == "torch" and parts[1] in LEFT_OUT):
                files[f"{PLACE}/{path.relative_to(folder)}"] = path
    customize = f"{sysconfig.get_path('stdlib')}/sitecustomize.py".lstrip("/")
    files[customize] = f"import site\nsite.addsitedir('/{PLACE}')\n".encode()
    files |= {f"app/{path.name}": path for path in PROGRAMS.glob("*.py")}
    files["etc/passwd"] = b"root:x:0:0::/root:/bin/bash\n"
    files |= with_libraries(*(Path(place) for name in SHELLS if (place := shutil.which(name))))
    return docker_archive((Image(name, (layer(files),)),))


def _installed(name: str, *steps: list[str]) -> Path:
    folder = cache_folder() / f"{name}-{sys.implementation.cache_tag}"
    if folder.is_dir():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        for arguments in steps:
            run([*pip, "--target", str(partial), *arguments])
    except AssetsUnavailable as problem:
        if "No matching distribution found" in str(problem):
            raise NoWheel(str(problem)) from None
        raise
    if (libraries := partial / "torch" / "lib").is_dir():
        write_stubs(libraries)
    partial.rename(folder)
    return folder
