"""Pods that run: waited for, and read back."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.cluster.client import Client
from tests.waiting import NotReady, wait_until
from webhook.core import names
from webhook.core.model import Object

SECONDS = 600
"""In which whatever a pod does is done, also where the machine is busy."""
TOLD = re.compile(r'(?:\[\S*\]:)?(\{".*\})')
"""A line of a training program, before which torchrun --tee may write the rank."""
HOLD = "HOLD_SECONDS"
"""The variable by which a training program runs on once it has told."""


class Pod:
    """One pod of the cluster, by namespace and name; `created` is how it was first seen."""

    def __init__(self, api: Client, created: Object) -> None:
        self.api, self.created = api, created
        self.namespace, self.name = created["metadata"]["namespace"], created["metadata"]["name"]
        self.uid = created["metadata"]["uid"]
        self.path = f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"

    def get(self) -> Object:
        """Give the pod as it is now."""
        return dict(self.api.expect("GET", self.path))

    def annotation(self, key: str) -> str:
        """Give an annotation's value; empty where there is none."""
        return str(self.get()["metadata"].get("annotations", {}).get(key, ""))

    def attached(self, interface: str = "net1") -> Object:
        """Give what Multus says of an interface that it made; empty where it has not yet."""
        attached: list[Object] = json.loads(self.annotation(names.NETWORK_STATUS) or "[]")
        return next((one for one in attached if one.get("interface") == interface), {})

    def fabric_address(self, interface: str = "net1") -> str:
        """Give the address that Multus says it gave the interface; empty where it has not yet."""
        return str(next(iter(self.attached(interface).get("ips") or []), ""))

    def allocated(self) -> Object:
        """Give the devices that the kubelet gave its first container."""
        return dict(self.get()["status"]["containerStatuses"][0]["allocatedResources"])

    def delete(self, seconds: int = 0) -> None:
        """Give its containers so many seconds, and return once its name is free."""
        self.api.expect("DELETE", f"{self.path}?gracePeriodSeconds={seconds}")
        wait_until(self._is_gone, f"pod {self.name} to be gone", SECONDS)

    def wait(self, condition: Callable[[Object], object], what: str) -> Object:
        """Wait until the condition holds, and give the pod. AssertionError tells what it wrote."""
        try:
            wait_until(lambda: condition(self.get()), what, SECONDS, interval=0.3)
        except NotReady as problem:
            raise AssertionError(f"pod {self.name}: {problem}\n{self.describe()}") from None
        return self.get()

    def wait_for_annotation(self, key: str, value: str | None = None) -> None:
        """Wait until the annotation has the value, or any where none is given."""
        what = f"annotation {key}={value}"
        self.wait(lambda _: (have := self.annotation(key)) and value in (None, have), what)

    def wait_until_running(self, container: str) -> None:
        """Wait until the container, init container or not, runs."""
        self.wait(lambda pod: "running" in container_state(pod, container), f"{container} to run")

    def wait_for_end(self, phase: str = "Succeeded") -> None:
        """Wait until the pod has ended, and so."""
        pod = self.wait(lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"), "its end")
        assert pod["status"]["phase"] == phase, self.describe()

    def report(self) -> "Report":
        """Wait until its program has told what it found, and has ended well unless it holds."""
        containers = self.created["spec"]["containers"]
        if any(each["name"] == HOLD for one in containers for each in one.get("env", ())):
            self.wait(lambda _: "train" in self._lines(), "what its training program tells")
        else:
            self.wait_for_end()
        report = self.told()
        assert report, self.describe()
        return report

    def told(self) -> "Report | None":
        """Give what the training program has told so far; None where it has not."""
        told = self._lines()
        if train := told.get("train"):
            return Report(told.get("torchrun", train["environment"]), train, self)
        return None

    def environment(self) -> Mapping[str, str]:
        """Wait until torchrun has told the environment of the training container, and give that."""
        self.wait(lambda _: "torchrun" in self._lines(), "what torchrun tells")
        return dict(self._lines()["torchrun"])

    def log(self, container: str) -> str:
        """Give what a container has written; empty where there is no such log."""
        return str(self.api.request("GET", f"{self.path}/log?container={container}").json)

    def describe(self) -> str:
        """Give status, events and the ends of the logs, for the message of a failed assertion."""
        pod, spec = self.api.request("GET", self.path).json, self.created["spec"]
        events = f"/api/v1/namespaces/{self.namespace}/events?fieldSelector=involvedObject.name%3D"
        told = self.api.expect("GET", f"{events}{self.name}")["items"]
        lines = [f"=== {self.name}", json.dumps(pod, indent=1)]
        lines += [f"{event['reason']}: {event['message']}" for event in told]
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            lines += [f"--- {container['name']}", *self.log(container["name"]).splitlines()[-50:]]
        return "\n".join(lines)

    def _is_gone(self) -> bool:
        found = self.api.request("GET", self.path)
        return found.status == 404 or found.json["metadata"]["uid"] != self.uid

    def _lines(self) -> dict[str, Any]:
        """Give the objects that the training container has told, by their keys."""
        first, told = self.created["spec"]["containers"][0]["name"], dict[str, Any]()
        for line in self.log(self.annotation(names.CONTAINER) or first).splitlines():
            if found := TOLD.fullmatch(line):
                told |= json.loads(found[1])
        return told


class Report(NamedTuple):
    """The training container's environment, and what its training program found."""

    environment: Mapping[str, str]
    train: Mapping[str, Any]
    pod: Pod

    @property
    def master_addr(self) -> str:
        """Give the MASTER_ADDR of the training process."""
        return str(self.train["environment"]["MASTER_ADDR"])

    def carried(self, interface: str) -> int:
        """Give the bytes that the interface received and sent while the data was exchanged."""
        return int(self.train["after"][interface]) - int(self.train["before"][interface])


def container_state(pod: Object, name: str) -> Object:
    """Give the state of a container or init container; empty where it has none yet."""
    status = pod["status"]
    both = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    return next((dict(one["state"]) for one in both if one["name"] == name), {})


def unschedulable(pod: Object) -> str:
    """Give what the scheduler says of a pod for which it has no node; empty where it has one."""
    conditions = {one.get("reason"): one for one in pod["status"].get("conditions", [])}
    return str(conditions.get("Unschedulable", {}).get("message", ""))
