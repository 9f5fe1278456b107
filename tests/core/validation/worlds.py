"""Give validation a cluster of a few words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webhook.core.errors import Unavailable
from webhook.core.model import NetworkDefinition, Object
from webhook.core.profiles import Profile
from webhook.core.profiles.load import parse_configuration, read_profile
from webhook.core.validation import UnfinishedPods


@dataclass
class FewWords:
    """Implement ValidationWorld; *new*: specs of profiles that are not in force yet. *silent*: nothing can be asked."""

    pods: Sequence[Object] = ()
    more: bool = False
    users: Sequence[str] = ()
    networks: Sequence[str] = ()
    new: Mapping[str, Any] = field(default_factory=dict)
    silent: bool = False
    asked: list[str] = field(default_factory=list)

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        self._ask(f"network {namespace}/{name}")
        return NetworkDefinition(namespace, name) if f"{namespace}/{name}" in self.networks else None

    def namespaces_naming(self, profile: str) -> Sequence[str]:
        self._ask(f"namespaces of {profile}")
        return self.users

    def unfinished_pods(self, namespace: str) -> UnfinishedPods:
        self._ask(f"pods of {namespace}")
        return UnfinishedPods(self.pods, self.more)

    def new_profile(self, name: str) -> Profile | None:
        self._ask(f"new profile {name}")
        return read_profile(name, self.new[name]) if name in self.new else None

    def read_profile(self, name: str, spec: Any) -> Profile:
        self._ask(f"profile {name}")
        return read_profile(name, spec)

    def check_configuration(self, content: str) -> None:
        self._ask("configuration")
        parse_configuration(content)

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.silent:
            raise Unavailable("the API server is silent")


def review(
    resource: str, operation: str, after: Object | None = None, before: Object | None = None, **request: Any
) -> bytes:
    """Return the AdmissionReview that an API server sends."""
    group, version = ("", "v1") if resource in ("namespaces", "configmaps") else ("fabric-injector.io", "v1alpha1")
    metadata = (after or before or {}).get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, dict) else ""
    fields: dict[str, Any] = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": {"group": group, "version": version, "resource": resource},
        "name": name,
        "operation": operation,
        "object": after,
        "oldObject": before,
        "dryRun": False,
        **request,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": fields}).encode()
