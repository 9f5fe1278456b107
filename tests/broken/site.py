"""Where a situation is made: a namespace of its own on the cluster, with a user who looks at it with a user's rights."""

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from tests.cluster.client import RequestFailed
from tests.cluster.controller import Controller
from tests.cluster.node.containerd import Containerd
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod
from tests.cluster.webhook import Webhook, installed_command
from tests.waiting import wait_until
from webhook.core.model import Object
from webhook.core.names import PROFILE
from webhook.diagnose.lease import GRACE_SECONDS

SECONDS = 120
USERS_ROLE = "edit"
RBAC = "rbac.authorization.k8s.io"


class Running(NamedTuple):
    """What runs for all situations. *containerds*: by the node's name; *volcano* installs Volcano unless it is there."""

    node: Node
    containerds: dict[str, Containerd]
    webhook: Webhook
    controller: Controller
    volcano: Callable[[], None]


class Site:
    """One namespace; leaving `with site.undo` starts again what was stopped, and removes the namespace with its pods."""

    def __init__(
        self, running: Running, folder: Path, profile: str | None, labels: dict[str, str]
    ) -> None:
        """Create the namespace with the label of the profile, None: without, and these labels."""
        self.node, self.api = running.node, running.node.api
        self.webhook, self.controller = running.webhook, running.controller
        self._containerds = running.containerds
        self._start_controller()
        self.undo = ExitStack()
        own = {} if profile is None else {PROFILE: profile}
        plane = self.node.control_plane
        self.name = plane.create_namespace(f"broken-{uuid4().hex[:8]}", own | labels)
        self.undo.callback(self._remove)
        self.api.ensure(
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "user"}}, self.name
        )
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": USERS_ROLE}
        account = {"kind": "ServiceAccount", "name": "user", "namespace": self.name}
        binding = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": "user"}}
        self.api.ensure({**binding, "roleRef": reference, "subjects": [account]}, self.name)
        token = plane.service_account_token(self.name, "user")
        self._kubeconfig = plane.kubeconfig(folder / "user.kubeconfig", token)
        user = plane.client(token)
        networks = f"/apis/k8s.cni.cncf.io/v1/namespaces/{self.name}/network-attachment-definitions"
        wait_until(lambda: user.answers(networks), f"role {USERS_ROLE} to be put together", 60)

    def label(self, profile: str) -> None:
        """Give the namespace the label of a profile."""
        body = {"metadata": {"labels": {PROFILE: profile}}}
        self.api.expect("PATCH", f"/api/v1/namespaces/{self.name}", body)

    def give(self, manifest: Object) -> None:
        """Create an object in the namespace; raise RequestFailed where it is refused."""
        response = self.api.create(manifest, self.name)
        if response.status != 201:
            raise RequestFailed("POST", self.api.path(manifest, self.name), response)

    def pods(self) -> list[Pod]:
        """Give the pods of the namespace that do not end, by name."""
        found = self.api.expect("GET", f"/api/v1/namespaces/{self.name}/pods")["items"]
        return [
            Pod(self.api, one, 0.0) for one in found if "deletionTimestamp" not in one["metadata"]
        ]

    def wait_for_pods(self, count: int) -> list[Pod]:
        """Wait until there are as many, and give them."""
        wait_until(lambda: len(self.pods()) == count, f"{count} pods", SECONDS)
        return self.pods()

    def events(self, kind: str) -> list[Object]:
        """Give the Warnings about objects of this kind."""
        found = self.api.expect("GET", f"/api/v1/namespaces/{self.name}/events")["items"]
        return [
            one
            for one in found
            if one["type"] == "Warning" and one["involvedObject"]["kind"] == kind
        ]

    def wait_for_event(self, kind: str, text: str) -> Object:
        """Wait until a Warning about an object of this kind contains the text, and give it."""
        found: list[Object] = []

        def told() -> bool:
            found[:] = [one for one in self.events(kind) if text in one["message"]]
            return bool(found)

        wait_until(told, f"a Warning about a {kind}: {text}", SECONDS, interval=0.5)
        return found[-1]

    def containerd(self, pod: Pod) -> Containerd:
        """Give the container runtime of the pod's node."""
        return self._containerds[pod.get()["spec"]["nodeName"]]

    def kill_controller(self) -> None:
        """Kill the controller, which keeps the Lease, until the situation is left."""
        self.undo.callback(self._start_controller)
        self.controller.stop(force=True)

    def wait_for_stale_lease(self) -> None:
        """Wait until the Lease is judged to be held by nobody that runs."""
        wait_until(self._is_lease_stale, "the controller's Lease to run out", 90, interval=0.5)

    def stop_webhook(self) -> None:
        """Stop the webhook until it is started again, or the situation is left."""
        self.undo.callback(self.start_webhook)
        self.webhook.stop()

    def start_webhook(self) -> None:
        """Start the webhook unless it runs."""
        if self.webhook.status("/readyz") is None:
            self.webhook.start()

    def explain(self, target: str) -> dict[str, Any]:
        """Give the document of `fabric-injector explain`, as the user runs it."""
        return self._run("explain", target)

    def status(self) -> dict[str, Any]:
        """Give the document of `fabric-injector status`, as the user runs it."""
        return self._run("status")

    def screen(self, target: str) -> str:
        """Give what `fabric-injector explain` prints for people."""
        return self._command("explain", target, "-n", self.name).stdout

    def _run(self, *words: str) -> dict[str, Any]:
        done = self._command(*words, "-n", self.name, "-o", "json")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def _command(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = installed_command()
        assert command is not None
        environment = {**os.environ, "KUBECONFIG": str(self._kubeconfig)}
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=120, env=environment
        )

    def _start_controller(self) -> None:
        """Start the controller unless it runs: it ends by itself where the machine has stood still for longer than its Lease."""
        if not self.controller.is_running():
            self.controller.start()
        self.controller.wait_until_leading()

    def _is_lease_stale(self) -> bool:
        path = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector"
        spec = self.api.expect("GET", path)["spec"]
        age = datetime.now(UTC) - datetime.fromisoformat(spec["renewTime"])
        return age.total_seconds() > int(spec["leaseDurationSeconds"]) + GRACE_SECONDS + 1

    def _remove(self) -> None:
        self.api.request("DELETE", f"/api/v1/namespaces/{self.name}")
        for group in ("batch/v1", "batch.volcano.sh/v1alpha1"):
            self.api.request(
                "DELETE",
                f"/apis/{group}/namespaces/{self.name}/jobs/ddp?propagationPolicy=Background",
            )
        self.node.end_pods(self.name)
        pods = f"/api/v1/namespaces/{self.name}/pods"
        wait_until(lambda: not self.api.expect("GET", pods)["items"], "its pods to end", SECONDS)
