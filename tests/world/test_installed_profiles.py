"""The profiles that a cluster's webhook uses: its objects, and the Configuration."""

from typing import Any

import pytest

from tests.fake_apiserver import (
    FABRIC_PROFILES,
    NOT_INSTALLED,
    Behaviour,
    FakeApiServer,
    status,
    text,
)
from tests.profiles import as_text
from tests.tables import table
from webhook.core.claim_templates import CLAIMS_UNSERVED
from webhook.core.errors import InputError
from webhook.core.profiles import Multus
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfilesRead, of_file_objects, read_file

CONFIG = "/api/v1/namespaces/sys/configmaps/fabric-injector-config"
CONFIGURATION = """\
apiVersion: config.fabric-injector.io/v1alpha1
kind: Configuration
multus: {namespaceIsolation: true}
"""
OBJECT = """\
apiVersion: fabric-injector.io/v1alpha1
kind: FabricProfile
metadata: {name: a}
spec: {}
"""


def read(server: FakeApiServer) -> ProfilesRead:
    return installed_profiles(Reader(server.connection()), "sys")


def config_map(data: object) -> Behaviour:
    return lambda exchange: exchange.answer(
        200, {"metadata": {"name": "c", "namespace": "sys"}, "data": data}
    )


def put(
    server: FakeApiServer, name: str, generation: int = 1, status: Any = None, **spec: Any
) -> None:
    server.put(FABRIC_PROFILES, name, generation=generation, spec=spec, status=status)


def test_reads_objects_and_the_configuration(server: FakeApiServer) -> None:
    put(server, "b", 7, networks=[{"network": "default/rdma-net"}])
    put(server, "a")
    server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
    found = read(server)
    assert (found.source, found.faults, found.unread) == ("FabricProfiles", (), "")
    assert list(found.known().profiles) == ["a", "b"]
    assert found.known().multus == Multus(namespace_isolation=True)
    assert {each.name: each.generation for each in found.objects} == {"b": 7, "a": 1}


def test_the_faults_of_an_object_are_its_own(server: FakeApiServer) -> None:
    put(server, "bad", networks=[{"network": "N/x"}])
    put(server, "good")
    put(server, "twin", podLabels={"x": "y"})
    put(server, "twin-2", podLabels={"x": "y"})
    found = read(server)
    assert list(found.known().profiles) == ["good", "twin", "twin-2"]
    assert found.unusable == {"bad"}
    assert [(fault.where, fault.message.partition(": ")[0]) for fault in found.faults] == [
        ("FabricProfile bad", "spec.networks[0].network"),
        ("FabricProfile twin-2", "spec.podLabels"),
    ]


@table(
    "observed, ready, told",
    {
        "not ready": (3, "False", {"a": "none offers rdma/x"}),
        "not ready before it was changed": (2, "False", {}),
        "ready": (3, "True", {}),
    },
)
def test_reads_what_the_controller_says_of_an_object(
    server: FakeApiServer, observed: int, ready: str, told: dict[str, str]
) -> None:
    conditions = [
        {"type": "Another", "status": "False", "message": "another"},
        {"type": "Ready", "status": ready, "message": "none offers rdma/x"},
    ]
    put(server, "a", 3, {"observedGeneration": observed, "conditions": conditions})
    assert read(server).not_ready == told


def test_says_that_the_definition_is_missing(server: FakeApiServer) -> None:
    server.misbehave("list", FABRIC_PROFILES, text(404, NOT_INSTALLED))
    found = read(server)
    assert found.profiles is None
    with pytest.raises(
        InputError, match=r"no CustomResourceDefinition fabricprofiles\.fabric-injector\.io"
    ):
        found.known()


def test_who_may_list_nothing_learns_that_the_definition_is_missing(server: FakeApiServer) -> None:
    server.misbehave("list", FABRIC_PROFILES, status(403, "no such right"))
    assert "no CustomResourceDefinition" in read(server).missing
    server.misbehave("list", FABRIC_PROFILES, status(403, "no such right"))
    group = {"preferredVersion": {"groupVersion": "fabric-injector.io/v1alpha1"}}
    server.misbehave(
        "get", "/apis/fabric-injector.io", lambda exchange: exchange.answer(200, group)
    )
    with pytest.raises(RequestFailed, match="no such right"):
        read(server)


