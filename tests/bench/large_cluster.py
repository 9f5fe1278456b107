"""Serve a large cluster in a process of its own, and run the command beside it: what benches of commands share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from webhook.core.model import Object


@contextmanager
def serve_apart(module: str, *arguments: str) -> Iterator[tuple[str, int, Path]]:
    """Run ``--serve`` of a module of this folder; give the URL and the bytes of all pods, which it tells, and an empty folder.

    In a process of its own: the memory of this one would count as the command's, which is forked from it.
    """
    server = subprocess.Popen(
        [sys.executable, "-m", module, "--serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server, tempfile.TemporaryDirectory(prefix="fabric-injector-bench-") as name:
        assert server.stdin is not None
        assert server.stdout is not None
        url, weight = server.stdout.readline().split()
        yield url, int(weight), Path(name)
        server.stdin.close()


def managed(pod: Object) -> Object:
    """Return managedFields of the pod, which the API server sends along: each field by its path."""
    return {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": _paths(pod),
    }


def _paths(value: object) -> Object:
    if isinstance(value, list):
        return {f'k:{{"name":"{number}"}}': _paths(each) for number, each in enumerate(value)}
    return (
        {f"f:{key}": _paths(each) for key, each in value.items()} if isinstance(value, dict) else {}
    )


def run(url: str, folder: Path, *command: str) -> tuple[float, float, float, Object]:
    """Run the command with the profiles of the folder; return seconds, processor seconds, most memory in MB, and the document."""
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }
    (folder / "config").write_text(yaml.safe_dump(config))
    environ = {**os.environ, "KUBECONFIG": str(folder / "config"), "KUBERNETES_SERVICE_HOST": ""}
    arguments = [
        sys.executable,
        "-m",
        "webhook",
        *command,
        "--profiles",
        str(folder / "profiles.yaml"),
        "-o",
        "json",
    ]
    begin = time.monotonic()
    with (folder / "answer").open("wb") as answer:
        process = subprocess.Popen(arguments, env=environ, stdout=answer)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1)
    found: Object = json.loads((folder / "answer").read_bytes())
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, found
