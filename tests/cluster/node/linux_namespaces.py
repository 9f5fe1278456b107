"""The namespaces that a node's processes live in, so that nothing of theirs outlives the tests."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.cluster.processes import Server
from tests.waiting import NotReady

SCRIPT = """\
set -e
for dir in var/lib var/log run; do
  mkdir -p "$0/upper/$dir" "$0/overlay/$dir"
  options="lowerdir=/$dir,upperdir=$0/upper/$dir,workdir=$0/overlay/$dir"
  mount -t overlay overlay -o "$options" "/$dir"
done
mkdir -p "$0/kubelet" /var/lib/kubelet /run/netns
mount --bind "$0/kubelet" /var/lib/kubelet
rm -rf /run/containerd /var/lib/cni
echo ready
exec cat
"""
"""Writes below /var/lib, /var/log and /run stay in the folder. It ends with its standard input."""
SYSCTLS = (
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
"""What a kubelet sets for the whole machine (container_manager_linux.go setupKernelTunables)."""
CGROUPS = Path("/sys/fs/cgroup")


class LinuxNamespaces:
    """They live until the `with` block is left: then their processes are gone, and their mounts."""

    def __init__(self, folder: Path) -> None:
        """Prepare namespaces whose private /var/lib, /var/log and /run lie in the folder."""
        self._folder = folder
        self._sysctls: dict[Path, str] = {}

    def __enter__(self) -> Self:
        """Make them, and remember the settings of the machine that a kubelet changes."""
        settings = (Path("/proc/sys") / name for name in SYSCTLS)
        self._sysctls = {path: path.read_text() for path in settings if path.exists()}
        self._cgroups = set(_cgroups())
        options = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
        self._init = subprocess.Popen(
            ["unshare", *options, "sh", "-c", SCRIPT, str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._init.stdout is not None
        with self._init.stdout as output:
            answer = output.readline().decode().strip()
        if answer != "ready":
            self._end()
            raise NotReady(f"the node's namespaces: {answer or f'status {self._init.returncode}'}")
        return self

    def __exit__(self, *_: object) -> None:
        """End the first process, and with it every other; put the machine's settings back."""
        self._end()
        for path, value in self._sysctls.items():
            path.write_text(value)
        made = set(_cgroups()) - self._cgroups
        for group in sorted(made, reverse=True):  # those of a folder before the folder
            with suppress(OSError):  # it holds processes of another containerd of this machine
                group.rmdir()

    def start(self, command: Sequence[str], log: Path) -> Server:
        """Start a server in them."""
        return Server([*self._enter(), *command], log)

    def run(self, *command: str) -> str:
        """Run a command in them to its end, and give its output."""
        entered = [*self._enter(), *command]
        done = subprocess.run(entered, capture_output=True, text=True, timeout=300)
        output = done.stdout + done.stderr
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{output}")
        return done.stdout

    def _enter(self) -> list[str]:
        own = f"/proc/{self._init.pid}/ns"
        return ["nsenter", f"--mount={own}/mnt", f"--pid={own}/pid_for_children"]

    def _end(self) -> None:
        assert self._init.stdin is not None
        self._init.stdin.close()
        try:
            self._init.wait(15)
        except subprocess.TimeoutExpired:
            self._init.kill()
            self._init.wait()


def _cgroups() -> Iterator[Path]:
    """Give the cgroups of pods that no kubelet has placed, in each hierarchy."""
    for pattern in ("k8s.io", "k8s.io/*/", "*/k8s.io", "*/k8s.io/*/"):
        yield from (path for path in CGROUPS.glob(pattern) if path.is_dir())
