"""Jobs as people write them, made of containers: a template of jobs/ for each kind of object."""

import json
from pathlib import Path

import yaml
from jinja2 import Environment, FileSystemLoader

from tests import pods as fixtures
from tests.cluster.node import jobs
from tests.cluster.node.pods import HOLD
from webhook.core.model import Object

IMAGE = "torch:any"
"""Stands for the image that the row runs."""
GPU = {"nvidia.com/gpu": "1"}
TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent / "jobs"))


def torchrun(rank: str = "$JOB_COMPLETION_INDEX", host: str = "$MASTER_ADDR", size: int = 2) -> str:
    """Give a static start of so many nodes."""
    nodes = f"--nnodes={size} --nproc-per-node=1 --node_rank={rank}"
    return f"torchrun {nodes} --master_addr={host} --master_port=29500 train.py"


def container(
    text: str, /, name: str = "main", gpu: bool = True, image: str = IMAGE, **env: str
) -> Object:
    """Give a container that runs a shell's text and holds on; ``{status.podIP}`` is a field."""
    told = {**env, HOLD: "600", "PYTHONUNBUFFERED": "1"}
    entries = [_variable(key, value) for key, value in told.items()]
    found: Object = {"name": name, "image": image, "command": ["bash", "-c", text], "env": entries}
    return found | {"resources": {"limits": GPU}} if gpu else found


def _variable(name: str, value: str) -> Object:
    if value.startswith("{"):
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": value.strip("{}")}}}
    return {"name": name, "value": value}


def job(kind: str, /, size: int = 0, order: str = "", **roles: Object) -> Object:
    """Give a job by the template of its kind, with a container for each role, or for ``main``.

    *size*: of each role, 0: the template's own; *order*: one that the template knows.
    """
    template = TEMPLATES.get_template(f"{kind}.yaml.jinja")
    return dict(yaml.safe_load(template.render(size=size, order=order, roles=roles)))


def with_image(manifest: Object, image: str) -> Object:
    """Give the manifest with this image in place of IMAGE."""
    text = json.dumps(manifest).replace(json.dumps(IMAGE), json.dumps(image))
    return dict(json.loads(text))


def pods_of(system: str) -> list[Object]:
    """Give two pods as a system makes them that is not run: those of tests/fixtures."""
    pods = jobs.fixture_pods(system)
    for pod in pods:
        (one,) = pod["spec"]["containers"]
        one |= {"image": IMAGE, "command": ["python", "train.py"], "resources": {"limits": GPU}}
        fixtures.add_env(pod, HOLD, "600")
    return pods
