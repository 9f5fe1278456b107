"""Libraries that stand in for CUDA's, so that PyPI's torch can be imported where none of them is.

PyPI has no wheel of torch for Linux without CUDA, and CUDA's own wheels are 2 GB only to be loaded. Every function here answers 35,
cudaErrorInsufficientDriver: torch then finds no GPU, and all that runs on the CPU works, gloo and torchrun with it.
"""

import re
import subprocess
from collections import defaultdict
from pathlib import Path

SYSTEM = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1")
LOADER = ("libdl.so.2", "librt.so.1", "libpthread.so.0", "ld-linux-x86-64.so.2", "libutil.so.1")
DEFAULT = "libnccl.so.2"
"""Where functions go that name no library by their version."""


def write_stubs(folder: Path) -> list[str]:
    """Write a library for each one that the folder's libraries need and nobody has; give their names."""
    libraries = [path for path in folder.glob("*.so*") if path.is_file()]
    told = [_run("readelf", "-dW", str(path)) for path in libraries]
    needed = {name for text in told for name in re.findall(r"NEEDED.*\[(.+?)\]", text)}
    missing = sorted(needed - {path.name for path in libraries} - {*SYSTEM, *LOADER})
    wanted = _undefined(libraries)
    functions: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, version in wanted.items():
        functions[_library(version, missing)][version].add(name)
    for library in missing:
        _compile(folder / library, functions[library])
    return missing


def _library(version: str, missing: list[str]) -> str:
    prefix = version.split(".so")[0] + ".so"
    return next((name for name in missing if version and name.startswith(prefix)), DEFAULT)


def _undefined(libraries: list[Path]) -> dict[str, str]:
    """Give the symbols that none of the libraries nor the system defines, each with its version or an empty one."""
    undefined: dict[str, str] = {}
    defined: set[str] = set()
    for path in (*libraries, *_system_libraries()):
        for line in _run("nm", "-D", str(path)).splitlines():
            *_, kind, symbol = line.split()
            name, _, version = symbol.partition("@")
            if kind == "U" and path in libraries:
                undefined[name] = version.lstrip("@")
            elif kind not in "Uwv":
                defined.add(name)
    python = re.compile(r"_?Py|GLIBC|GCC|CXXABI|GOMP|OMP")
    return {
        name: version
        for name, version in undefined.items()
        if name not in defined and not python.match(name) and not python.match(version)
    }


def _system_libraries() -> list[Path]:
    listed = _run("ldconfig", "-p")
    found = (
        re.search(rf"^\s*{re.escape(name)} .*=> (\S+)", listed, re.MULTILINE) for name in SYSTEM
    )
    return [Path(one[1]) for one in found if one]


def _compile(target: Path, functions: dict[str, set[str]]) -> None:
    source, versions = target.with_name("stub.c"), target.with_name("stub.map")
    names = sorted(name for group in functions.values() for name in group)
    bodies = "".join(f"int {name}(void) {{ return 35; }}\n" for name in names)
    source.write_text(bodies or "int stub;\n")
    groups = {version: sorted(group) for version, group in functions.items() if version}
    exports = {version: "; ".join([*group, ""]) for version, group in groups.items()}
    lines = (f"{version} {{ global: {group} }};\n" for version, group in exports.items())
    versions.write_text("".join(lines))
    script = [f"-Wl,--version-script={versions}"] if groups else []
    gcc = ("gcc", "-shared", "-fPIC", "-fno-builtin", "-w", f"-Wl,-soname,{target.name}")
    _run(*gcc, *script, "-o", str(target), str(source))
    source.unlink()
    versions.unlink()


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
