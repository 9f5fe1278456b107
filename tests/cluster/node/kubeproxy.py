"""kube-proxy in a network namespace of its own: the machine's rules stay as they are."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import yaml

from tests.cluster.assets import binary
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Server

from .kubelet import NAME
from .links import Links

HEALTH_PORT = 10256
SECONDS = 60
SCRIPT = """\
set -e
for setting in all default; do
  # else a pod is sent to the other directly, which knows no such connection
  echo 0 > /proc/sys/net/ipv4/conf/$setting/send_redirects
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


@contextmanager
def kube_proxy(control_plane: ControlPlane, links: Links, folder: Path) -> Iterator[None]:
    """Run it, with its configuration in the folder; the Services of the cluster route on entry.

    In life it works in the network of each node. Here all nodes share the machine's network, so it
    is a router on the pods' bridge that owns the addresses of the Services. An answer must come
    back through it: pods see its address as that of the caller.
    """
    folder.mkdir(parents=True)
    server_url = f"https://{links.gateway}:{control_plane.port}"
    kubeconfig = control_plane.kubeconfig(folder / "kubeconfig", server=server_url)
    settings = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "nftables": {"masqueradeAll": True, "minSyncPeriod": "10ms"},
        "conntrack": {"maxPerCore": 0},  # a setting of the whole machine
        "hostnameOverride": NAME,
        "healthzBindAddress": f"{links.proxy}:{HEALTH_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        "clientConnection": {"kubeconfig": str(kubeconfig)},
    }
    configuration = folder / "config.yaml"
    configuration.write_text(yaml.safe_dump(settings))
    network = [links.proxy_inner, f"{links.proxy}/24", links.services]
    program = [str(binary("kube-proxy")), f"--config={configuration}"]
    server = Server(
        ["unshare", "--net", "sh", "-c", SCRIPT, "sh", *network, *program],
        folder.with_name("kube-proxy.log"),
    )
    try:
        server.wait_ready(lambda: _has_own_network(server), SECONDS)
        links.connect_proxy(server.process.pid)
        server.wait_ready(lambda: _is_healthy(links), SECONDS)
        yield
    finally:  # its rules and its end of the link go with its network namespace
        server.stop()


def _has_own_network(server: Server) -> bool:
    own, ours = (Path(f"/proc/{one}/ns/net").readlink() for one in (server.process.pid, "self"))
    return own != ours


def _is_healthy(links: Links) -> bool:
    url = f"http://{links.proxy}:{HEALTH_PORT}/healthz"
    with suppress(OSError, HTTPException), urlopen(url, timeout=2) as answer:
        return bool(answer.status == 200)
    return False
