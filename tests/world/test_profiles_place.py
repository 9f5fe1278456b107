"""Where a webhook reads its profiles, by its Deployment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tables import cases
from webhook.world.profiles_read import ConfigMapKey, ProfilesPlace, place_in_deployment


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


@pytest.mark.parametrize(
    ("arguments", "file", "key"),
    cases("""
two words | --profiles FOLDER/a.yaml | FOLDER/a.yaml | a.yaml
a Secret | --profiles=/tls/profiles.yaml | /tls/profiles.yaml |
not mounted | --profiles=/elsewhere/profiles.yaml | /elsewhere/profiles.yaml |
none | | |
no value | --profiles | |
"""),
)
def test_follows_the_profiles(arguments: str, file: str, key: str) -> None:
    folder = "/etc/fabric-injector/profiles"
    obj = deployment("serve", *arguments.replace("FOLDER", folder).split())
    assert place_in_deployment(obj) == told(file.replace("FOLDER", folder), key)


def test_follows_the_profiles_of_a_variable_and_the_settings() -> None:
    name, file = "FABRIC_INJECTOR_SERVE_PROFILES", "/etc/fabric-injector/profiles/b"
    obj = deployment("serve", env=[{"name": name, "value": file}])
    assert place_in_deployment(obj) == told(file, "b")
    settings = deployment("serve", "--config=/etc/fabric-injector/profiles/c.yaml")
    place = ProfilesPlace(settings=ConfigMapKey("my-profiles", "c.yaml"))
    assert place_in_deployment(settings) == place


def test_follows_the_items_of_a_volume() -> None:
    obj = deployment("serve", PLACE)
    volume = obj["spec"]["template"]["spec"]["volumes"][0]
    volume["configMap"]["items"] = [{"key": "real", "path": "profiles.yaml"}]
    assert place_in_deployment(obj).config_map == ConfigMapKey("my-profiles", "real")
