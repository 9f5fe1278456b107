"""What ``check`` says of the Deployments, and where it finds the profiles by them."""

from typing import Any

import pytest
import yaml

from tests import ROOT
from tests.diagnose.check.findings import brief, expect
from tests.tables import cases
from webhook.diagnose.check.deployments import (
    Deployment,
    Role,
    check_deployments,
    check_opt_in,
    read_deployment,
)
from webhook.diagnose.codes import Code
from webhook.world.profiles_read import ConfigMapKey, ProfilesPlace, place_in_deployment

BASE = ROOT / "manifests/base"


def deployment(*arguments: str, **more: Any) -> dict[str, Any]:
    """Give the webhook's Deployment."""
    container: dict[str, Any] = {
        "image": "registry/fabric-injector:0.1.0",
        "args": list(arguments),
        "volumeMounts": [
            {"name": "p", "mountPath": "/etc/fabric-injector/profiles/"},
            {"name": "t", "mountPath": "/tls"},
        ],
        **more,
    }
    volumes = [
        {"name": "p", "configMap": {"name": "my-profiles"}},
        {"name": "t", "secret": {"secretName": "s"}},
    ]
    pod = {
        "containers": [{"name": "proxy", "image": "envoy"}, container],
        "volumes": volumes,
        "serviceAccountName": "acc",
    }
    return {
        "metadata": {"name": "webhook", "namespace": "ns"},
        "spec": {"replicas": 2, "template": {"spec": pod}},
        "status": {"readyReplicas": 1, "unavailableReplicas": 1},
    }


def told(file: str = "", key: str = "") -> ProfilesPlace:
    """Give the place of a webhook that was told of this file, and of no Configuration."""
    return ProfilesPlace(file, ConfigMapKey("my-profiles", key) if key else None, None)


PLACE = "--profiles=/etc/fabric-injector/profiles/profiles.yaml"


def test_reads_the_webhook() -> None:
    found = read_deployment(deployment("serve", PLACE))
    place = told("/etc/fabric-injector/profiles/profiles.yaml", "profiles.yaml")
    assert found == Deployment(
        "webhook", "webhook", 2, 1, 1, "registry/fabric-injector:0.1.0", "acc", place
    )


@pytest.mark.parametrize(
    ("arguments", "file", "key"),
    cases("""
two words | --profiles /etc/fabric-injector/profiles/a.yaml | /etc/fabric-injector/profiles/a.yaml | a.yaml
a Secret | --profiles=/tls/profiles.yaml | /tls/profiles.yaml |
not mounted | --profiles=/elsewhere/profiles.yaml | /elsewhere/profiles.yaml |
none | | |
no value | --profiles | |
"""),
)
def test_follows_the_profiles(arguments: str, file: str, key: str) -> None:
    obj = deployment("serve", *arguments.split())
    found = read_deployment(obj)
    assert found is not None
    assert found.profiles == place_in_deployment(obj) == told(file, key)


def test_follows_the_profiles_of_a_variable_and_the_settings() -> None:
    name, file = "FABRIC_INJECTOR_SERVE_PROFILES", "/etc/fabric-injector/profiles/b"
    obj = deployment("serve", env=[{"name": name, "value": file}])
    assert place_in_deployment(obj) == told(file, "b")
    settings = deployment("serve", "--config=/etc/fabric-injector/profiles/c.yaml")
    place = ProfilesPlace(settings=ConfigMapKey("my-profiles", "c.yaml"))
    assert place_in_deployment(settings) == place


def test_knows_who_keeps_the_certificates() -> None:
    def keeps(*arguments: str, **more: Any) -> bool:
        found = read_deployment(deployment("control", *arguments, **more))
        assert found is not None
        return found.keeps_certificates

    assert keeps()
    assert keeps("--certificates=self")
    assert not keeps("--certificates=none")
    assert not keeps("--certificates", "none")
    assert not keeps(env=[{"name": "FABRIC_INJECTOR_CONTROL_CERTIFICATES", "value": "none"}])


def test_a_controller_that_leaves_opted_in_pods_alone_is_told_where_the_webhook_is_called_for_them() -> (
    None
):
    flag = read_deployment(deployment("control", "--pod-opt-in"))
    variable = read_deployment(
        deployment("control", env=[{"name": "FABRIC_INJECTOR_CONTROL_POD_OPT_IN", "value": "1"}])
    )
    without = read_deployment(deployment("control"))
    assert flag is not None
    assert variable is not None
    assert without is not None
    assert list(check_opt_in([flag, variable, WEBHOOK])) == []
    [finding] = check_opt_in([flag, without])
    assert (finding.level, finding.code) == ("fail", Code.OPTED_IN_NOT_SERVED)
    assert "lacks --pod-opt-in" in finding.message


