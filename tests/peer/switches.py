"""Turn the ConfigMap of network-resources-injector into the profiles that do the same: what a person moving over writes by hand."""

import itertools
import json
from typing import Any

from tests.profiles import as_text
from webhook.core import names

BASE: dict[str, Any] = {
    "pods": "all",
    "existingDevices": "keep",
    "ipcLock": False,
    "sharedMemory": {"enabled": False},
    "rendezvous": {"enabled": False},
}
"""What it does, but for the files that -injectHugepageDownApi adds."""
PROFILE = "complete"


def profiles_text(config: str | None) -> str:
    """Give profiles.yaml for the text of ``config.json``, None where there is no ConfigMap.

    One profile for all pods, one for each user-defined injection, and one for each two of them, chosen by the pod's labels.
    """
    settings = json.loads(config) if config else {}
    base = {**BASE}
    features = settings.get("features", {})
    if features.get("enableHonorExistingResources"):
        base["existingDevices"] = "add"
    profiles = {PROFILE: base}
    injections = {
        key: entry["value"] for key, entry in settings.get("user-defined-injections", {}).items()
    }
    for size in (1, 2):
        for keys in itertools.combinations(injections, size):
            wanted = {key: value for one in keys for key, value in injections[one].items()}
            attached = [
                part.strip() for part in wanted.pop(names.NETWORKS, "").split(",") if part.strip()
            ]
            profiles[f"{PROFILE}-{len(profiles)}"] = {
                **base,
                "podLabels": dict.fromkeys(keys, "true"),
                "pod": {"metadata": {"annotations": wanted}},
                "networks": [{"network": one} for one in attached],
            }
    return as_text(json.dumps(profiles))
