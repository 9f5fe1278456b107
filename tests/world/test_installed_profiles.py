"""The profiles that a cluster's webhook uses, as commands read them: objects, or the file that its Deployment mounts."""

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
from webhook.core.claim_templates import CLAIMS_OF_A_FILE, CLAIMS_UNSERVED
from webhook.core.errors import InputError
from webhook.core.profiles import Multus
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import (
    FROM_OBJECTS,
    ConfigMapKey,
    ProfilesPlace,
    ProfilesRead,
    of_file_objects,
    read_file,
)

DEPLOYMENT = "/apis/apps/v1/namespaces/sys/deployments/fabric-injector-webhook"
CONFIG = "/api/v1/namespaces/sys/configmaps/fabric-injector-config"
CONFIGURATION = "apiVersion: config.fabric-injector.io/v1alpha1\nkind: Configuration\nmultus: {namespaceIsolation: true}\n"


def read(server: FakeApiServer, place: ProfilesPlace | None = FROM_OBJECTS) -> ProfilesRead:
    return installed_profiles(Reader(server.connection()), "sys", place)


def config_map(data: object) -> Behaviour:
    return lambda exchange: exchange.answer(
        200, {"metadata": {"name": "c", "namespace": "sys"}, "data": data}
    )


def deployment(*arguments: str) -> Behaviour:
    container = {
        "name": "webhook",
        "args": ["serve", *arguments],
        "volumeMounts": [{"name": "p", "mountPath": "/p"}],
    }
    pod = {"containers": [container], "volumes": [{"name": "p", "configMap": {"name": "mine"}}]}
    body = {"metadata": {"name": "w", "namespace": "sys"}, "spec": {"template": {"spec": pod}}}
    return lambda exchange: exchange.answer(200, body)


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
    assert found.generations == {"b": 7, "a": 1}


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


def test_reads_what_the_controller_says_of_an_object(server: FakeApiServer) -> None:
    conditions = [
        {"type": "Ready", "status": "False", "reason": "NoDevice", "message": "none offers rdma/x"},
        {"type": "DevicesOffered", "status": "False", "reason": "NoDevice"},
        {"type": "Another", "status": "True"},
        "what is none",
    ]
    put(server, "a", 3, {"observedGeneration": 2, "conditions": conditions})
    [one] = read(server).objects
    assert (one.generation, one.observed) == (3, 2)
    assert one.conditions == {
        "Ready": ("False", "none offers rdma/x"),
        "DevicesOffered": ("False", "NoDevice"),
        "Another": ("True", ""),
    }


def test_says_that_the_definition_is_missing(server: FakeApiServer) -> None:
    server.misbehave("list", FABRIC_PROFILES, text(404, NOT_INSTALLED))
    found = read(server)
    assert found.profiles is None
    with pytest.raises(
        InputError, match=r"no CustomResourceDefinition fabricprofiles\.fabric-injector\.io"
    ):
        found.known()


def test_who_may_list_nothing_learns_that_the_definition_is_missing(
    server: FakeApiServer,
) -> None:
    server.misbehave("list", FABRIC_PROFILES, status(403, "no such right"))
    assert "no CustomResourceDefinition" in read(server).missing
    server.misbehave("list", FABRIC_PROFILES, status(403, "no such right"))
    group = {"preferredVersion": {"groupVersion": "fabric-injector.io/v1alpha1"}}
    server.misbehave(
        "get", "/apis/fabric-injector.io", lambda exchange: exchange.answer(200, group)
    )
    with pytest.raises(RequestFailed, match="no such right"):
        read(server)


@pytest.mark.parametrize(
    ("answer", "fault", "unread"),
    [
        (status(404, "gone"), "", ""),
        (status(403, "no such right"), "", "Multus is taken to have its defaults"),
        (
            config_map({"other": ""}),
            "ConfigMap sys/fabric-injector-config: holds no config.yaml",
            "",
        ),
        (
            config_map({"config.yaml": "kind: Other"}),
            'fabric-injector-config, config.yaml, line 1: kind: found "Other"',
            "",
        ),
    ],
)
def test_settings_that_are_not_known_have_their_defaults(
    server: FakeApiServer, answer: Behaviour, fault: str, unread: str
) -> None:
    put(server, "a")
    server.misbehave("get", CONFIG, answer)
    found = read(server)
    assert found.known().multus == Multus()
    assert list(found.known().profiles) == ["a"]
    assert fault in "".join(f"{one.where}: {one.message}" for one in found.faults)
    assert bool(found.faults) is bool(fault)
    assert unread in found.unread
    assert bool(found.unread) is bool(unread)


def test_reads_the_file_that_the_deployment_mounts(server: FakeApiServer) -> None:
    put(server, "an-object")
    server.misbehave("get", DEPLOYMENT, deployment("--profiles=/p/f.yaml"))
    server.misbehave(
        "get",
        "/api/v1/namespaces/sys/configmaps/mine",
        config_map({"f.yaml": as_text("in-file: {}")}),
    )
    found = read(server, None)
    assert (found.source, list(found.known().profiles)) == (
        "ConfigMap sys/mine, f.yaml",
        ["in-file"],
    )


@pytest.mark.parametrize(
    "answer", [deployment(), status(404, "gone"), status(403, "no such right")]
)
def test_takes_objects_unless_a_file_is_named(server: FakeApiServer, answer: Behaviour) -> None:
    put(server, "an-object")
    server.misbehave("get", DEPLOYMENT, answer)
    assert list(read(server, None).known().profiles) == ["an-object"]


