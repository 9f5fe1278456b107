"""The product on a node as administrators install it: the Dockerfile's image, install.yaml, profiles."""

from pathlib import Path

from tests.cluster.controlplane import ControlPlane
from tests.cluster.installation import apply_profiles, install_yaml, shipped
from tests.image import builder as images


def save_image(folder: Path) -> Path:
    """Build the image, and write it to a file of the folder under the name that install.yaml gives it."""
    (deployment,) = shipped("Deployment", "fabric-injector-webhook")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    with images.Builder(folder) as builder:
        return builder.save(
            builder.build(), folder / "image.tar", f"docker.io/library/{container['image']}"
        )


def install(plane: ControlPlane, profiles: str) -> None:
    """Apply install.yaml, then the profiles."""
    plane.kubectl("apply", "--server-side", "--validate=strict", f"--filename={install_yaml()}")
    apply_profiles(plane, profiles)
