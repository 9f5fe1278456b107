"""The commands that README, CONTRIBUTING and docs/ print, and which of them a test runs where."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from tests import ROOT
from webhook.cli import main

_BLOCK = re.compile(
    r"(?:^<!-- not-run: (?P<why>[^\n]+?) -->\n)?^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_OF_CLUSTER = re.compile(
    r"kubectl |helm |\bfabric-injector "
    r"(?:check|explain|status|certs show|certs rotate|serve|control)\b"
    r"|\bdry-run (?!.*--objects)"
)
_LANGUAGES = ("", "console", "sh", "bash", "shell")
"""A block of one of these is commands; what a command prints is ``text``."""


class Block(NamedTuple):
    """Some commands of a *page*, a path in the repository; *why* they are not run, else empty."""

    page: str
    text: str
    why: str

    @property
    def needs_a_cluster(self) -> bool:
        """Tell whether one of the commands asks a cluster."""
        return any(_OF_CLUSTER.search(line) for line in self.text.splitlines())

    def commands(self) -> list[str]:
        """Return them one by one, with a text that is given to one (``<<EOF``) behind it."""
        if "<<" in self.text:
            return [self.text]
        return [line for line in self.text.splitlines() if line.strip()]


def pages() -> list[Path]:
    """Return the pages whose commands are looked at."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks() -> Iterator[Block]:
    """Yield all of them, in the order of the pages."""
    for page in pages():
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
            if found["language"].strip() in _LANGUAGES:
                yield Block(str(page.relative_to(ROOT)), found["text"], found["why"] or "")


def sandbox(folder: Path) -> None:
    """Put into *folder* what commands find in the repository, and the files that readers bring."""
    for name in ("webhook", "manifests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    shutil.copy(ROOT / "manifests/examples/jobs/pytorchjob.yaml", folder / "job.yaml")
    for file in ("profiles.yaml", "config.yaml", "kustomization.yaml", "device-class.yaml"):
        (folder / file).write_text("")


def bring(folder: Path, page: str) -> None:
    """Write the files that the page shows: of the YAML blocks with a name, the first of each."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, content in reversed(
        re.findall(r"^```yaml\n# ([\w-]+\.yaml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ):
        (folder / name).write_text(content)


def run(
    command: str, folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run one as a reader would: what needs no shell in this process, the rest in bash.

    ``make`` is that of the repository, with what is installed already.
    """
    ours = re.fullmatch(r"(?:\.venv/bin/)?fabric-injector ([^|<>&;$`\n]+?)(?: +#.*)?\n*", command)
    if ours:
        return _run_here(shlex.split(ours[1]), folder, environment)
    venv = Path(sys.executable).parents[1]
    path = f"{venv / 'bin'}:{os.environ['PATH']}"
    make = (
        f'make() {{ command make --no-print-directory -C "{ROOT}" VENV="{venv}" '
        f'-o "{venv}/.command" -o "{venv}/.installed" "$@"; }}'
    )
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{make}\n{command}"],
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def _run_here(
    words: list[str], folder: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, words, env=environment, catch_exceptions=False)
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def wrong(command: str, done: subprocess.CompletedProcess[str]) -> str:
    """Tell what went wrong, if anything: ours end with 1 where they found something."""
    ours = re.match(
        r"(?:\.venv/bin/|kubectl )?fabric-injector "
        r"(?:check|explain|status|dry-run|certs show|profiles validate)",
        command,
    )
    if "Traceback" in done.stderr or done.returncode not in ((0, 1) if ours else (0,)):
        said = (done.stdout[-300:] + done.stderr[-700:]).strip()
        return f"{command}\n  ended with {done.returncode}: {said}"
    return ""
