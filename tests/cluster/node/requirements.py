"""What a machine must allow so that a node with Multus and macvlan can run on it, and why this one does not."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PLUGINS = ("bridge", "host-local", "loopback", "macvlan")
PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


def plugin_folder() -> Path | None:
    """Give the folder that holds the CNI plugins."""
    folders = (Path(name) for name in PLUGIN_FOLDERS)
    return next(
        (folder for folder in folders if all((folder / plugin).is_file() for plugin in PLUGINS)),
        None,
    )


def not_possible(folder: Path) -> str:
    """Say what this machine itself does not allow; empty where a node can run that keeps its data in the folder."""
    if not sys.platform.startswith("linux"):
        return f"pods need Linux, this is {sys.platform}"
    if os.geteuid() != 0:
        return f"a kubelet needs root, these tests run as uid {os.geteuid()}"
    lacking = _lacking_controllers()
    if lacking:
        return f"/sys/fs/cgroup has no {', '.join(lacking)} controller to put pods into"
    return _why_no_namespaces(folder) or _why_no_links()


def _lacking_controllers() -> list[str]:
    root = Path("/sys/fs/cgroup")
    unified = root / "cgroup.controllers"
    found = (
        unified.read_text().split() if unified.is_file() else [path.name for path in root.glob("*")]
    )
    return [name for name in CONTROLLERS if name not in found or not os.access(root, os.W_OK)]


def _why_no_namespaces(folder: Path) -> str:
    """Try what the node's processes live in: mount and process namespaces, with an overlay."""
    for name in ("upper", "work", "merged"):
        (folder / name).mkdir(parents=True)
    options = f"lowerdir=/usr,upperdir={folder}/upper,workdir={folder}/work"
    mount = ("mount", "-t", "overlay", "overlay", "-o", options, str(folder / "merged"))
    done = _run("unshare", "--mount", "--pid", "--fork", "--mount-proc", *mount)
    return f"no mount and process namespace with an overlay in {folder}: {done}" if done else ""


def _why_no_links() -> str:
    """Try what pods hang on: a bridge, and a macvlan on one end of a veth pair."""
    name = f"fitry{os.getpid()}"
    tries = (
        ("bridge", ("add", f"{name}b", "type", "bridge")),
        ("veth pair", ("add", f"{name}v", "type", "veth", "peer", "name", f"{name}w")),
        (
            "macvlan",
            ("add", "link", f"{name}v", "name", f"{name}m", "type", "macvlan", "mode", "bridge"),
        ),
    )
    try:
        for what, arguments in tries:
            if done := _run("ip", "link", *arguments):
                return f"no {what} can be made: {done}"
    finally:
        for letter in "mvb":
            _run("ip", "link", "del", f"{name}{letter}")
    return ""


def _run(*command: str) -> str:
    """Give the error of a command that fails; empty where it succeeds."""
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr.strip() or f"status {done.returncode}" if done.returncode else ""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(not_possible(Path(name) / "overlay"))