DEFAULTS = "so Multus is taken to have its defaults"
TITLE = "ConfigMap sys/fabric-injector-config"


@table(
    "answer, fault, unread",
    {
        "absent": (status(404, "gone"), "", ""),
        "refused": (status(403, "no such right"), "", DEFAULTS),
        "no key": (config_map({"other": ""}), f"{TITLE}: holds no config.yaml", ""),
        "another object": (
            config_map({"config.yaml": "kind: Other"}),
            f'{TITLE}, config.yaml, line 1: kind: found "Other"; write one of FabricProfile',
            "",
        ),
        "no object": (
            config_map({"config.yaml": "multus: {defaultNetworks: 1}"}),
            f"{TITLE}, config.yaml, line 1: kind: found nothing; write one of FabricProfile",
            "",
        ),
        "with a profile": (
            config_map({"config.yaml": f"{CONFIGURATION}---\n{OBJECT}"}),
            f"{TITLE}, config.yaml, line 1: kind: the file is to hold one object",
            "",
        ),
    },
)
def test_settings_that_are_not_known_have_their_defaults(
    server: FakeApiServer, answer: Behaviour, fault: str, unread: str
) -> None:
    put(server, "a")
    server.misbehave("get", CONFIG, answer)
    found = read(server)
    assert (found.known().multus, list(found.known().profiles)) == (Multus(), ["a"])
    told = "".join(f"{one.where}: {one.message}" for one in found.faults)
    assert told.startswith(fault)
    assert (bool(told), bool(found.unread)) == (bool(fault), bool(unread))
    assert unread in found.unread


def test_finds_profiles_among_the_objects_of_files() -> None:
    profile = {
        "apiVersion": "fabric-injector.io/v1alpha1",
        "kind": "FabricProfile",
        "metadata": {"name": "a"},
        "spec": {"pod": {"metadata": {"annotations": {"team/note": "\U0001f680"}}}},
    }
    settings = {
        "apiVersion": "config.fabric-injector.io/v1alpha1",
        "kind": "Configuration",
        "multus": {"defaultNetworks": 1},
    }
    found = of_file_objects("f", [{"kind": "Namespace"}, {**profile, "status": {}}, settings])
    assert found is not None
    assert (list(found.known().profiles), found.known().multus) == (
        ["a"],
        Multus(default_networks=1),
    )
    assert of_file_objects("f", [{"kind": "Namespace"}]) is None
    broken = of_file_objects("f", [profile, {**profile, "spec": {}}])
    assert broken is not None
    with pytest.raises(InputError, match="profile a stands at line 1 already"):
        broken.known()


def test_profiles_of_a_file_without_a_configuration_get_the_clusters(server: FakeApiServer) -> None:
    reader = Reader(server.connection())
    for content in (OBJECT, as_text("a: {}")):
        server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
        found = beside_installed_settings(reader, "sys", read_file("f", content)).known()
        assert (list(found.profiles), found.multus) == (["a"], Multus(namespace_isolation=True))
    own = read_file("f", f"{CONFIGURATION.replace('true', 'false')}---\n{OBJECT}")
    server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
    found = beside_installed_settings(reader, "sys", own).known()
    assert found.multus == Multus()


CLAIMS = [{"name": "nic", "requests": [{"name": "r", "deviceClassName": "dranet.net"}]}]


@pytest.mark.parametrize(("versions", "problem"), [(("v1",), ""), (("v1beta2",), CLAIMS_UNSERVED)])
def test_says_whether_claims_are_given(
    server: FakeApiServer, versions: tuple[str, ...], problem: str
) -> None:
    server.groups["/apis/resource.k8s.io"] = list(versions)
    put(server, "cards", claims=CLAIMS)
    assert read(server).known().claims_problem == problem


def test_asks_whether_claims_are_served_only_for_profiles_with_some(server: FakeApiServer) -> None:
    put(server, "spec-of-no-object", claims=None)
    read(server)
    assert not server.asked("get", "/apis/resource.k8s.io")
    server.misbehave("get", "/apis/resource.k8s.io", status(403))
    put(server, "cards", claims=CLAIMS)
    assert read(server).known().claims_problem == ""
