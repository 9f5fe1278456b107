"""Where a situation is made: a namespace of its own, with a user who looks at it."""

from contextlib import ExitStack
from datetime import UTC, datetime

from tests.cluster.controller import Controller
from tests.cluster.node.namespace import Namespace
from tests.cluster.webhook import Webhook
from tests.waiting import wait_until
from webhook.core.model import Object
from webhook.core.names import PROFILE
from webhook.diagnose.common import GRACE_SECONDS

USERS_ROLE = "edit"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/fabric-injector/leases/fabric-injector"


class Site(Namespace):
    """A namespace whose user the command runs as; `undo` starts what was stopped."""

    def __init__(
        self, space: Namespace, webhook: Webhook, controller: Controller, system: str
    ) -> None:
        """Make the user, and wait until the role is put together of what is shipped.

        *system*: whose controller makes the job, ``Job`` or ``Volcano``.
        """
        super().__init__(space.node, space.name)
        self.webhook, self.controller, self.system = webhook, controller, system
        self.undo = ExitStack()
        plane = self.node.control_plane
        token = plane.allow(self.name, role=USERS_ROLE)
        self.kubeconfig = plane.kubeconfig(self.node.folder / f"{self.name}.kubeconfig", token)
        user = plane.client(token)
        networks = f"/apis/k8s.cni.cncf.io/v1/namespaces/{self.name}/network-attachment-definitions"
        wait_until(lambda: user.answers(networks), f"role {USERS_ROLE} to be put together", 120)

    def label(self, profile: str) -> None:
        """Give the namespace the label of a profile."""
        self.api.expect("PATCH", self.path, {"metadata": {"labels": {PROFILE: profile}}})

    def wait_for_warning(self, kind: str, text: str) -> None:
        """Wait until a Warning about an object of this kind contains the text."""
        self.wait(lambda: self._is_told(kind, text), f"a Warning about a {kind}: {text}")

    def kill_controller(self) -> None:
        """Kill the controller, which keeps the Lease; the next test starts it again."""
        self.controller.stop(force=True)

    def wait_for_stale_lease(self) -> None:
        """Wait until the Lease is judged to be held by nobody that runs."""
        self.wait(self._is_lease_stale, "the controller's Lease to run out")

    def stop_webhook(self) -> None:
        """Stop the webhook until it is started again, or the situation is left."""
        self.undo.callback(self.start_webhook)
        self.webhook.stop()

    def start_webhook(self) -> None:
        """Start the webhook unless it runs."""
        if self.webhook.status("/readyz") is None:
            self.webhook.start()

    def _is_told(self, kind: str, text: str) -> bool:
        return any(
            each["type"] == "Warning" and _is_about(each, kind, text)
            for each in self.items("events")
        )

    def _is_lease_stale(self) -> bool:
        spec = self.api.expect("GET", LEASE)["spec"]
        age = datetime.now(UTC) - datetime.fromisoformat(spec["renewTime"])
        return age.total_seconds() > int(spec["leaseDurationSeconds"]) + GRACE_SECONDS + 1


def _is_about(event: Object, kind: str, text: str) -> bool:
    return event["involvedObject"]["kind"] == kind and text in event["message"]
