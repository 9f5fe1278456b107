"""A list of which only declared fields are read: it takes what the check of each pod takes, and loses nothing declared."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.diagnose.hostile import JUNK, broken, places
from tests.diagnose.scenes import Scene
from tests.fake_apiserver import PODS as PATH
from tests.fake_apiserver import FakeApiServer, text
from tests.served import as_served
from webhook.core.model import Object
from webhook.diagnose.status.jobs import PodKeeper
from webhook.kube.catalogue import PODS
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials
from webhook.kube.pod_list import read_pods
from webhook.kube.reader import Reader
from webhook.kube.resource import Misfit


def listed(*pods: Any) -> bytes:
    return json.dumps({"metadata": {"continue": "t"}, "items": pods}).encode()


def served() -> Object:
    pod = as_served(Scene(1).workers[0], 1)
    pod["metadata"] |= {"managedFields": [{"manager": "x"}], "finalizers": ["x/y"]}
    pod["status"] |= {"message": "m", "extendedResourceClaimStatus": {"requestMappings": [1]}}
    pod["status"]["containerStatuses"][0]["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error"}}
    return pod


def declared(value: Any, shape: Any) -> Any:
    """Return the fields of a value that its shape names."""
    if isinstance(shape, list):
        return [declared(each, shape[0]) for each in value]
    if not isinstance(shape, dict) or not shape or "*" in shape:
        return value
    return {key: declared(value[key], inner) for key, inner in shape.items() if key in value}


def test_reads_each_declared_field_and_the_spec_as_it_was_sent() -> None:
    pod = served()
    page = read_pods(listed(pod, pod))
    assert page is not None
    assert page["metadata"] == {"continue": "t"}
    for found in page["items"]:
        assert isinstance(found["spec"], msgspec.Raw)
        assert json.loads(bytes(found["spec"])) == pod["spec"]
        assert found["status"] == declared(pod["status"], PODS.shape["status"])
        left = {"managedFields", "resourceVersion", "generation"}
        owners = [
            {key: value for key, value in each.items() if key != "blockOwnerDeletion"}
            for each in pod["metadata"]["ownerReferences"]
        ]
        metadata = {key: value for key, value in pod["metadata"].items() if key not in left}
        assert found["metadata"] == metadata | {"ownerReferences": owners}


def test_takes_no_pod_that_the_check_refuses() -> None:
    pod = served()
    del pod["metadata"]["managedFields"]  # nobody looks at it
    taken = refused = 0
    for at in places({key: pod[key] for key in ("metadata", "status")}):
        for junk in JUNK:
            wrong = broken(pod, at, junk)
            if read_pods(listed(wrong)) is not None:
                assert PODS.misfit(wrong) == "", (at, junk)
                taken += 1
            else:
                refused += 1
    assert taken > 500
    assert refused > 500


@pytest.mark.parametrize("body", [b"", b"[]", b'{"items": 7}', b'{"items": [null]}', b'{"items": [{"spec": {}}]}'])
def test_leaves_what_is_no_list_of_pods(body: bytes) -> None:
    assert read_pods(body) is None


def test_names_each_pod_that_cannot_be_read_as_other_lists_do() -> None:
    good, wrong = served(), served()
    good["metadata"]["name"] = "good"
    wrong["status"]["containerStatuses"] = {}
    with FakeApiServer() as server:
        answer = json.dumps({"metadata": {}, "items": [wrong, good, None, {"metadata": {}}]})
        server.misbehave("list", PATH, text(200, answer))
        [page] = Reader(Connection(Credentials("test", server.url))).pages(PODS, dict, most=1, spec_as_text=True)
    assert [each["metadata"]["name"] for each in page.objects] == ["good"]
    assert page.broken == [
        ("pods/bert-worker-0", "status.containerStatuses is not a list"),
        ("one of the pods", "it is not an object"),
        ("one of the pods", "metadata.name is missing"),
    ]


def test_what_the_reader_of_a_spec_finds_wrong_is_named() -> None:
    def read(pod: Object) -> Object:
        raise Misfit(f"spec of {pod['metadata']['name']} is not as it should be")

    pod = served()
    with FakeApiServer() as server:
        server.put(PATH, "a", "ml", spec=pod["spec"], status=pod["status"])
        [page] = Reader(Connection(Credentials("test", server.url))).pages(PODS, read, most=1, spec_as_text=True)
    assert page.broken == [("pods/a", "spec of a is not as it should be")]


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "9" * 30])
def test_a_quantity_beyond_64_bits_is_named(number: str) -> None:
    pod = served()
    pod["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = "NUMBER"
    with FakeApiServer() as server:
        server.misbehave("list", PATH, text(200, json.dumps({"items": [pod]}).replace('"NUMBER"', number)))
        [page] = Reader(Connection(Credentials("test", server.url))).pages(
            PODS, PodKeeper(PODS.check).keep, most=1, spec_as_text=True
        )
    where = "pod.spec.containers[0].resources.limits['rdma/hca']"
    assert page.broken == [("pods/bert-worker-0", f"{where}: expected a quantity of at most 64 bits, found a number")]
