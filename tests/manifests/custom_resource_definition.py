"""Write the CustomResourceDefinition of FabricProfile as the code defines it: ``python -m … FILE``."""

import sys
from pathlib import Path

import yaml

from webhook.core.profiles.custom_resource import custom_resource_definition

HEAD = "# Written by `make reference` from the definition of a profile, webhook/core/profiles/.\n"


def text() -> str:
    """Return the manifest."""
    return HEAD + yaml.safe_dump(custom_resource_definition(), sort_keys=False, width=140)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
