"""The API server's own record of who wrote what onto which pod."""

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

POLICY = Path(__file__).parent / "manifests" / "audit-policy.yaml"


class Write(NamedTuple):
    """One annotation that fabric-injector wrote."""

    pod: str
    uid: str
    annotation: str
    value: str


class Audit:
    """Reads the audit log of a control plane that was given `flags`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "audit.log"
        self.flags = (f"--audit-policy-file={POLICY}", f"--audit-log-path={self._log}")

    def writes(self, namespace: str) -> list[Write]:
        """Give what fabric-injector wrote onto pods of the namespace, in order."""
        lines = self._log.read_text().split("\n") if self._log.exists() else []
        found = []
        for event in map(json.loads, lines[:-1]):
            target, sent = event["objectRef"], event.get("requestObject")  # none of who was killed
            is_ours = event.get("userAgent", "").startswith("fabric-injector/")
            is_taken = event["responseStatus"]["code"] == 200
            if is_ours and is_taken and sent and target["namespace"] == namespace:
                annotations = sent["metadata"]["annotations"].items()
                uid = sent["metadata"]["uid"]
                found += [Write(target["name"], uid, *each) for each in annotations]
        return found

    def written_more_than_once(self, namespace: str) -> dict[Write, int]:
        """Give the annotations that were written again with the value that they had before."""
        return {write: n for write, n in Counter(self.writes(namespace)).items() if n > 1}
