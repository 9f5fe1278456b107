"""What is read of a profile, and how the first fault is told: in the object, and with its line in a file."""

from pathlib import Path

import pytest

from tests.profiles import profiles, read_profile
from webhook.core.errors import ProfilesError
from webhook.core.profiles import parse_profiles, read_object
from webhook.core.profiles.load import parse_configuration
from webhook.core.yaml_reader import read_documents
from webhook.presets import Preset, read_presets


def rows(name: str) -> list[tuple[str, str]]:
    """Read a table beside this file: what is written, and below it what is told of it.

    An ellipsis at its end stands for more.
    """
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    return [(written, told.strip()) for written, told in zip(lines[::2], lines[1::2], strict=True)]


@pytest.mark.parametrize(("spec", "told"), rows("faults.txt"))
def test_tells_what_is_wrong_and_what_is_allowed(spec: str, told: str) -> None:
    with pytest.raises(ProfilesError) as raised:
        read_profile("a", read_documents(f"spec: {spec}")[0].value["spec"])
    [problem] = raised.value.problems
    beginning, rest, _ = told.partition("…")
    found = f"{problem.path}: {problem.message}".removeprefix("FabricProfile a: ")
    assert found.startswith(beginning) if rest else found == told
    assert str(problem).isprintable()


@pytest.mark.parametrize(("text", "told"), rows("files.txt"))
def test_tells_the_line_of_a_fault_in_a_file(text: str, told: str) -> None:
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(text)
    assert str(raised.value) == told


def test_a_line_is_that_of_the_value_or_key_in_its_document() -> None:
    fine = read_presets()[0].text
    wrong = "\n---\n" + fine.replace("value: SYS", "value: 8").replace("name: aks", "name: bks")
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(fine + wrong)
    line = (fine + wrong).splitlines().index("      - {name: NCCL_NET_GDR_LEVEL, value: 8}") + 1
    assert raised.value.problems[0].line == line


def test_a_name_stands_once() -> None:
    text = read_presets()[0].text
    with pytest.raises(ProfilesError, match=r"metadata: .*stands at line 1 already"):
        parse_profiles(f"{text}\n---\n{text}")


def test_reads_the_small_languages_of_a_profile() -> None:
    profile = read_profile("a", {"rendezvous": {"timeout": "1h30.5m500ms29.5s"}})
    assert profile.rendezvous.timeout_seconds == 5_460
    for written, size in (("none", ""), (16.0, "16"), ("16Gi", "16Gi")):
        found = read_profile("a", {"sharedMemory": {"sizeLimit": written}})
        assert found.shared_memory.size_limit == size
    with pytest.raises(ProfilesError, match=r"sizeLimit: found a boolean; write a number"):
        read_profile("a", {"sharedMemory": {"sizeLimit": True}})


def test_a_file_without_a_profile_is_refused() -> None:
    with pytest.raises(ProfilesError, match=r"^line 1: document: is empty; write a FabricProfile"):
        parse_profiles("# nothing")


def test_a_configuration_stands_alone_in_its_file() -> None:
    with pytest.raises(ProfilesError, match="to hold one object"):
        parse_configuration(read_presets()[0].text)
    said = "kind: Configuration\napiVersion: config.fabric-injector.io/v1alpha1\n"
    assert parse_configuration(said).multus.global_namespaces == ("default",)
    assert parse_configuration(said + "multus: {defaultNetworks: 2}").multus.default_networks == 2


@pytest.mark.parametrize("preset", read_presets(), ids=lambda preset: preset.name)
def test_a_preset_is_the_same_from_a_file_and_from_an_object(preset: Preset) -> None:
    found = parse_profiles(preset.text).profiles[preset.name]
    assert found == read_profile(preset.name, preset.profile["spec"])
    assert len(found.revision) == 12


def test_what_others_read_of_a_profile_is_what_kubernetes_words_say() -> None:
    [found] = [each for each in read_presets() if each.name == "gke-tcpxo"]
    profile = read_profile("p", found.profile["spec"])
    assert profile.env["NCCL_SOCKET_IFNAME"] == "eth0"
    assert list(profile.mounts) == ["/usr/local/nvidia/lib64", "/dev/aperture_devices"]
    assert list(profile.sidecars) == ["tcpxo-daemon"]
    assert "tcpxo-sys" in profile.volumes
    assert profile.annotations["networking.gke.io/default-interface"] == "eth0"
    spec = {"container": {"resources": {"limits": {"a.b/c": 2}}}, "pod": None}
    assert read_profile("p", spec).resources == {"a.b/c": "2"}


def test_a_file_may_hold_the_configuration_too() -> None:
    text = read_presets()[0].text
    said = "\n---\nkind: Configuration\napiVersion: config.fabric-injector.io/v1alpha1\n"
    assert parse_profiles((text + said).encode()).has_settings is True
    assert parse_profiles(text.encode()).has_settings is False


def test_keeps_of_an_object_what_tells_it_from_others() -> None:
    metadata = {"name": "a", "uid": "u-1", "resourceVersion": "7", "generation": 3}
    found = read_object({"metadata": metadata, "spec": {}})
    assert found[:4] == ("a", "u-1", "7", 3)
    assert read_object({"metadata": {"name": "a"}, "spec": {}})[:4] == ("a", "", "", 0)
    status = {"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "False"}]}
    assert read_object({"metadata": metadata, "spec": {}, "status": status}).why_not_ready == ""
    told = {"conditions": [{"type": "Ready", "status": "False", "message": "of before"}]}
    once = {"name": "a", "generation": 1}
    assert read_object({"metadata": once, "spec": {}, "status": told}).why_not_ready == ""


def test_a_null_of_a_driver_s_parameters_is_kept() -> None:
    config = [{"driver": "d", "parameters": {"a": None}}]
    claim = {"name": "c", "requests": [{"name": "r", "deviceClassName": "d"}], "config": config}
    [found] = read_profile("a", {"claims": [claim]}).claims
    assert found.config[0].parameters == '{"a":null}'


def test_lists_the_profiles_that_a_namespace_may_use() -> None:
    found = profiles("{b: {}, a: {}, c: {allowedNamespaces: [x]}}")
    assert (found.usable_in("x"), found.usable_in("y")) == (["a", "b", "c"], ["a", "b"])
