"""A cluster of one node, fabric-injector, and a job without and with it: ``make node``.

It is what the tests of this folder run: kube-apiserver, etcd, kubelet, containerd, Multus, macvlan,
and the image of the Dockerfile.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path

import click

from tests.cluster.assets import AssetsUnavailable, assets, binary
from tests.cluster.node import jobs
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.node import Node
from tests.profiles import as_text
from webhook.core.names import PROFILE

from .product import install

NAMESPACE = "research"
JOB = Path(__file__).with_name("job.yaml")
PROFILES = as_text("""
rdma-shared:
  networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a}]
  sharedMemory: {sizeLimit: 192Mi}
""")


@click.command(help=__doc__)
@click.option("--once", is_flag=True, help="End after the jobs have met.")
def main(once: bool) -> None:
    """Run the cluster, and tell what to do with it."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-node-") as name:
        folder = Path(name)
        say("building what is not built yet: kube-apiserver, kubelet … (once, 15 minutes) ...")
        assets()
        assets("node")
        say("starting the node ...")
        with Node(folder / "cluster") as node:
            say("building the image and installing fabric-injector: about 2 minutes ...")
            install(node, PROFILES)
            meet(node)
            if not once:
                stay(node)
        say("ended; nothing is left of it")


def meet(node: Node) -> None:
    """Run a PyTorchJob's two pods without and with injection, and print the bytes of each."""
    say("a PyTorchJob's two pods exchange data, first in a namespace without the label ...")
    say(f"  {'':<20}{'rank':>4}{'bytes on eth0':>16}{'bytes on net1':>16}")
    for namespace, labels in (("without", {}), (NAMESPACE, {PROFILE: "rdma-shared"})):
        node.control_plane.create_namespace(namespace, labels)
        for pod in jobs.start(Namespace(node, namespace), "pytorchjob"):
            report = pod.report()
            on_net1 = f"{report.carried('net1'):,}" if "net1" in report.train["after"] else "none"
            which = f"{namespace:<20}{report.train['rank']:>4}"
            say(f"  {which}{report.carried('eth0'):>16,}{on_net1:>16}")


def stay(node: Node) -> None:
    """Tell what to try, until Ctrl-C or SIGTERM."""
    plane = node.control_plane
    program = Path(sys.executable).with_name("fabric-injector")
    say(f"""
The cluster runs until you press Ctrl-C here. In another terminal:

  export KUBECONFIG={plane.admin} PATH={program.parent}:{binary("kubectl").parent}:$PATH
  fabric-injector check
  fabric-injector explain -n {NAMESPACE} pod/bert-worker-0
  kubectl get pods -n {NAMESPACE} -o wide
  kubectl create -n {NAMESPACE} -f {JOB}
  fabric-injector explain -n {NAMESPACE} job/llm
""")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pause()
    except KeyboardInterrupt:
        say("ending the pods and the cluster ...")


def say(text: str) -> None:
    """Print it at once."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ.pop("KUBECONFIG", None)
    try:
        main(prog_name="make node")
    except (AssetsUnavailable, RuntimeError) as problem:
        sys.exit(f"make node: {problem}")
