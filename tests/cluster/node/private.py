"""What a node's programs live in, so that nothing of theirs outlives the tests: see private.sh."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.processes import Server

SCRIPT = Path(__file__).with_name("private.sh")
UNSHARE = ("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork")
GROUPS = ("find", "/sys/fs/cgroup", "-depth", "-type", "d", "-path", "*/k8s.io*")


@contextmanager
def private(folder: Path, addresses: Path) -> Iterator[list[str]]:
    """Make namespaces of mounts and processes; give the words before a command that runs in them.

    Processes and mounts end with the block, and with this process.
    """
    log = folder / "private.log"
    command = [*UNSHARE, "--kill-child", "--mount-proc", "sh", SCRIPT, folder, addresses]
    try:
        with Server(command, log, lambda: log.read_text() == "ready\n") as first:
            own = f"/proc/{first.process.pid}/ns"
            yield ["nsenter", f"--mount={own}/mnt", f"--pid={own}/pid_for_children"]
    finally:
        # those that hold a process are of another containerd
        subprocess.run([*GROUPS, "-exec", "rmdir", "{}", ";"], capture_output=True)


def run(command: Sequence[str], data: bytes | None = None) -> str:
    """Run a command to its end with this input; give its output, or raise RuntimeError with it."""
    done = subprocess.run(command, input=data, capture_output=True, timeout=600)
    if done.returncode != 0:
        told = (done.stdout + done.stderr).decode(errors="replace")
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{told}")
    return done.stdout.decode()
