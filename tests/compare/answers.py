"""Answer for the pods of manifests, one line of JSON a file: `python -m tests.compare.answers FILE…`.

`make compare` runs it inside the commit that answers: where the functions change that it calls, it changes with them. Every network
and namespace exists that a pod or profile names, and no rank 0 has an address yet.
"""

import json
import sys
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import jsonpatch
import orjson

from tests import hostile
from tests.diagnose.explain.test_screens import SCENES
from tests.worlds import network
from webhook.core import names, podspec
from webhook.core.errors import InputError, MalformedReview
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.networks import define_network
from webhook.core.profiles import Profiles, parse_profiles
from webhook.core.review import answer_review
from webhook.dry_run.templates import Template, find_templates, parse_documents
from webhook.presets import read_presets


class World:
    """A cluster in which every namespace carries the label of *profile*."""

    profile = ""

    def namespace(self, name: str) -> Namespace:
        return Namespace(
            name, {names.PROFILE: self.profile, **hostile.SPACES.get(self.profile, {})}
        )

    fresh_namespace = namespace

    @staticmethod
    @cache
    def network(namespace: str, name: str) -> NetworkDefinition:
        return define_network(network(f"{namespace}/{name}", f"example.com/{name}"))

    def has_profile(self, _name: str) -> bool:
        return False


def read_profiles() -> Profiles:
    """Return the profiles of the tests and the presets."""
    presets = {each.name: parse_profiles(each.text).profiles[each.name] for each in read_presets()}
    return Profiles(
        profiles={**hostile.PROFILES.profiles, **presets},
        own_image="registry.example.com/fabric-injector:1",
    )


def answer_file(file: Path, profiles: Profiles, world: World) -> dict[str, Any]:
    """Return the pods of a file, each with its answers by profile, or why the file is refused."""
    try:
        templates = find_templates(parse_documents(file.read_text(errors="replace")), "research")
    except InputError as error:
        return {"refused": str(error), "pods": []}
    found = []
    for template in templates.pods:
        answers = {}
        for world.profile in profiles.profiles:
            answers[world.profile] = _answer(template, profiles, world)
        name = f"{template.source} {podspec.display_name(template.pod)}"
        found.append(
            {"name": name, "pod": template.pod, "replicas": template.replicas, "answers": answers}
        )
    return {"pods": found}


def _answer(template: Template, profiles: Profiles, world: World) -> Object:
    """Return the pod as it leaves admission, or how it is denied."""
    resource = {"group": "", "version": "v1", "resource": "pods"}
    request = {
        "uid": "1",
        "operation": "CREATE",
        "resource": resource,
        "namespace": template.namespace,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    body = orjson.dumps({**review, "request": {**request, "object": template.pod}})
    try:
        response = orjson.loads(answer_review(body, profiles, world).body)["response"]
    except MalformedReview as error:
        return {"denied": str(error)}
    except Exception as error:  # a difference like any other, and all other pods are to be seen
        return {"crashed": repr(error)}
    if not response["allowed"]:
        return {"denied": response["status"]["message"]}
    pod: Object = jsonpatch.apply_patch(
        template.pod, orjson.loads(b64decode(response.get("patch", "W10=")))
    )
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    if annotations.pop(names.STATUS, None) is not None and not annotations:
        del pod["metadata"]["annotations"]
    return {"allowed": pod}


if __name__ == "__main__":
    profiles, world = read_profiles(), World()
    for file in sys.argv[1:]:
        print(json.dumps({"file": file, **answer_file(Path(file), profiles, world)}), flush=True)
    explained = {name: scene().explained.findings for name, scene in SCENES.items()}
    told = {
        name: [(one.topic, one.level, one.subject) for one in found]
        for name, found in explained.items()
    }
    print(json.dumps({"file": "the scenes of explain", "pods": [], "explained": told}))
