"""How this machine reaches its package index, for a build in a container."""

import ast
import subprocess
import sys
from pathlib import Path

KEYS = ("index-url", "extra-index-url", "trusted-host", "proxy", "cert", "timeout", "retries")


def pip_configuration() -> tuple[str, list[Path]]:
    """Give a pip.conf with what files and environment set here, and the files that it names.

    ``pip config list`` writes ``global.cert='/path'`` or, of the environment, which wins,
    ``:env:.cert='/path'``.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    pairs = (
        line.partition("=") for line in sorted(lines, key=lambda line: line.startswith(":env:"))
    )
    found = {name.rpartition(".")[2]: str(ast.literal_eval(value)) for name, _, value in pairs}
    settings = {key: found[key] for key in KEYS if key in found}
    text = "\n".join(["[global]", *(f"{key} = {value}" for key, value in settings.items()), ""])
    return text, [Path(settings["cert"])] if "cert" in settings else []