def test_follows_the_items_of_a_volume() -> None:
    obj = deployment("serve", PLACE)
    obj["spec"]["template"]["spec"]["volumes"][0]["configMap"]["items"] = [
        {"key": "real", "path": "profiles.yaml"}
    ]
    found = read_deployment(obj)
    assert found is not None
    assert found.profiles.config_map == ConfigMapKey("my-profiles", "real")


def test_passes_over_others() -> None:
    assert read_deployment(deployment("watch")) is None
    assert read_deployment({"metadata": {"name": "x"}}) is None
    assert read_deployment(deployment("serve", image="nginx")) is None


@pytest.mark.parametrize("role", ["webhook", "controller"])
def test_knows_what_is_shipped(role: str) -> None:
    found = read_deployment(yaml.safe_load((BASE / f"deployment-{role}.yaml").read_text()))
    assert found is not None
    assert (found.role, found.account, found.wanted) == (role, f"fabric-injector-{role}", 2)
    assert found.profiles.config_map or not found.profiles.file, (
        "what is shipped can be read from outside"
    )


WEBHOOK = Deployment("w", "webhook", 2, 2, 0, "i:1")
CONTROLLER = Deployment("c", "controller", 2, 2, 0, "i:1")
NO_WEBHOOK = "no pod of a labelled namespace can be created"
READY = "ok deployment-ready Deployment ns/c | 2 of 2 replicas ready"
NO_CONTROLLER = "no address is published, and no certificate renewed"


@pytest.mark.parametrize(
    ("webhook", "controller", "rows"),
    [
        ((2, 2, 0, "i:1"), (2, 2, 0, "i:1"), ["ok deployment-ready Deployment ns/w | 2 of 2 replicas ready", READY]),
        (
            None,
            None,
            [
                f"fail deployment-missing Deployment of the webhook | there is none in namespace ns: {NO_WEBHOOK}",
                f"fail deployment-missing Deployment of the controller | there is none in namespace ns: {NO_CONTROLLER}",
            ],
        ),
        (
            (2, 0, 2, "i:1"),
            (2, 1, 1, "i:1"),
            [
                f"fail deployment-down Deployment ns/w | 0 of 2 replicas ready: {NO_WEBHOOK}",
                "warn deployment-degraded Deployment ns/c | 1 of 2 replicas ready",
            ],
        ),
        (
            (1, 1, 0, "i:1"),
            (2, 2, 0, "i:1"),
            ["warn replica-single Deployment ns/w | 1 of 1 replica ready: nobody takes over while its node fails", READY],
        ),
        (
            (2, 2, 0, "i:1"),
            (2, 2, 0, "i:2"),
            ["ok deployment-ready Deployment ns/w", READY, "warn images-differ Deployments | run different images (w: i:1, c: i:2)"],
        ),
        (
            (2, 2, 0, "i:1"),
            (2, 2, 1, "i:1"),
            [
                "ok deployment-ready Deployment ns/w",
                "warn rollout-unfinished Deployment ns/c | but its rollout is not done: 1 pod of image i:1 not ready",
            ],
        ),
    ],
    ids=["ready", "absent", "not ready", "one replica", "two images", "a rollout that is stuck"],
)  # fmt: skip
def test_judges(webhook: Any, controller: Any, rows: list[str]) -> None:
    given: tuple[tuple[str, Role, Any], ...] = (
        ("w", "webhook", webhook),
        ("c", "controller", controller),
    )
    deployments = [Deployment(name, role, *numbers) for name, role, numbers in given if numbers]
    expect(check_deployments(deployments, [], "ns"), *rows)


@pytest.mark.parametrize("ready", [0, 1], ids=["no pod", "a pod that is about to go"])
def test_one_that_is_scaled_to_nothing_has_no_pods_to_look_at(ready: int) -> None:
    scaled = Deployment("w", "webhook", 0, ready, 0, "i:1")
    [told, _] = check_deployments([scaled, CONTROLLER], [], "ns")
    assert brief([told]) == [f"fail Deployment ns/w: is scaled to 0 replicas: {NO_WEBHOOK}"]
    assert (told.code, told.action) == (
        Code.DEPLOYMENT_DOWN,
        "`kubectl -n ns scale deployment w --replicas=2`",
    )
