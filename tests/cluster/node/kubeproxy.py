"""kube-proxy in a network namespace of its own beside the pods, so that Services route and the machine's own rules stay as they are."""

from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

import yaml

from tests.cluster.assets import binary
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Server

from .kubelet import NAME
from .links import Links

HEALTH_PORT = 10256
SCRIPT = """\
set -e
for setting in all default; do
  echo 0 > /proc/sys/net/ipv4/conf/$setting/send_redirects  # else a pod is sent to the other directly, which knows no such connection
done
echo 1 > /proc/sys/net/ipv4/ip_forward
ip link set lo up
until ip link show "$1" >/dev/null 2>&1; do sleep 0.1; done
ip addr add "$2" dev "$1"
ip link set "$1" up
ip route add local "$3" dev lo  # it answers for the addresses of all Services
shift 3
exec "$@"
"""


class KubeProxy:
    """Runs from entering the `with` block until it is left; the Services of the cluster route on entry.

    In life it works in the network of each node. Here all nodes share the machine's network, so it is a router on the pods' bridge
    that owns the addresses of the Services. An answer must come back through it: pods see its address as that of the caller.
    """

    def __init__(self, control_plane: ControlPlane, links: Links, folder: Path) -> None:
        """Prepare one that keeps its configuration in the folder and its log beside it."""
        self._control_plane = control_plane
        self._links = links
        self._folder = folder

    def __enter__(self) -> Self:
        """Start it, and wait until it has made the rules of all Services."""
        self._folder.mkdir(parents=True)
        configuration = self._folder / "config.yaml"
        configuration.write_text(yaml.safe_dump(self._settings()))
        links = self._links
        command = [
            "unshare",
            "--net",
            "sh",
            "-c",
            SCRIPT,
            "sh",
            links.proxy_inner,
            f"{links.proxy}/24",
            links.services,
        ]
        self._server = Server(
            [*command, str(binary("kube-proxy")), f"--config={configuration}"],
            self._folder.with_name("kube-proxy.log"),
        )
        with self._server.starting():
            self._server.wait_ready(self._has_own_network, 30)
            links.connect_proxy(self._server.process.pid)
            self._server.wait_ready(self._is_healthy, 60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it; its rules and its end of the link are gone with its network namespace."""
        self._server.stop()

    def _settings(self) -> dict[str, Any]:
        kubeconfig = self._folder / "kubeconfig"
        server = f"https://{self._links.gateway}:{self._control_plane.port}"
        return {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "nftables": {"masqueradeAll": True, "minSyncPeriod": "10ms"},
            "conntrack": {"maxPerCore": 0},  # a setting of the whole machine
            "hostnameOverride": NAME,
            "healthzBindAddress": f"{self._links.proxy}:{HEALTH_PORT}",
            "metricsBindAddress": "127.0.0.1:10249",
            "clientConnection": {
                "kubeconfig": str(self._control_plane.kubeconfig(kubeconfig, server=server))
            },
        }

    def _has_own_network(self) -> bool:
        own, ours = (
            Path(f"/proc/{one}/ns/net").readlink() for one in (self._server.process.pid, "self")
        )
        return own != ours

    def _is_healthy(self) -> bool:
        with (
            suppress(OSError, HTTPException),
            urlopen(f"http://{self._links.proxy}:{HEALTH_PORT}/healthz", timeout=2) as answer,
        ):
            return bool(answer.status == 200)
        return False
