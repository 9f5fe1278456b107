"""Give the definition of FabricProfile: the manifest that is installed."""

from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from webhook.core.model import Object

Schema = dict[str, Any]
"""A structural schema of the API server."""


def definition() -> Object:
    """Return the CustomResourceDefinition as the object that is created."""
    return deepcopy(_definition())


def object_schema() -> Schema:
    """Return the schema of a FabricProfile; do not change it."""
    found: Schema = _definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


@cache
def _definition() -> Object:
    text = files("webhook.validate").joinpath("custom-resource-definition.yaml").read_text("utf-8")
    found: Object = yaml.load(text, Loader=yaml.CSafeLoader)
    return found
