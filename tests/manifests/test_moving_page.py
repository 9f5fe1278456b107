"""The page on moving from network-resources-injector: its profiles load, and it has each flag."""

from __future__ import annotations

import re

from msgspec.structs import replace

from tests import ROOT
from tests.peer.switches import BASE, profiles_text
from tests.profiles import read_profile
from webhook.core.profiles import parse_profiles

PAGE = (ROOT / "docs" / "moving-from-network-resources-injector.md").read_text()
BLOCKS = re.findall(r"```yaml\n# profiles.yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_first_profile_is_what_its_suite_is_run_with() -> None:
    assert parse_profiles(BLOCKS[0]).profiles["complete"] == read_profile("complete", BASE)


def test_the_user_defined_injection_becomes_the_profile_beside_it() -> None:
    [config] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    written = parse_profiles(BLOCKS[1]).profiles["sriov"]
    made = parse_profiles(profiles_text(config)).profiles
    [translated] = [profile for profile in made.values() if profile.pod_labels]
    assert replace(translated, name="sriov", revision=written.revision) == written


def test_tells_every_flag_of_its_programs_help() -> None:
    flags = """port bind-address tls-cert-file tls-private-key-file insecure client-ca
    health-check-port enable-http2 tls-cipher-suites tls-min-version tls-curve-preferences
    injectHugepageDownApi network-resource-name-keys honor-resources"""
    assert [flag for flag in flags.split() if f"`-{flag}" not in PAGE] == []
