"""The machine's end of the pods' networks: a bridge for eth0, and one end of a veth pair for macvlan interfaces to sit on."""

import itertools
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Self

# Of a veth pair the end that stays here: the other is removed with it.
_NAME = re.compile(r"^\d+: (fi(\d+)-\d+(?:[bdv]|o\d+))[@:]", re.MULTILINE)
_numbers = itertools.count()


class Links:
    """The links, from entering the `with` block until it is left; their names carry this process's id.

    The subnets are of 198.18.0.0/15, which is kept for tests (RFC 2544), and differ between processes. `api_service`, the first
    address of the Services, is the API server's.
    """

    def __init__(self) -> None:
        number = next(_numbers)
        self._name, octet = f"fi{os.getpid()}-{number}", (os.getpid() + number) % 250
        self.bridge, self.macvlan_parent, self._peer = (self.interface(letter) for letter in "bvw")
        self.gateway = f"198.18.{octet}.1"
        self.pods = f"198.18.{octet}.0/24"
        self.first_pod, self.last_pod = f"198.18.{octet}.10", f"198.18.{octet}.239"
        self.services = f"198.18.{octet}.240/28"
        self.api_service = f"198.18.{octet}.241"
        self.fabric = f"198.19.{octet}.0/24"
        self.fabric_v6 = f"fd00:198:19:{octet:x}::/64"

    def __enter__(self) -> Self:
        """Make the links; those of processes that were killed are removed first."""
        _remove_orphans()
        try:
            _ip("link", "add", self.bridge, "type", "bridge")
            for address in (f"{self.gateway}/24", f"{self.api_service}/32"):
                _ip("addr", "add", address, "dev", self.bridge)
            _ip("link", "add", self.macvlan_parent, "type", "veth", "peer", "name", self._peer)
            for name in (self.bridge, self.macvlan_parent, self._peer):
                _ip("link", "set", name, "up")
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the links, and with the last of them whatever still hangs on them."""
        self._remove()

    def interface(self, suffix: str) -> str:
        """Give the name of an interface of this process: a letter, after which a number may come."""
        return f"{self._name}{suffix}"

    def add_macvlan(self, name: str) -> None:
        """Make one more interface, beside those of pods; it is removed with the links."""
        parent = self.macvlan_parent
        _ip("link", "add", "link", parent, "name", name, "type", "macvlan", "mode", "bridge")

    def _remove(self) -> None:
        for name in (self.bridge, self.macvlan_parent):
            with suppress(subprocess.CalledProcessError):
                _ip("link", "del", name)
        there = {name for name, _ in _NAME.findall(_ip("-o", "link", "show"))}
        if left := there & {self.bridge, self.macvlan_parent}:
            raise RuntimeError(f"links that could not be removed: {', '.join(sorted(left))}")


def _remove_orphans() -> None:
    for name, owner in _NAME.findall(_ip("-o", "link", "show")):
        if not Path(f"/proc/{owner}").exists():
            _ip("link", "del", name)


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout
