"""Hold profiles of clouds and of NVIDIA's network operator, a folder each.

``about.yaml`` beside the profile has *gives*, one line. *verified* is a key of VERIFIED, *note*
says what was run. *sources* are public files at one commit, *images* those of the sidecars.
*change* is what an admin writes, by field. *adds* and *leavesOut* are the difference from the
vendor's manifest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from math import ceil
from typing import Any, Final

import yaml

from webhook.core.profiles.grammar import NodeDevices

_NOT_WRITTEN: Final = re.compile("# otherwise: .*")
"""The line of a preset that waits for the types of a cluster's nodes."""

VERIFIED = {
    "run": "its own profile was run by this project, on that fabric",
    "compared": "a test of this project compares the pods that result with the vendor's manifest; "
    "nobody here ran it on that fabric",
    "not run": "neither run nor compared",
}
"""What was done to learn whether a preset works."""


@dataclass(frozen=True)
class Preset:
    """Hold a profile that comes with the program.

    *text*: the FabricProfile as its file has it. *about*: what stands beside it.
    """

    name: str
    text: str
    about: Mapping[str, Any]

    @cached_property
    def profile(self) -> dict[str, Any]:
        """Return the FabricProfile as plain values."""
        read: dict[str, Any] = yaml.safe_load(self.text)
        return read

    @property
    def images(self) -> list[str]:
        """Return the images that it brings into pods, with their tags."""
        return list(self.about.get("images", ()))

    @property
    def node_types(self) -> list[str]:
        """Return the types of nodes that it knows, in its order."""
        quantities = self.profile["spec"].get("quantities", ())
        return [name for each in quantities for name in each.get("byNodeType", ())]

    @property
    def waits_for_types(self) -> bool:
        """Tell whether it has no number yet for pods that name no type."""
        return bool(_NOT_WRITTEN.search(self.text))

    def for_nodes(self, types: Sequence[str]) -> Preset:
        """Return it with the number for pods that name no type, where nodes are of these *types*.

        It is what fits on each of them: devices of the smallest, and as many accelerators to a
        device as where they are most.
        """
        text = self.text
        for quantity in self.profile["spec"].get("quantities", ()):
            known = quantity.get("byNodeType", {})
            nodes = [NodeDevices.read(known[name]) for name in types if name in known]
            if nodes and "otherwise" not in quantity:
                devices = min(node[0] for node in nodes)
                shared_by = max(Fraction(node[1], node[0]) for node in nodes) * devices
                written = f"otherwise: {devices}/{ceil(shared_by)} # the nodes: {', '.join(types)}"
                text = _NOT_WRITTEN.sub(written, text, count=1)
        return Preset(self.name, text, self.about)

    def as_json(self) -> dict[str, Any]:
        """Return the preset as a document; its FabricProfile under ``profile``."""
        sources = [{**source, "date": str(source["date"])} for source in self.about["sources"]]
        return {
            "name": self.name,
            **self.about,
            "sources": sources,
            "images": self.images,
            "profile": self.profile,
        }


def preset_names() -> list[str]:
    """Return the names of all presets."""
    return sorted(
        folder.name
        for folder in files(__name__).iterdir()
        if folder.joinpath("profile.yaml").is_file()
    )


def read_preset(name: str) -> Preset:
    """Read the preset *name*, one of `preset_names`."""
    folder = files(__name__) / name
    about = yaml.safe_load((folder / "about.yaml").read_text(encoding="utf-8"))
    return Preset(name, (folder / "profile.yaml").read_text(encoding="utf-8"), about)


def read_presets() -> list[Preset]:
    """Read all presets."""
    return [read_preset(name) for name in preset_names()]
