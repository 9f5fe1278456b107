"""Hold the files of ``fabric-injector page``; they load nothing from elsewhere."""

from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

INDEX = "index.html"
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".yaml": "text/plain; charset=utf-8",
}


class Asset(NamedTuple):
    """Hold one file and its content type."""

    content_type: str
    content: bytes


class Sample(NamedTuple):
    """Describe a manifest to start from. *namespace*: the one that it names itself."""

    path: str
    title: str
    about: str
    namespace: str = ""


SAMPLES = (
    Sample("samples/torchx.yaml", "TorchX job", "dist.ddp on Volcano: two ranks, c10d"),
    Sample("samples/pytorchjob.yaml", "PyTorchJob", "a Kubeflow master and three workers"),
    Sample("samples/jobset.yaml", "JobSet", "an indexed Job that names its own rank 0"),
    Sample("samples/web.yaml", "A Deployment that does not train", "and stays as it is"),
    Sample("samples/refused.yaml", "A pod that could never start", "its network does not exist"),
    Sample("demo/torchx-pods.yaml", "The demo's pods", "as Volcano creates them", "research"),
)


def read_page() -> Mapping[str, Asset]:
    """Read every file of the page, by its path below ``/page/``; raises OSError if one lacks."""
    demo = files("webhook.demo") / "torchx-pods.yaml"
    found = dict(_assets(files(__name__), ""))
    return {**found, "demo/torchx-pods.yaml": Asset(CONTENT_TYPES[".yaml"], demo.read_bytes())}


def _assets(folder: Traversable, below: str) -> Iterator[tuple[str, Asset]]:
    for entry in folder.iterdir():
        suffix = entry.name[entry.name.rfind(".") :]
        if entry.is_dir():
            yield from _assets(entry, f"{below}{entry.name}/")
        elif suffix in CONTENT_TYPES:
            yield below + entry.name, Asset(CONTENT_TYPES[suffix], entry.read_bytes())
