"""A containerd of its own: its images, containers and socket lie in one folder."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_until

from .cni import PluginConfiguration
from .images import PAUSE
from .linux_namespaces import LinuxNamespaces

SECONDS = 60
CONFIGURATION = """\
version = 2
root = "{folder}/root"
state = "/run/containerd/state"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
]
[grpc]
  address = "{folder}/sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni.plugins}"
    conf_dir = "{cni.configurations}"
    max_conf_num = 1
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


class Containerd:
    """The client of one; `socket` is where a kubelet finds it."""

    def __init__(self, folder: Path, programs: Path | None) -> None:
        self.socket = folder / "sock"
        # containerd finds its shim by PATH too
        self.with_path = ["env", f"PATH={programs}:{os.environ['PATH']}"] if programs else []

    def import_images(self, archive: bytes) -> None:
        """Make the images of a docker archive known to the kubelet."""
        done = self._ctr("images", "import", "-", data=archive)
        if done.returncode != 0:
            output = (done.stdout + done.stderr).decode()
            raise RuntimeError(f"ctr images import: status {done.returncode}\n{output}")

    def answers(self) -> bool:
        """Tell whether it answers."""
        return self._ctr("version").returncode == 0

    def runs(self, pod_uid: str, container: str) -> bool:
        """Tell whether a container of the pod runs; the pod's status may be behind."""
        named = self._find(pod_uid, f'labels."io.kubernetes.container.name"=={container}')
        rows = (line.split() for line in self._ctr("tasks", "ls").stdout.decode().splitlines()[1:])
        return any(row[0] in named and row[-1] == "RUNNING" for row in rows)

    def kill_containers(self, pod_uid: str) -> None:
        """Kill what runs of the pod's containers; its sandbox stays."""
        for container in self._find(pod_uid, 'labels."io.cri-containerd.kind"==container'):
            self._ctr("tasks", "kill", "--signal=SIGKILL", container)

    def kill_sandbox(self, pod_uid: str) -> None:
        """Kill the pod's sandbox, as a node's reboot does; the kubelet makes a new one."""
        (sandbox,) = self._find(pod_uid, 'labels."io.cri-containerd.kind"==sandbox')
        killed = self._ctr("tasks", "kill", "--signal=SIGKILL", sandbox)
        assert killed.returncode == 0, killed.stderr.decode()

    def wait_until_idle(self) -> None:
        """Wait until nothing runs, and what ran is tidied up."""
        wait_until(
            lambda: not self._ctr("tasks", "ls", "-q").stdout.split(),
            "all containers to end",
            SECONDS,
        )

    def _find(self, pod_uid: str, more: str) -> list[str]:
        query = f'labels."io.kubernetes.pod.uid"=={pod_uid},{more}'
        return self._ctr("containers", "ls", "-q", query).stdout.decode().split()

    def _ctr(
        self, *arguments: str, data: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        ctr = [*self.with_path, "ctr", f"--address={self.socket}", "--namespace=k8s.io"]
        return subprocess.run([*ctr, *arguments], input=data, capture_output=True, timeout=600)


@contextmanager
def running_containerd(
    namespaces: LinuxNamespaces, folder: Path, cni: PluginConfiguration, programs: Path | None
) -> Iterator[Containerd]:
    """Run one that keeps everything in the folder and calls the CNI plugins as configured.

    *programs*: the folder of containerd, its shim and ctr; without it they are those of the
    machine's packages. Containers that run at its end end with the namespaces.
    """
    folder.mkdir(parents=True)
    configuration = folder / "config.toml"
    configuration.write_text(CONFIGURATION.format(folder=folder, pause=PAUSE, cni=cni))
    containerd = Containerd(folder, programs)
    command = [*containerd.with_path, "containerd", "--config", str(configuration)]
    server = namespaces.start(command, folder.with_name("containerd.log"))
    try:
        server.wait_ready(containerd.answers, SECONDS)
        yield containerd
    finally:
        server.stop()
