"""The page on moving from network-resources-injector: its profiles load, and every setting that it names is one."""

from __future__ import annotations

import json
import re

import pytest

from tests import ROOT
from tests.peer.switches import BASE, profiles_text
from webhook.core.profiles import parse_profiles, profiles_schema

PAGE = (ROOT / "docs" / "moving-from-network-resources-injector.md").read_text()
BLOCKS = re.findall(r"```yaml\n# profiles.yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_profile_is_what_its_suite_is_run_with() -> None:
    [found] = parse_profiles(BLOCKS[0]).profiles.values()
    assert (
        found == parse_profiles(json.dumps({"profiles": {"complete": BASE}})).profiles["complete"]
    )


def test_the_user_defined_injection_becomes_the_profile_beside_it() -> None:
    [config] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    written = parse_profiles(BLOCKS[1]).profiles["sriov"]
    made = parse_profiles(profiles_text(config)).profiles
    [translated] = [profile for profile in made.values() if profile.pod_labels]
    for field in (
        "pod_labels",
        "networks",
        "annotations",
        "pods",
        "existing_devices",
        "rendezvous",
    ):
        assert getattr(translated, field) == getattr(written, field), field


@pytest.mark.parametrize(
    "field", ["existingDevices", "podLabels", "annotations", "ipcLock", "rendezvous"]
)
def test_names_fields_of_a_profile(field: str) -> None:
    assert f"`{field}" in PAGE or f"{field}: " in PAGE
    assert field in profiles_schema()["$defs"]["Profile"]["properties"]


def test_tells_every_flag_of_its_programs_help() -> None:
    flags = """port bind-address tls-cert-file tls-private-key-file insecure client-ca health-check-port enable-http2
    tls-cipher-suites tls-min-version tls-curve-preferences injectHugepageDownApi network-resource-name-keys honor-resources"""
    assert [flag for flag in flags.split() if f"`-{flag}" not in PAGE] == []
