"""Volcano's webhook for pods, which its chart leaves switched off: it gives them a group of nodes."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from tests.cluster.assets import binary
from tests.cluster.node import jobs
from tests.cluster.node.node import Node
from tests.cluster.webhook import CONFIGURATIONS
from tests.waiting import wait_until
from webhook.core.model import Object

from . import programs
from .builds import source
from .manifests import container, volcano_job

SECONDS = 300
SYSTEM = "namespaces/volcano-system"
DEPLOYMENT = f"/apis/apps/v1/{SYSTEM}/deployments/volcano-admission"
SETTINGS = f"/api/v1/{SYSTEM}/configmaps/volcano-admission-configmap"
NAME = "volcano-admission-service-pods-mutate"
"""Its configuration's, which Volcano's program looks for at its start; it sorts before ours."""
POOL = {"fabric-injector.test/pool": "training"}
"""The label of the group's nodes, and what the webhook adds to the pods' node selector."""
TOLERATION = {"key": "fabric-injector.test/reserved", "operator": "Exists", "effect": "NoSchedule"}
"""What it adds to their tolerations."""


@contextmanager
def grouping(node: Node, namespace: str, name: str) -> Iterator[None]:
    """Let it group the namespace's pods; the *name* of its configuration says when it is called."""
    api = node.api
    containers, settings = _containers(node), api.expect("GET", SETTINGS)["data"]
    shipped = _configuration()
    api.expect("POST", CONFIGURATIONS, shipped)
    try:
        group = {"resourceGroup": "training", "object": {"key": "namespace", "value": [namespace]}}
        groups = [{**group, "labels": POOL, "tolerations": [TOLERATION]}]
        configuration = yaml.safe_dump({"resourceGroups": groups})
        _serve(node, _with_pods(containers), {"volcano-admission.conf": configuration})
        if name != NAME:
            signed = api.expect("GET", f"{CONFIGURATIONS}/{NAME}")["webhooks"]
            renamed = {**shipped, "metadata": {"name": name}, "webhooks": signed}
            api.expect("POST", CONFIGURATIONS, renamed)
            api.expect("DELETE", f"{CONFIGURATIONS}/{NAME}")
        called = "Volcano's webhook for pods to be called"
        wait_until(lambda: _is_grouped(node, namespace), called, SECONDS)
        yield
    finally:
        for each in {NAME, name}:
            api.request("DELETE", f"{CONFIGURATIONS}/{each}")
        _serve(node, containers, settings)


def _configuration() -> Object:
    """Give the configuration as Volcano's chart ships it."""
    chart = source(programs.VOLCANO) / "installer/helm/chart/volcano"
    wanted = ("--set=custom.enabled_admissions=/pods/mutate", "--show-only=templates/webhooks.yaml")
    template = (str(binary("helm")), "template", "volcano", str(chart))
    command = [*template, "--namespace=volcano-system", *wanted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found: Object = yaml.safe_load(done.stdout)
    assert found["metadata"]["name"] == NAME
    return found


def _with_pods(containers: list[Object]) -> list[Object]:
    option = "--enabled-admission="
    (one,) = containers
    args = [text.replace(option, f"{option}/pods/mutate,") for text in one["args"]]
    assert args != one["args"]
    return [{**one, "args": args}]


def _containers(node: Node) -> list[Object]:
    template = node.api.expect("GET", DEPLOYMENT)["spec"]["template"]
    found: list[Object] = template["spec"]["containers"]
    return found


def _serve(node: Node, containers: list[Object], settings: dict[str, Any]) -> None:
    """Start Volcano's admission anew with these settings, and return once it is called."""
    api = node.api
    api.expect("PATCH", SETTINGS, {"data": settings})
    changed = {"spec": {"template": {"spec": {"containers": containers}}}}
    asked = api.expect("PATCH", DEPLOYMENT, changed)

    def runs() -> bool:
        found = api.expect("GET", DEPLOYMENT)["status"]
        counts = [found.get(name) for name in ("replicas", "updatedReplicas", "readyReplicas")]
        is_seen = found["observedGeneration"] >= asked["metadata"]["generation"]
        return bool(is_seen and counts == [1, 1, 1])

    def answers() -> bool:
        job = volcano_job(container("true"))
        return api.create(job, "default", dry_run=True).status == 201

    wait_until(runs, "Volcano's admission to start anew", SECONDS, interval=0.5)
    wait_until(answers, "Volcano's admission to answer", SECONDS, interval=0.5)


def _is_grouped(node: Node, namespace: str) -> bool:
    answer = node.api.create(jobs.pod("asked", ["true"]), namespace, dry_run=True)
    return answer.status == 201 and answer.json["spec"].get("nodeSelector") == POOL
