"""The product on a node as administrators install it: image, install.yaml, profiles."""

from tests.cluster.installation import NAMESPACE, install_yaml, shipped
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.node import Node
from tests.image import builder as images


def install(node: Node, profiles: str) -> None:
    """Build the image, apply install.yaml, then the profiles; return once all is available."""
    plane, folder = node.control_plane, node.folder / "image"
    folder.mkdir()
    (deployment,) = shipped("Deployment", "fabric-injector-webhook")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    name = f"docker.io/library/{container['image']}"
    with images.Builder(folder) as builder:
        archive = builder.save(builder.build(), folder / "image.tar", name)
    node.containerd.import_images(archive.read_bytes())
    archive.unlink()
    plane.kubectl("apply", "--server-side", "--validate=strict", f"--filename={install_yaml()}")
    plane.define_profiles(profiles)
    node.operators.append(NAMESPACE)
    space = Namespace(node, NAMESPACE)
    space.wait(lambda: is_available(space), "all replicas to be available")


def uninstall(node: Node) -> None:
    """Remove what install.yaml installed, as the manual says; return once it is gone."""
    node.operators.remove(NAMESPACE)
    node.control_plane.kubectl("delete", f"--filename={install_yaml()}", "--wait=false")
    node.end_pods(NAMESPACE)  # which would take their time
    node.control_plane.kubectl("delete", f"--filename={install_yaml()}", "--ignore-not-found")


def is_available(space: Namespace) -> bool:
    """Tell whether all replicas of both Deployments are ready."""
    found = space.items("deployments", "apis/apps/v1")
    return len(found) == 2 and all(
        one["status"].get("availableReplicas") == one["spec"]["replicas"] for one in found
    )
