"""A node's containerd, whose files and socket only the node's programs see."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.cluster.processes import Server
from tests.waiting import wait_until

from .private import run

CONFIGURATION = Path(__file__).with_name("containerd.toml")
KIND = 'labels."io.cri-containerd.kind"=='


class Containerd(NamedTuple):
    """The client of one; *inside*: the words before a command of the node's."""

    inside: tuple[str, ...]

    def import_images(self, archive: bytes) -> None:
        """Make the images of a docker archive known to the kubelet."""
        self._ctr("images", "import", "-", data=archive)

    def answers(self) -> bool:
        """Tell whether it answers."""
        with suppress(RuntimeError):
            return bool(self._ctr("version"))
        return False

    def runs(self, pod_uid: str, container: str) -> bool:
        """Tell whether a container of the pod runs; the pod's status may be behind."""
        named = self._find(pod_uid, f'labels."io.kubernetes.container.name"=={container}')
        rows = self._ctr("tasks", "ls").splitlines()
        return any(row.startswith(one) and "RUNNING" in row for row in rows for one in named)

    def kill_containers(self, pod_uid: str) -> None:
        """Kill what runs of the pod's containers; its sandbox stays."""
        for container in self._find(pod_uid, f"{KIND}container"):
            with suppress(RuntimeError):  # it has ended
                self._ctr("tasks", "kill", "--signal=SIGKILL", container)

    def kill_sandbox(self, pod_uid: str) -> None:
        """Kill the pod's sandbox, as a node's reboot does; the kubelet makes a new one."""
        (sandbox,) = self._find(pod_uid, f"{KIND}sandbox")
        self._ctr("tasks", "kill", "--signal=SIGKILL", sandbox)

    def wait_until_idle(self) -> None:
        """Wait until nothing runs, and what ran is tidied up."""
        wait_until(lambda: not self._ctr("tasks", "ls", "-q").split(), "all containers to end")

    def _find(self, pod_uid: str, more: str) -> list[str]:
        query = f'labels."io.kubernetes.pod.uid"=={pod_uid},{more}'
        return self._ctr("containers", "ls", "-q", query).split()

    def _ctr(self, *arguments: str, data: bytes | None = None) -> str:
        return run([*self.inside, "ctr", "--namespace=k8s.io", *arguments], data)


@contextmanager
def running_containerd(
    inside: Sequence[str], folder: Path, programs: Path | None
) -> Iterator[Containerd]:
    """Run one. *programs*: the folder of containerd, its shim and ctr; None: the machine's."""
    path = f"{programs}:{os.environ['PATH']}" if programs else os.environ["PATH"]
    containerd = Containerd((*inside, "env", f"PATH={path}"))  # it finds its shim by PATH too
    command = [*containerd.inside, "containerd", "--config", str(CONFIGURATION)]
    with Server(command, folder / "containerd.log", containerd.answers):
        yield containerd
