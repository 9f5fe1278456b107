"""The API server's own record of who wrote what onto which pod."""

import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Request, verbs: [patch], resources: [{group: "", resources: [pods/status]}]}
  - {level: None}
"""


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
        policy = folder / "audit-policy.yaml"
        policy.write_text(POLICY)
        self.flags = (f"--audit-policy-file={policy}", f"--audit-log-path={self._log}")

    def writes(self, namespace: str) -> list[Write]:
        """Give what fabric-injector wrote onto pods of the namespace and the API server took, in order."""
        lines = self._log.read_text().split("\n") if self._log.exists() else []
        found = []
        for event in map(json.loads, lines[:-1]):
            target, sent = event["objectRef"], event.get("requestObject")  # none of who was killed
            is_ours = event.get("userAgent", "").startswith("fabric-injector/")
            is_taken = event["responseStatus"]["code"] == 200
            if is_ours and is_taken and sent and target["namespace"] == namespace:
                told = sent["metadata"]
                found += [
                    Write(target["name"], told["uid"], *each)
                    for each in told["annotations"].items()
                ]
        return found

    def written_more_than_once(self, namespace: str) -> dict[Write, int]:
        """Give the annotations that were written again with the value that they had got before."""
        counts = Counter(self.writes(namespace))
        return {write: count for write, count in counts.items() if count > 1}
