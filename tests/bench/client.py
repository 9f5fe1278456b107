"""Send requests with a Go program that connects as the API server does: load/main.go."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.sockets.server import Server

HERE = Path(__file__).parent
REVIEW = HERE / "review.json"
RATE = 300
"""Requests a second of a steady load."""


class Load:
    """The program, and the file of the servers' CAs."""

    def __init__(self, folder: Path, authority: Path) -> None:
        """Build it in the folder."""
        go = shutil.which("go")
        if go is None:
            sys.exit("the load client is a Go program: install Go and put it on PATH")
        self._binary = folder / "load"
        subprocess.run([go, "build", "-o", self._binary, "."], cwd=HERE / "load", check=True)
        self._authority = authority

    def run(
        self, server: Server, seconds: float, rate: float = 0, body: Path = REVIEW
    ) -> dict[str, Any]:
        """Post *body* to the server for some seconds; end the whole run where a request failed."""
        words: dict[str, object] = {
            "url": server.addresses["admission"] + "/mutate?timeout=5s",
            "ca": self._authority,
            "body": body,
            "seconds": seconds,
            "rate": rate,
        }
        command = [str(self._binary), *(f"-{name}={value}" for name, value in words.items())]
        result = subprocess.run(command, check=True, capture_output=True, timeout=seconds + 60)
        figures: dict[str, Any] = json.loads(result.stdout)
        if figures["errors"]:
            failed = f"{figures['errors']} of {figures['requests']} requests failed"
            sys.exit(f"{failed}: {figures['firstFail']}")
        return figures
