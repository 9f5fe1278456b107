"""The CustomResourceDefinition of FabricProfile; what an API server makes of it is seen in tests/apiserver/test_fabric_profile.py."""

from __future__ import annotations

from tests import ROOT
from tests.manifests.custom_resource_definition import text


def test_is_the_one_that_is_shipped() -> None:
    assert (
        ROOT / "manifests" / "base" / "custom-resource-definition.yaml"
    ).read_text() == text(), "run `make reference`"
