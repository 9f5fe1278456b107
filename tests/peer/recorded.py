"""Both injectors in one cluster: pods through both mutations, in both orders, its answers recorded from its real code.

`python -m tests.peer.recorded PROGRAM` records anew; PROGRAM is built by tests.peer.suite.build_mutate.
"""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonpatch

from tests import pods
from tests.profiles import profiles
from tests.worlds import namespace, network
from webhook.core import names
from webhook.core.model import Object
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

RECORDED = Path(__file__).with_name("recorded.json")
NETWORKS = {
    "rails/rail-0": "nvidia.com/rail_0",
    "rails/rail-1": "nvidia.com/rail_1",
    "train/own": "nvidia.com/rail_0",
}
PROFILES = profiles("""
rails:
  pods: all
  networks: [{network: rails/rail-0}, {network: rails/rail-1}]
completes:
  pods: all
  rendezvous: {enabled: false}
""")
MODES = {"default": (), "honour": ("-honor-resources",)}


class RecordDiffers(Exception):
    """What was recorded is not what both do now."""


class Case(NamedTuple):
    """One pod, one profile of ours, one mode of theirs."""

    name: str
    profile: str
    mode: str
    pod: Object


def cases() -> Iterator[Case]:
    """Give each pod with each profile and mode."""
    for mode in MODES:
        for profile in PROFILES.profiles:
            for name, pod in _pods():
                for container in pod["spec"]["containers"]:
                    container.setdefault(
                        "resources", {}
                    )  # as the API server sends it, and as its patch needs it
                yield Case(f"{name}, {profile}, {mode}", profile, mode, pod)


def _pods() -> Iterator[tuple[str, Object]]:
    hugepages = {"hugepages-2Mi": "4Mi", "memory": "1Gi"}
    held = {"nvidia.com/rail_0": "1"}
    yield "a network of its own", _attached(pods.plain(), "own")
    yield "a rail twice", _attached(pods.plain(), "rails/rail-0,rails/rail-0")
    two = _attached(pods.plain(), "own")
    two["spec"]["containers"].append(
        {"name": "side", "image": "i", "resources": {"limits": held, "requests": held}}
    )
    yield "a device in the second container", two
    huge = _attached(pods.plain(), '[{"name": "own"}]')
    huge["spec"]["containers"][0]["resources"] = {"limits": hugepages, "requests": hugepages}
    yield "hugepages", huge
    yield "TorchX rank 1", pods.load("pods/volcano-pod-1.yaml")


def _attached(pod: Object, networks: str) -> Object:
    pod["metadata"]["annotations"] = {names.NETWORKS: networks}
    return pod


def ours(case: Case, pod: Object) -> Verdict:
    """Judge *pod* as fabric-injector does."""
    world = ObjectsWorld(
        [namespace("train", case.profile), *(network(key, NETWORKS[key]) for key in NETWORKS)]
    )
    return decide(pod, "train", PROFILES, world)


def theirs(program: Path, mode: str, found: list[Object]) -> list[Object]:
    """Give each pod as network-resources-injector leaves it; raise where it refuses one."""
    known = {key: {names.RESOURCE_NAME: resource} for key, resource in NETWORKS.items()}
    command = [str(program), f"-networks={json.dumps(known)}", *MODES[mode]]
    reviews = "".join(json.dumps(_review(pod)) + "\n" for pod in found)
    done = subprocess.run(command, input=reviews, capture_output=True, text=True, check=True)
    return [
        _patched(pod, json.loads(line)["response"])
        for pod, line in zip(found, done.stdout.splitlines(), strict=True)
    ]


def _review(pod: Object) -> Object:
    request = {"uid": "1", "namespace": "train", "operation": "CREATE", "object": pod}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _patched(pod: Object, response: Object) -> Object:
    if not response["allowed"]:
        raise ValueError(response["status"]["message"])
    patch = json.loads(base64.b64decode(response.get("patch") or "") or "null") or []
    result: Object = jsonpatch.apply_patch(pod, patch)
    return _without_files(result)


def _without_files(pod: Object) -> Object:
    """Return the pod without the volume of files that it adds and we do not: no other part depends on them."""
    spec = pod["spec"]
    _leave_out(spec, "volumes", "podnetinfo")
    for container in spec["containers"]:
        _leave_out(container, "volumeMounts", "podnetinfo")
        _leave_out(container, "env", "CONTAINER_NAME")
    return pod


def _leave_out(holder: Object, key: str, name: str) -> None:
    kept = [each for each in holder.get(key) or () if each["name"] != name]
    if kept != (holder.get(key) or []):
        holder[key] = kept
    if not kept:
        holder.pop(key, None)


def record(program: Path) -> dict[str, Any]:
    """Give, of each case, the pod that went through theirs first, and ours through theirs."""
    recorded: dict[str, Any] = {}
    for mode in MODES:
        wanted = [case for case in cases() if case.mode == mode]
        first = theirs(program, mode, [case.pod for case in wanted])
        own = [ours(case, case.pod).pod for case in wanted]
        second = theirs(program, mode, own)
        for case, theirs_first, input_of_second, theirs_second in zip(
            wanted, first, own, second, strict=True
        ):
            recorded[case.name] = {
                "first": theirs_first,
                "ours": input_of_second,
                "second": theirs_second,
            }
    return recorded


def load() -> dict[str, Any]:
    """Give what was recorded."""
    recorded: dict[str, Any] = json.loads(RECORDED.read_text())
    return recorded


def check_recorded(program: Path) -> None:
    """Compare what was recorded with what its code does now; raise RecordDiffers naming what differs."""
    now, then = json.loads(json.dumps(record(program))), load()
    different = [name for name in now if now[name] != then.get(name)]
    if different or now.keys() != then.keys():
        raise RecordDiffers(
            f"recorded.json is not what it does: {different}; record anew and look at the difference"
        )


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(record(Path(sys.argv[1])), indent=1, sort_keys=True) + "\n")
