"""The API server's own record of who wrote what onto which pod."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import yaml

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "Request",
            "verbs": ["patch"],
            "resources": [{"group": "", "resources": ["pods/status"]}],
        },
        {"level": "None"},
    ],
}


class Write(NamedTuple):
    """One annotation that a request of fabric-injector wrote, or tried to; *status* as it was answered."""

    namespace: str
    pod: str
    uid: str
    annotation: str
    value: str
    status: int


class Audit:
    """Reads the audit log of a control plane that was given `flags`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "audit.log"
        policy = folder / "audit-policy.yaml"
        policy.write_text(yaml.safe_dump(POLICY))
        self.flags = (f"--audit-policy-file={policy}", f"--audit-log-path={self._log}")

    def tries(self, namespace: str) -> list[Write]:
        """Give every annotation that fabric-injector sent for pods of the namespace, in order."""
        lines = self._log.read_text().split("\n") if self._log.exists() else []
        return [
            write
            for line in lines[:-1]
            for write in _writes(json.loads(line))
            if write.namespace == namespace
        ]

    def writes(self, namespace: str) -> list[Write]:
        """Give those that the API server took."""
        return [write for write in self.tries(namespace) if write.status == 200]

    def written_more_than_once(self, namespace: str) -> dict[Write, int]:
        """Give the annotations that were written again with the value that they had got before."""
        counts = Counter(self.writes(namespace))
        return {write: count for write, count in counts.items() if count > 1}


def _writes(event: dict[str, Any]) -> list[Write]:
    if not event.get("userAgent", "").startswith("fabric-injector/"):
        return []
    if "requestObject" not in event:  # who sent it was killed before all of it was
        return []
    target = event["objectRef"]
    sent = event["requestObject"]["metadata"]
    status = event["responseStatus"]["code"]
    return [
        Write(target["namespace"], target["name"], sent["uid"], key, value, status)
        for key, value in sent["annotations"].items()
    ]