@pytest.mark.parametrize(
    ("place", "answer", "told"),
    [
        (
            ProfilesPlace("/p/f.yaml", ConfigMapKey("mine", "f.yaml")),
            status(404, ""),
            "sys/mine, f.yaml: does not exist",
        ),
        (
            ProfilesPlace("/p/f.yaml", ConfigMapKey("mine", "f.yaml")),
            config_map({}),
            "sys/mine, f.yaml: does not exist",
        ),
        (
            ProfilesPlace("/p/f.yaml", ConfigMapKey("mine", "f.yaml")),
            config_map({"f.yaml": as_text("a: {nets: 1}")}),
            "ConfigMap sys/mine, f.yaml, line 6: FabricProfile a: spec.nets: is not a field",
        ),
        (
            ProfilesPlace("/in/the/image.yaml"),
            None,
            "file /in/the/image.yaml of the webhook's pods: is out of no ConfigMap",
        ),
    ],
)
def test_says_why_the_file_of_a_deployment_cannot_be_used(
    server: FakeApiServer, place: ProfilesPlace, answer: Behaviour | None, told: str
) -> None:
    if answer:
        server.misbehave("get", "/api/v1/namespaces/sys/configmaps/mine", answer)
    with pytest.raises(InputError) as raised:
        read(server, place).known()
    assert told in str(raised.value)


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
    broken = of_file_objects("f", [profile, {**profile, "spec": {"netwroks": []}}])
    assert broken is not None
    with pytest.raises(InputError, match="profile a stands at line 1 already"):
        broken.known()


def test_a_file_beside_a_configuration_says_nothing_of_its_settings(server: FakeApiServer) -> None:
    place = ProfilesPlace("/p/f.yaml", ConfigMapKey("mine", "f.yaml"))
    path = "/api/v1/namespaces/sys/configmaps/mine"
    both = as_text("{}", "{defaultNetworks: 1}")
    server.misbehave(
        "get", path, config_map({"f.yaml": as_text("a: {}")}), config_map({"f.yaml": both})
    )
    server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
    found = read(server, place).known()
    assert (list(found.profiles), found.multus) == (["a"], Multus(namespace_isolation=True))
    with pytest.raises(
        InputError, match=r"mine, f\.yaml: multus: is given though there is a configuration file"
    ):
        read(server, place).known()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("multus: {defaultNetworks: 1}", "write FabricProfile or Configuration"),
        (
            f"{CONFIGURATION}---\napiVersion: fabric-injector.io/v1alpha1\nkind: FabricProfile\nmetadata: {{name: a}}\nspec: {{}}",
            "write others elsewhere",
        ),
    ],
    ids=["no object", "with a profile"],
)
def test_takes_the_webhook_s_configurations(
    server: FakeApiServer, content: str, message: str
) -> None:
    put(server, "a")
    server.misbehave("get", CONFIG, config_map({"config.yaml": content}))
    found = read(server)
    assert found.known().multus == Multus()
    assert [message in fault.message for fault in found.faults] == [True]


def test_settings_are_those_that_the_deployment_mounts(server: FakeApiServer) -> None:
    put(server, "a")
    path = "/api/v1/namespaces/sys/configmaps/mine"
    server.misbehave("get", path, config_map({"c.yaml": CONFIGURATION}))
    server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
    server.misbehave("get", DEPLOYMENT, deployment("--config=/p/c.yaml"), deployment())
    assert read(server, None).known().multus == Multus(namespace_isolation=True)
    assert read(server, None).known().multus == Multus(), "it was told of no file"
    assert read(server).known().multus == Multus(namespace_isolation=True), (
        "the Deployment is not known"
    )


def test_profiles_of_a_file_without_a_configuration_get_the_clusters(
    server: FakeApiServer,
) -> None:
    objects = "{apiVersion: fabric-injector.io/v1alpha1, kind: FabricProfile, metadata: {name: a}, spec: {}}"
    listed = f"{{kind: List, items: [{objects}]}}"
    reader = Reader(server.connection())
    for content in (objects, listed):
        server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
        found = beside_installed_settings(
            reader, "sys", read_file("f", content), FROM_OBJECTS
        ).known()
        assert (list(found.profiles), found.multus) == (["a"], Multus(namespace_isolation=True))
    own = read_file("f", f"{CONFIGURATION.replace('true', 'false')}---\n{objects}")
    server.misbehave("get", CONFIG, config_map({"config.yaml": CONFIGURATION}))
    found = beside_installed_settings(reader, "sys", own, FROM_OBJECTS).known()
    assert found.multus == Multus()


CLAIMS = [{"name": "nic", "requests": [{"name": "r", "deviceClassName": "dranet.net"}]}]


@pytest.mark.parametrize(
    ("versions", "problem"), [(("v1",), ""), (("v1beta2",), ""), (("v1beta1",), CLAIMS_UNSERVED)]
)
def test_says_whether_claims_are_given(
    server: FakeApiServer, versions: tuple[str, ...], problem: str
) -> None:
    server.groups["/apis/resource.k8s.io"] = list(versions)
    put(server, "cards", claims=CLAIMS)
    assert read(server).known().claims_problem == problem


def test_asks_whether_claims_are_served_only_for_profiles_with_some(
    server: FakeApiServer,
) -> None:
    put(server, "spec-of-no-object", claims=None)
    read(server)
    assert not server.asked("get", "/apis/resource.k8s.io")
    server.misbehave("get", "/apis/resource.k8s.io", status(403))
    put(server, "cards", claims=CLAIMS)
    assert read(server).known().claims_problem == ""


def test_profiles_of_a_file_give_no_claims(server: FakeApiServer) -> None:
    server.misbehave(
        "get", "/api/v1/namespaces/sys/configmaps/mine", config_map({"p.yaml": as_text("a: {}")})
    )
    found = read(server, ProfilesPlace(config_map=ConfigMapKey("mine", "p.yaml")))
    assert found.known().claims_problem == CLAIMS_OF_A_FILE
