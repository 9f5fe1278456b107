"""Pods of the tests: created, waited for, and read back."""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.cluster.client import Client, RequestFailed
from tests.waiting import NotReady, wait_until
from webhook.core import names
from webhook.core.model import Object

SECONDS = 90
TOLD = re.compile(r'(?:\[\S*\]:)?(\{".*\})')
"""A line of a training program, before which torchrun --tee may write the rank."""


class Pod:
    """One pod of the cluster, by namespace and name."""

    def __init__(self, api: Client, created: Object, at: float) -> None:
        """Take the API server's answer to the creation that was asked for *at* this time."""
        self.api, self.created, self.at = api, created, at
        self.namespace, self.name = created["metadata"]["namespace"], created["metadata"]["name"]
        self.uid = created["metadata"]["uid"]
        self.path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    def get(self) -> Object:
        """Give the pod as it is now."""
        found: Object = self.api.expect("GET", self.path)
        return found

    def annotation(self, key: str) -> str:
        """Give an annotation's value; empty where there is none."""
        return str((self.get()["metadata"].get("annotations") or {}).get(key, ""))

    def attached(self, interface: str) -> Object:
        """Give what Multus says of an interface that it made; empty where it has not yet."""
        attached: list[Object] = json.loads(self.annotation(names.NETWORK_STATUS) or "[]")
        return next((one for one in attached if one.get("interface") == interface), {})

    def fabric_address(self, interface: str = "net1") -> str:
        """Give the address that Multus says it gave the interface; empty where it has not yet."""
        return str(next(iter(self.attached(interface).get("ips") or []), ""))

    def delete(self) -> None:
        """Remove it at once, and return when a pod of its name can be created again."""
        self.api.request("DELETE", f"{self.path}?gracePeriodSeconds=0")
        wait_until(lambda: not self.api.answers(self.path), f"pod {self.name} to be gone", 30)

    def delete_gracefully(self, seconds: int = 1) -> None:
        """Ask for its end, as an eviction does, with as many seconds for its containers."""
        self.api.expect("DELETE", f"{self.path}?gracePeriodSeconds={seconds}")

    def wait(
        self, condition: Callable[[Object], bool], what: str, seconds: float = SECONDS
    ) -> Object:
        """Wait until the condition holds for the pod, and give the pod; NotReady tells its status and what it wrote."""
        found: list[Object] = []

        def holds() -> bool:
            found[:] = [self.get()]
            return condition(found[0])

        try:
            wait_until(holds, what, seconds)
        except NotReady as problem:
            raise AssertionError(f"pod {self.name}: {problem}\n{self.describe()}") from None
        return found[0]

    def wait_for_annotation(self, key: str, value: str | None = None) -> str:
        """Wait until the annotation has the value, or any where none is given; give what it has."""
        self.wait(
            lambda _: bool(have := self.annotation(key)) and value in (None, have),
            f"annotation {key}={value}",
        )
        return self.annotation(key)

    def wait_until_running(self, container: str) -> None:
        """Wait until the container, init container or not, runs."""
        self.wait(
            lambda pod: "running" in container_state(pod, container),
            f"container {container} to run",
        )

    def report(self) -> "Report":
        """Wait until the pod has ended well, and give what its training program tells."""
        self.wait(lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"), "its end")
        pod = self.get()
        assert pod["status"]["phase"] == "Succeeded", self.describe()
        return self.told()

    def wait_until_trained(self, seconds: float = SECONDS) -> "Report":
        """Wait until the training program has told what it found, though the pod may run on; give that."""
        self.wait(lambda _: "train" in self._lines(), "what its training program tells", seconds)
        return self.told()

    def told(self) -> "Report":
        """Give what the training program has told so far."""
        told = self._lines()
        assert "train" in told, self.describe()
        return Report(told.get("torchrun", told["train"]["environment"]), told["train"], self)

    def environment(self) -> Mapping[str, str]:
        """Wait until torchrun has told the environment of the training container, and give that."""
        self.wait(lambda _: "torchrun" in self._lines(), "what torchrun tells")
        environment: Mapping[str, str] = self._lines()["torchrun"]
        return environment

    def _lines(self) -> dict[str, Any]:
        annotations = self.get()["metadata"].get("annotations") or {}
        container = (
            annotations.get(names.CONTAINER) or self.created["spec"]["containers"][0]["name"]
        )
        told: dict[str, Any] = {}
        for line in self.log(container).splitlines():
            if found := TOLD.fullmatch(line):
                told |= json.loads(found[1])
        return told

    def log(self, container: str) -> str:
        """Give what a container has written; empty where there is no such log."""
        return str(self.api.request("GET", f"{self.path}/log?container={container}").json)

    def describe(self) -> str:
        """Give status, events and logs, for the message of a failed assertion."""
        pod = self.get()
        events = self.api.expect("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        lines = [
            json.dumps(pod["status"], indent=1),
            json.dumps(pod["metadata"].get("annotations"), indent=1),
        ]
        lines += [
            f"{one['reason']}: {one['message']}"
            for one in events
            if one["involvedObject"].get("name") == self.name
        ]
        for kind in ("initContainers", "containers"):
            for container in pod["spec"].get(kind, []):
                lines.append(f"--- {container['name']}\n{self.log(container['name'])}")
        return "\n".join(lines)


class Report(NamedTuple):
    """The training container's environment, and what its training program found."""

    environment: Mapping[str, str]
    train: Mapping[str, Any]
    pod: Pod

    def carried(self, interface: str) -> int:
        """Give the bytes that the interface received and sent while the data was exchanged."""
        return int(self.train["after"][interface]) - int(self.train["before"][interface])

    def seconds_to_start(self) -> float:
        """Give the time from the pod's creation to the first line of its training container."""
        return float(self.train["started"]) - self.pod.at


def create(api: Client, manifest: Object, namespace: str) -> Pod:
    """Create a pod; raise RequestFailed where it is refused."""
    at = time.time()
    response = api.create(manifest, namespace)
    if response.status != 201:
        raise RequestFailed("POST", api.path(manifest, namespace), response)
    return Pod(api, response.json, at)


def container_state(pod: Object, name: str) -> Object:
    """Give the state of a container or init container; empty where it has none yet."""
    status = pod["status"]
    for one in (*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])):
        if one["name"] == name:
            state: Object = one["state"]
            return state
    return {}
