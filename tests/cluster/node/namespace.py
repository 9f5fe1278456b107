"""A namespace of the cluster: what is submitted to it, its pods, and what our command says."""

import json
import subprocess
from collections.abc import Callable
from contextlib import suppress

from tests.cluster.client import RequestFailed
from tests.cluster.processes import COMMAND, run_command
from tests.waiting import NotReady, wait_until
from webhook.core.model import Object

from .node import Node
from .pods import SECONDS, Pod, Report


class Namespace:
    """One namespace of a node's cluster; `kubeconfig` is that of the user of the command."""

    def __init__(self, node: Node, name: str) -> None:
        self.node, self.api, self.name = node, node.api, name
        self.path = f"/api/v1/namespaces/{name}"
        self.kubeconfig = node.control_plane.admin

    def submit(self, manifest: Object) -> Object:
        """Create an object; give what was made of it. Raise RequestFailed where it is refused.

        Try again where a webhook does not know the namespace yet (404), or gave no answer (500).
        """
        answers = []

        def is_answered() -> bool:
            answers.append(self.api.create(manifest, self.name))
            return answers[-1].status not in (404, 500)

        wait_until(is_answered, f"the webhooks to answer for namespace {self.name}")
        if answers[-1].status != 201:
            raise RequestFailed("POST", self.path, answers[-1])
        return dict(answers[-1].json)

    def start(self, *manifests: Object) -> list[Pod]:
        """Create pods, the last first, as workers come first in most jobs; give them in order."""
        made = [Pod(self.api, self.submit(each)) for each in reversed(manifests)]
        return made[::-1]

    def pods(self) -> list[Pod]:
        """Give the pods that neither end nor have failed, by name."""
        lasting = (one for one in self.items("pods") if one["status"]["phase"] != "Failed")
        return [Pod(self.api, one) for one in lasting if "deletionTimestamp" not in one["metadata"]]

    def items(self, kind: str, api: str = "") -> list[Object]:
        """Give all objects of a kind by its plural; *api*: such as ``apis/batch/v1``."""
        path = f"/{api}/namespaces/{self.name}" if api else self.path
        return list(self.api.expect("GET", f"{path}/{kind}")["items"])

    def events(self, reason: str) -> list[Object]:
        """Give the Events of this reason."""
        return [each for each in self.items("events") if each["reason"] == reason]

    def wait_for_pods(self, count: int) -> list[Pod]:
        """Wait until it has as many that neither end nor have failed, and give them by name."""
        self.wait(lambda: len(self.pods()) == count, f"{count} pods")
        return self.pods()

    def reports(
        self, count: int, accept: Callable[[Report], bool] = lambda _: True
    ) -> list[Report]:
        """Wait until as many pods tell of an acceptable training; give what they tell, by rank."""
        found: list[Report] = []

        def told() -> bool:
            with suppress(RequestFailed):  # a pod has gone meanwhile
                reports = [pod.told() for pod in self.pods()]
                found[:] = [each for each in reports if each and accept(each)]
            return len(found) == count

        self.wait(told, f"{count} pods to have trained")
        return sorted(found, key=lambda report: int(report.train["rank"]))

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait for something; AssertionError tells what the pods and the operators wrote."""
        try:
            wait_until(condition, what, SECONDS, interval=1)
        except NotReady as problem:
            raise AssertionError(f"{problem}\n{self.describe()}") from None

    def describe(self) -> str:
        """Give what its pods and the operators wrote, for the message of a failed assertion."""
        spaces = [self, *(Namespace(self.node, name) for name in self.node.operators)]
        pods = [Pod(self.api, each) for space in spaces for each in space.items("pods")]
        return "\n".join(pod.describe() for pod in pods)

    def command(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run `fabric-injector` in the namespace, as its user, with the text as its input."""
        return run_command([*COMMAND, *words, f"--namespace={self.name}"], self.kubeconfig, text)

    def document(self, *words: str, text: str = "") -> Object:
        """Give the JSON of a command that finds something or nothing."""
        done = self.command(*words, "-o", "json", text=text)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return dict(json.loads(done.stdout))

    def explain(self, target: str, *options: str) -> list[Object]:
        """Give what `fabric-injector explain` finds."""
        return list(self.document("explain", target, *options)["findings"])

    def remove(self) -> None:
        """Let it end, and its pods at once."""
        self.api.request("DELETE", self.path)
        self.node.end_pods(self.name)
