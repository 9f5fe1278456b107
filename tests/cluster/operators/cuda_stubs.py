"""A library that stands in for CUDA's, so that PyPI's torch can be imported where there is none.

PyPI has no wheel of torch for Linux without CUDA, and CUDA's own wheels are 2 GB only to be loaded.
Every function here answers 35, cudaErrorInsufficientDriver: torch then finds no GPU, and all that
runs on the CPU works, gloo and torchrun with it.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

OF_OTHERS = re.compile("_?Py|_Z")
"""Symbols of Python, and of C++: torch's own libraries miss some of each other's."""


def write_stubs(folder: Path) -> None:
    """Write a library with all that the folder's libraries miss, by the names that they want."""
    libraries = [str(path) for path in folder.glob("*.so*") if path.is_file()]
    told = subprocess.run(["ldd", "-r", *libraries], capture_output=True, text=True)
    missing = set(re.findall(r"(\S+) => not found", told.stdout))
    functions: dict[str, set[str]] = defaultdict(set)
    symbols = re.compile(r"undefined symbol: (\w+)(?:, version (\S+))?")
    for name, version in symbols.findall(told.stdout + told.stderr):
        if not OF_OTHERS.match(name):
            functions[version].add(name)
    if not functions:
        return
    source, versions = folder / "stub.c", folder / "stub.map"
    names = set().union(*functions.values())
    source.write_text("".join(f"int {name}(void) {{ return 35; }}\n" for name in sorted(names)))
    exports = {version: "; ".join(group) for version, group in functions.items() if version}
    lines = (f"{version} {{ global: {group}; }};\n" for version, group in exports.items())
    versions.write_text("".join(lines))
    script, target = f"-Wl,--version-script={versions}", folder / "libstub.so"
    gcc = ("gcc", "-shared", "-fPIC", "-fno-builtin", "-w", script, "-o", str(target), str(source))
    subprocess.run(gcc, check=True)
    for name in missing:
        (folder / name).symlink_to(target.name)
