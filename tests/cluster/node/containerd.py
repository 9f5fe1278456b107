"""A containerd of its own: its images, containers and socket lie in one folder."""

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.waiting import wait_until

from .cni import PluginConfiguration
from .images import PAUSE
from .namespaces import Namespaces

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
    bin_dir = "{plugins}"
    conf_dir = "{configurations}"
    max_conf_num = 1
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


class Containerd:
    """Runs from entering the `with` block until it is left; `socket` is where a kubelet finds it."""

    def __init__(
        self,
        namespaces: Namespaces,
        folder: Path,
        cni: PluginConfiguration,
        programs: Path | None = None,
    ) -> None:
        """Prepare one that keeps everything in the folder and calls the CNI plugins as configured.

        *programs*: the folder of containerd, its shim and ctr; without it they are those of the machine's packages.
        """
        self.socket = folder / "sock"
        self._namespaces = namespaces
        self._folder = folder
        self._cni = cni
        # containerd finds its shim by PATH too
        self._with_path = ["env", f"PATH={programs}:{os.environ['PATH']}"] if programs else []

    def __enter__(self) -> Self:
        """Start it, and return once it answers."""
        self._folder.mkdir(parents=True)
        configuration = self._folder / "config.toml"
        configuration.write_text(
            CONFIGURATION.format(
                folder=self._folder,
                pause=PAUSE,
                plugins=self._cni.plugins,
                configurations=self._cni.configurations,
            )
        )
        command = [*self._with_path, "containerd", "--config", str(configuration)]
        self._server = self._namespaces.start(command, self._folder.with_name("containerd.log"))
        with self._server.starting():
            self._server.wait_ready(lambda: self._ctr("version").returncode == 0, 30)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it; containers that still run end with the namespaces."""
        self._server.stop()

    def import_images(self, archive: bytes) -> None:
        """Make the images of a docker archive known to the kubelet."""
        done = self._ctr("images", "import", "-", data=archive)
        if done.returncode != 0:
            raise RuntimeError(
                f"ctr images import: status {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}"
            )

    def running(self) -> set[str]:
        """Give the ids of all sandboxes and containers that run."""
        rows = (line.split() for line in self._ctr("tasks", "ls").stdout.decode().splitlines()[1:])
        return {row[0] for row in rows if row[-1] == "RUNNING"}

    def runs(self, pod_uid: str, container: str) -> bool:
        """Tell whether a container of the pod runs, as the node knows; a pod's status may be behind."""
        return not self.running().isdisjoint(
            self._find(pod_uid, f'labels."io.kubernetes.container.name"=={container}')
        )

    def kill_containers(self, pod_uid: str) -> None:
        """Kill what runs of the pod's containers; its sandbox stays."""
        for container in self._find(pod_uid, 'labels."io.cri-containerd.kind"==container'):
            self._ctr("tasks", "kill", "--signal=SIGKILL", container)

    def kill_sandbox(self, pod_uid: str) -> None:
        """Kill the sandbox of the pod, as a node's reboot does; the kubelet then makes a new one."""
        (sandbox,) = self._find(pod_uid, 'labels."io.cri-containerd.kind"==sandbox')
        killed = self._ctr("tasks", "kill", "--signal=SIGKILL", sandbox)
        assert killed.returncode == 0, killed.stderr.decode()

    def wait_until_idle(self, seconds: float) -> None:
        """Wait until nothing runs, and what ran is tidied up."""
        wait_until(
            lambda: not self._ctr("tasks", "ls", "-q").stdout.split(),
            "all containers to end",
            seconds,
        )

    def _find(self, pod_uid: str, more: str) -> list[str]:
        query = f'labels."io.kubernetes.pod.uid"=={pod_uid},{more}'
        return self._ctr("containers", "ls", "-q", query).stdout.decode().split()

    def _ctr(
        self, *arguments: str, data: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        command = [
            *self._with_path,
            "ctr",
            f"--address={self.socket}",
            "--namespace=k8s.io",
            *arguments,
        ]
        return subprocess.run(command, input=data, capture_output=True, timeout=600)
