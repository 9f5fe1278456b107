"""What a bare API server lacks for that suite: nodes, and somebody who puts pods on them and calls them running."""

import threading
from pathlib import Path
from typing import Any

from tests.cluster.client import Client
from tests.peer.switches import PROFILE, profiles_text
from webhook.core import names

NODES = ("kind-worker", "kind-worker2")
_HOST = "kubernetes.io/hostname"
_SECONDS = 0.2
_SWITCHES = "/api/v1/namespaces/kube-system/configmaps/nri-control-switches"
_POLICIES = "/apis/admissionregistration.k8s.io/v1"


def make_nodes(api: Client) -> None:
    """Create the nodes of the suite's own kind cluster, with what they say to have."""
    held = {
        "cpu": "8",
        "memory": "32Gi",
        "pods": "110",
        "hugepages-1Gi": "4Gi",
        "hugepages-2Mi": "4Gi",
    }
    for name in NODES:
        api.expect("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {_HOST: name}}})
        status = {"capacity": {**held, "example.com/foo": "100", "example.com/boo": "100"}}
        api.expect("PATCH", f"/api/v1/nodes/{name}/status", {"status": status})


def label_namespaces(api: Client) -> None:
    """Give every namespace the profile's label: network-resources-injector is asked about all of them."""
    name = "label-namespaces"
    spec: dict[str, Any] = {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["namespaces"],
                }
            ]
        },
        "reinvocationPolicy": "Never",
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": f'Object{{metadata: Object.metadata{{labels: {{"{names.PROFILE}": "{PROFILE}"}}}}}}'
                },
            }
        ],
    }
    api.expect(
        "POST", f"{_POLICIES}/mutatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec}
    )
    bound = {"metadata": {"name": name}, "spec": {"policyName": name}}
    api.expect("POST", f"{_POLICIES}/mutatingadmissionpolicybindings", bound)
    api.expect(
        "PATCH", "/api/v1/namespaces/default", {"metadata": {"labels": {names.PROFILE: PROFILE}}}
    )


class StandIn(threading.Thread):
    """Bind each pod to a node that its selector allows, call it running, and keep the profiles as the ConfigMap says."""

    def __init__(self, api: Client, profiles: Path) -> None:
        """Prepare one that writes the profiles file."""
        super().__init__(name="stand-in", daemon=True)
        self._api = api
        self._profiles = profiles
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End it."""
        self._stopped.set()
        self.join()

    def run(self) -> None:
        """Look every 0.2 s until it is stopped."""
        while not self._stopped.wait(_SECONDS):
            for pod in self._api.expect("GET", "/api/v1/pods")["items"]:
                self._place(pod)
            answer = self._api.request("GET", _SWITCHES)
            text = profiles_text(
                answer.json["data"].get("config.json") if answer.status == 200 else None
            )
            if self._profiles.read_text() != text:
                partial = self._profiles.with_suffix(".new")
                partial.write_text(text)
                partial.replace(self._profiles)

    def _place(self, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{name}"
        if not pod["spec"].get("nodeName"):
            wanted = pod["spec"].get("nodeSelector", {}).items()
            node = next((node for node in NODES if wanted <= {_HOST: node}.items()), None)
            if node is not None:
                target = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
                self._api.request("POST", f"{path}/binding", target)
        elif pod["status"].get("phase") == "Pending":
            self._api.request("PATCH", f"{path}/status", {"status": {"phase": "Running"}})
