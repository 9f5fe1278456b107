"""What a machine must allow so that a node can run on it, and why this one does not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .links import Links
from .linux_namespaces import LinuxNamespaces

PLUGINS = ("bridge", "host-local", "loopback", "macvlan")
PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


def plugin_folder() -> Path | None:
    """Give the folder that holds the CNI plugins."""
    for folder in map(Path, PLUGIN_FOLDERS):
        if all((folder / plugin).is_file() for plugin in PLUGINS):
            return folder
    return None


def not_possible(folder: Path) -> str:
    """Say what this machine does not allow; empty where a node can run, with its data in the folder."""
    if not sys.platform.startswith("linux"):
        return f"pods need Linux, this is {sys.platform}"
    if os.geteuid() != 0:
        return f"a kubelet needs root, these tests run as uid {os.geteuid()}"
    if lacking := _lacking_controllers():
        return f"/sys/fs/cgroup has no {', '.join(lacking)} controller to put pods into"
    try:
        with LinuxNamespaces(folder), Links() as links:
            links.add_macvlan(links.interface("m"))
    except (AssertionError, OSError, subprocess.CalledProcessError) as problem:
        why = getattr(problem, "stderr", "") or problem
        return f"no namespace with an overlay in {folder}, or no bridge with a macvlan: {why}"
    return ""


def _lacking_controllers() -> list[str]:
    root = Path("/sys/fs/cgroup")
    unified = root / "cgroup.controllers"
    names = (path.name for path in root.glob("*"))
    found = unified.read_text().split() if unified.is_file() else list(names)
    return [name for name in CONTROLLERS if name not in found or not os.access(root, os.W_OK)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(not_possible(Path(name) / "overlay"))
