"""What a bare API server lacks for that suite: nodes, the profile's label on every namespace, and profiles as the ConfigMap says."""

from pathlib import Path

import yaml

from tests.cluster.client import Client
from tests.cluster.nodes import make_node
from tests.peer.switches import PROFILE, profiles_text
from webhook.core import names

NODES = ("kind-worker", "kind-worker2")
OFFERED = {
    "cpu": "8",
    "memory": "32Gi",
    "pods": "110",
    "hugepages-1Gi": "4Gi",
    "hugepages-2Mi": "4Gi",
    "example.com/foo": "100",
    "example.com/boo": "100",
}
SWITCHES = "/api/v1/namespaces/kube-system/configmaps/nri-control-switches"


def prepare(api: Client) -> None:
    """Make the nodes of the suite's own kind cluster, and a policy that labels every namespace.

    network-resources-injector is asked about all of them.
    """
    for name in NODES:
        make_node(api, name, OFFERED)
    labels = {"metadata": {"labels": {names.PROFILE: PROFILE}}}
    api.expect("PATCH", "/api/v1/namespaces/default", labels)
    text = Path(__file__).with_name("label_namespaces.yaml").read_text()
    for manifest in yaml.safe_load_all(text.format(key=names.PROFILE, profile=PROFILE)):
        api.ensure(manifest)


def follow(api: Client, profiles: Path) -> None:
    """Write the profiles file as the suite's ConfigMap says now."""
    answer = api.request("GET", SWITCHES)
    config = answer.json["data"].get("config.json") if answer.status == 200 else None
    if profiles.read_text() != (text := profiles_text(config)):
        partial = profiles.with_suffix(".new")
        partial.write_text(text)
        partial.replace(profiles)
