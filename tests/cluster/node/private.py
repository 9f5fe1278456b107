"""What a node's programs live in, so that nothing of theirs outlives the tests: see private.sh."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import NotReady

SCRIPT = Path(__file__).with_name("private.sh")
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
GROUPS = ("find", "/sys/fs/cgroup", "-depth", "-type", "d", "-path", "*/k8s.io*")


@contextmanager
def private(folder: Path, addresses: Path) -> Iterator[list[str]]:
    """Make namespaces of mounts and processes; give the words before a command that runs in them.

    Processes and mounts end with the block, and with this process.
    """
    command = [*UNSHARE, "sh", str(SCRIPT), str(folder), str(addresses)]
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as first:
            assert first.stdout is not None
            if (told := first.stdout.readline()) != "ready\n":
                raise NotReady(f"a node's namespaces: {told}")
            own = f"/proc/{first.pid}/ns"
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
