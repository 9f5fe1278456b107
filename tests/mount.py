"""A folder as the kubelet mounts a ConfigMap or a Secret."""

import shutil
from collections.abc import Mapping
from pathlib import Path


class Mount:
    """Files that link through ``..data`` to a folder, which is swapped whole."""

    def __init__(self, root: Path, files: Mapping[str, bytes]) -> None:
        self.root = root
        self._generation = 0
        self.publish(files)

    def publish(self, files: Mapping[str, bytes]) -> None:
        """Replace the content as kubernetes pkg/volume/util/atomic_writer.go does."""
        self._generation += 1
        folder = self.root / f"..2026_11_21_10_00_{self._generation:02d}.1"
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        data, link = self.root / "..data", self.root / "..data_tmp"
        old = data.resolve()
        link.symlink_to(folder.name)
        link.rename(data)
        for name in files:
            if not (self.root / name).is_symlink():
                (self.root / name).symlink_to(f"..data/{name}")
        if old != data:
            shutil.rmtree(old)
