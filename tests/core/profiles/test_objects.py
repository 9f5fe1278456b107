"""Objects, as `kubectl get -o yaml` and Git have them, are read as the short form is, with their own places in messages."""

from __future__ import annotations

import pytest

from webhook.core.errors import ProfilesError
from webhook.core.profiles import parse_profiles
from webhook.core.profiles.load import parse_configuration, read_profile

HEAD = "apiVersion: fabric-injector.io/v1alpha1\nkind: FabricProfile\n"
PROFILE = (
    HEAD
    + "metadata: {name: hostdev, labels: {team: fabric}}\nspec:\n  networks: [{network: default/rdma-net}]\n"
)
SETTINGS = "apiVersion: config.fabric-injector.io/v1alpha1\nkind: Configuration\nmultus: {namespaceIsolation: true}\n"
SHORT = "multus: {namespaceIsolation: true}\nprofiles:\n  hostdev:\n    networks: [{network: default/rdma-net}]\n"


def problems(text: str) -> list[str]:
    with pytest.raises(ProfilesError) as caught:
        parse_profiles(text)
    return [
        f"{problem.line} {problem.path}: {problem.message}" for problem in caught.value.problems
    ]


def listed(kind: str, text: str) -> str:
    """Return the object as the one item of a List."""
    first, *rest = text.splitlines()
    return f"apiVersion: v1\nkind: {kind}\nitems:\n- {first}\n" + "".join(
        f"  {line}\n" for line in rest
    )


@pytest.mark.parametrize(
    "text",
    [
        f"{PROFILE}---\n{SETTINGS}",
        f"{SETTINGS}---\n{PROFILE}",
        f"{listed('List', PROFILE)}---\n{SETTINGS}",
        f"{listed('FabricProfileList', PROFILE)}---\n{SETTINGS}",
        f"{PROFILE}status: {{namespaces: 3}}\n---\n{SETTINGS}",
    ],
)
def test_objects_are_the_profiles_that_the_short_form_holds(text: str) -> None:
    assert parse_profiles(text) == parse_profiles(SHORT)


def test_settings_alone_hold_no_profile() -> None:
    found = parse_profiles(SETTINGS)
    assert found.multus.namespace_isolation
    assert not found.profiles


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            PROFILE + "  netwroks: []\n",
            "6 FabricProfile hostdev: spec.netwroks: is not a field; did you mean networks?",
        ),
        (
            PROFILE + "  rendezvous: {network: other}\n",
            '6 FabricProfile hostdev: spec.rendezvous.network: found "other"; write one of this profile\'s networks, '
            "default/rdma-net",
        ),
        (
            SETTINGS.replace("true", "3"),
            "3 Configuration: multus.namespaceIsolation: found 3, which YAML reads as a number; write true or false, "
            "without quotes",
        ),
        (
            PROFILE.replace("FabricProfile", "FabricProfil"),
            '2 kind: found "FabricProfil"; write FabricProfile or Configuration',
        ),
        (
            PROFILE.replace("v1alpha1", "v1"),
            '1 apiVersion: found "fabric-injector.io/v1"; write fabric-injector.io/v1alpha1',
        ),
        (
            PROFILE.replace("apiVersion", "apiversion"),
            "1 apiVersion: found nothing; write fabric-injector.io/v1alpha1",
        ),
        (
            PROFILE.replace("spec:", "specs:"),
            "4 specs: is not a field; did you mean spec?",
        ),
        (
            PROFILE.replace("hostdev", "Host"),
            "3 metadata.name: found \"Host\"; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev",
        ),
        (
            HEAD + "spec: {}\n",
            "1 metadata.name: found nothing; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev",
        ),
        (
            HEAD + "# fabric\nmetadata:\n  labels: {}\nspec: {}\n",
            "5 metadata.name: found nothing; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev",
        ),
        (
            HEAD + "metadata: {name: a}\n",
            "1 spec: is missing in FabricProfile a; write spec: and its fields, or spec: {}",
        ),
        (
            f"{PROFILE}---\n{PROFILE}",
            "7 metadata.name: profile hostdev stands at line 1 already; remove one of the two",
        ),
        (
            f"{SETTINGS}---\n{SETTINGS}",
            f"{SETTINGS.count(chr(10)) + 2} kind: Configuration stands at line 1 already; remove one of the two",
        ),
        (
            f"- 3\n---\n{PROFILE}",
            "1 document: found a list; write an object with apiVersion and kind",
        ),
        (
            f"{PROFILE}---\n3\n",
            "7 document: found a number; write an object with apiVersion and kind",
        ),
    ],
)
def test_a_fault_is_told_with_its_place_in_the_object(text: str, problem: str) -> None:
    assert problem in problems(text)


def test_the_file_of_the_configuration_holds_no_profile() -> None:
    assert parse_configuration(SETTINGS).multus.namespace_isolation
    with pytest.raises(ProfilesError) as caught:
        parse_configuration(f"{SETTINGS}---\n{PROFILE}")
    assert [str(problem) for problem in caught.value.problems] == [
        "line 9: FabricProfile hostdev: spec: stands in the file of the Configuration; write profiles elsewhere"
    ]


def test_a_name_that_no_label_can_hold_is_refused() -> None:
    assert "FabricProfile none: spec" in problems(PROFILE.replace("hostdev", "none"))[0]


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f680 rail",
        "\x7f",
        "\x1b",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "\U0010ffff",
        '\\ud83d "',
    ],
)
def test_values_are_read_as_the_api_server_holds_them(text: str) -> None:
    assert (
        read_profile("hostdev", {"env": {"A": text}, "annotations": {"team/note": text}}).env["A"]
        == text
    )
