"""Profiles keep their meaning from the short form to objects and back."""

from __future__ import annotations

from importlib.resources import files

import pytest
import yaml

from webhook.core.errors import ProfilesError
from webhook.core.profiles import parse_profiles
from webhook.core.profiles.convert import to_objects, to_short_form

SHORT = """
multus: {namespaceIsolation: true, globalNamespaces: null}
profiles:
  hostdev:
    networks: [{network: default/rdma-net, resource: null}]
    sharedMemory: {sizeLimit: 16Gi, enabled: null}
    allowedNamespaces: all
  plain:
"""
DEMO = files("webhook.demo").joinpath("profiles.yaml").read_text(encoding="utf-8")


def config_map(text: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "data": {"profiles.yaml": text}})


@pytest.mark.parametrize("text", [SHORT, DEMO, "profiles: {}", f"# was a ConfigMap once\n{SHORT}"])
def test_profiles_mean_the_same_as_objects_and_back(text: str) -> None:
    objects = yaml.safe_dump_all(to_objects(text))
    wanted = parse_profiles(text)
    if objects:
        assert parse_profiles(objects) == wanted
        assert to_objects(objects) == to_objects(text)
        assert parse_profiles(yaml.safe_dump(to_short_form(objects))) == wanted
    assert to_objects(config_map(text)) == to_objects(text)
    for content in (text, config_map(text)):
        assert to_objects(content.encode("utf-8-sig")) == to_objects(text)


def test_objects_hold_what_the_schema_of_the_api_takes() -> None:
    settings, hostdev, plain = to_objects(SHORT)
    assert settings["multus"] == {"namespaceIsolation": True}
    assert hostdev["metadata"] == {"name": "hostdev"}
    assert hostdev["spec"] == {"networks": [{"network": "default/rdma-net"}], "sharedMemory": {"sizeLimit": "16Gi"}}
    assert plain["spec"] == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("profiles:\n  a_b: {}\n", "line 2: profiles.a_b: a_b can name no object"),
        ("profiles:\n  a: {x: 1}\n", "line 2: profiles.a.x: is not a field"),
        (config_map(SHORT) + "---\n" + SHORT, "write one ConfigMap alone, whose data holds profiles.yaml"),
        ("kind: ConfigMap\ndata: {profiles: x}\n", "write one ConfigMap alone, whose data holds profiles.yaml"),
    ],
)
def test_what_cannot_be_converted_is_told(text: str, problem: str) -> None:
    with pytest.raises(ProfilesError) as caught:
        to_objects(text)
    assert any(problem in str(each) for each in caught.value.problems)
