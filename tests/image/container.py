"""Run an image with runc as the strictest cluster would: read-only root, no capability."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from .builder import Image


class Container:
    """What runs of one image; the host's network is shared, so that tests reach its ports."""

    def __init__(self, image: Image, root: Path, folder: Path) -> None:
        """Prepare containers of the image, whose root file system is mounted at *root*."""
        self._configuration = image.configuration
        self._root = root
        self._folder = folder

    def command(
        self,
        *arguments: str,
        mounts: Mapping[str, Path] | None = None,
        entrypoint: Sequence[str] | None = None,
    ) -> list[str]:
        """Give a command that runs the image; *mounts* are read-only, by their path inside."""
        name = f"fabric-injector-{os.getpid()}-{uuid4().hex[:8]}"
        bundle = self._folder / name
        bundle.mkdir()
        subprocess.run(["runc", "spec", f"--bundle={bundle}"], check=True)
        spec = json.loads((bundle / "config.json").read_text())
        user, _, group = self._configuration["User"].partition(":")
        spec["process"] |= {
            "terminal": False,
            "args": [*(entrypoint or self._configuration["Entrypoint"]), *arguments],
            "env": self._configuration["Env"],
            "cwd": self._configuration.get("WorkingDir") or "/",
            "user": {"uid": int(user), "gid": int(group)},
            "capabilities": {kind: [] for kind in spec["process"]["capabilities"]},
            "noNewPrivileges": True,
        }
        spec["root"] = {"path": str(self._root), "readonly": True}
        own = [one for one in spec["linux"]["namespaces"] if one["type"] != "network"]
        spec["linux"]["namespaces"] = own
        kept = [one for one in spec["mounts"] if one["destination"] in ("/proc", "/dev")]
        bound = {"type": "bind", "options": ["rbind", "ro"]}
        spec["mounts"] = kept + [
            {"destination": inside, "source": str(outside), **bound}
            for inside, outside in (mounts or {}).items()
        ]
        (bundle / "config.json").write_text(json.dumps(spec))
        return ["runc", f"--root={self._folder / 'runc'}", "run", f"--bundle={bundle}", name]

    def run(
        self, *arguments: str, entrypoint: Sequence[str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the image to its end."""
        command = self.command(*arguments, entrypoint=entrypoint)
        return subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120
        )
