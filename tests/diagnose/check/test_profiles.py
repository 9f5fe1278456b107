"""What ``check`` says of the profiles, of what the controller wrote of them, and of the kind of object that they are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.check.findings import brief
from tests.profiles import as_text
from webhook.diagnose.check.profiles import check_definition, check_profiles, read_definition
from webhook.diagnose.codes import Code
from webhook.validate.definition import definition
from webhook.world.profiles_read import ProfilesRead, read_file, read_objects

TITLE = "CustomResourceDefinition fabricprofiles.fabric-injector.io"


def profile(
    name: str,
    generation: int = 1,
    observed: int = 1,
    *conditions: tuple[str, str, str],
    **spec: Any,
) -> Any:
    told = [
        {"type": kind, "status": status, "reason": "R", "message": message}
        for kind, status, message in conditions
    ]
    status = {"observedGeneration": observed, "conditions": told}
    return {
        "metadata": {"name": name, "generation": generation},
        "spec": spec,
        "status": status if told else {},
    }


def told(read: ProfilesRead, *, is_installed: bool = True) -> list[str]:
    return brief(list(check_profiles(read, is_installed=is_installed)))


def test_tells_the_faults_of_each_object_and_judges_the_others() -> None:
    read = read_objects("FabricProfiles", [profile("bad", later=True), profile("good")])
    first, second = told(read)
    assert first.startswith("fail FabricProfile bad: spec.later: is not a field")
    assert second == "ok FabricProfiles: 1 profile, valid: good"
    assert told(read_objects("FabricProfiles", [])) == ["ok FabricProfiles: 0 profiles, valid"]
    assert told(read_file("f.yaml", as_text("a: {later: 1}")))[0].startswith(
        "fail f.yaml, line 6: FabricProfile a: spec.later: "
    )


def test_warns_of_a_setting_that_another_one_rules_out() -> None:
    text = "{a: {ncclConf: true, rendezvous: {waitImage: installed}}, b: {ncclConf: true}}"
    [line] = [line for line in told(read_file("f.yaml", as_text(text))) if line.startswith("warn")]
    assert line.startswith(
        "warn profile a: ncclConf: true writes nothing: with rendezvous.waitImage "
    )


def test_says_where_profiles_are_missing() -> None:
    objects = ProfilesRead("FabricProfiles", missing="no definition")
    assert list(check_profiles(objects, is_installed=True, definition_is_missed=True)) == []
    for is_installed in (True, False):
        assert told(objects, is_installed=is_installed) == [
            "warn FabricProfiles: no definition: neither networks nor devices were looked for"
        ]
    assert told(ProfilesRead("ConfigMap a/b, c", missing="does not exist")) == [
        "fail ConfigMap a/b, c: does not exist"
    ]


def test_tells_what_the_controller_found() -> None:
    objects = [
        profile("fine", 2, 2, ("Ready", "True", "")),
        profile("silent", 2, 0),
        profile("late", 3, 2, ("Ready", "True", "")),
        profile(
            "wrong",
            4,
            4,
            ("NetworksFound", "False", "default/x does not exist"),
            ("Ready", "False", "no network"),
        ),
        profile(
            "once",
            1,
            1,
            ("NetworksFound", "False", "no default/x"),
            ("Ready", "False", "no default/x"),
        ),
        profile("doubtful", 1, 1, ("ClaimsUsable", "Unknown", ""), ("Ready", "True", "")),
    ]
    assert told(read_objects("FabricProfiles", objects))[1:] == [
        "warn FabricProfile late: the controller has seen generation 2, and the object is at 3",
        "fail FabricProfile wrong: generation 4: Ready is False (no network); NetworksFound is False (default/x does not exist)",
        "fail FabricProfile once: generation 1: Ready is False; NetworksFound is False (no default/x)",
        "warn FabricProfile doubtful: generation 1: ClaimsUsable is Unknown (R)",
        "ok FabricProfiles: 1 profile ready, says the controller: fine",
    ]


def installed(*, established: bool = True) -> dict[str, Any]:
    condition = {"type": "Established", "status": str(established)}
    return {**definition(), "status": {"conditions": [condition]}}


def schema_of(obj: dict[str, Any]) -> Any:
    return obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"][
        "properties"
    ]


def judged(obj: dict[str, Any] | None, *, is_needed: bool = True) -> list[str]:
    found = check_definition(None if obj is None else read_definition(obj), is_needed=is_needed)
    return [
        line.removeprefix(f"{TITLE}: ")
        for line in (f"{each.level} {each.message}" for each in found)
    ]


def test_knows_the_definition_of_this_version() -> None:
    assert judged(installed()) == ["ok is established, with the schema of this version"]
    assert judged(installed(established=False)) == [
        "fail is not Established: FabricProfiles are not served"
    ]
    assert judged(None) == ["fail does not exist: there can be no FabricProfile"]
    assert judged(None, is_needed=False) == []


def test_says_how_another_definition_differs() -> None:
    older, newer, other, unserved = (installed() for _ in range(4))
    del schema_of(older)["pods"], schema_of(older)["networks"]["items"]["properties"]["count"]
    schema_of(newer)["colour"] = {"type": "string"}
    schema_of(other)["podSecurity"]["enum"] = ["deny"]
    unserved["spec"]["versions"][0]["served"] = False
    assert judged(older) == [
        "warn is not that of this version: it lacks spec.pods, spec.networks[].count, and refuses profiles that have it"
    ]
    assert judged(newer) == [
        "warn is not that of this version: it is newer, with spec.colour, which this program does not know"
    ]
    assert judged(other) == [
        "warn is not that of this version: spec.podSecurity has another type, bound or rule"
    ]
    assert judged(unserved) == ["fail does not serve version v1alpha1"]


@pytest.mark.parametrize(
    "schema", [None, 3, {}, {"properties": 3}, {"properties": {"spec": 3}, "items": []}]
)
def test_any_schema_is_only_another_one(schema: Any) -> None:
    obj = installed()
    obj["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    [found] = check_definition(read_definition(obj), is_needed=True)
    assert found.code is Code.DEFINITION_DIFFERS
