"""Add pages to the site: the Markdown files beside docs/, and those that are made of the code.

Lead links to files that are no pages to the repository, and the code of a finding to its section.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "report-a-vulnerability.md",
}
"""Files of the repository that are pages of the site, and as which."""
_NOT_RUN = re.compile(r"^<!-- not-run: (.+) -->$", re.MULTILINE)
_CODE = re.compile(r"(?<![\[`])`([a-z]+(?:-[a-z]+)*)`(?!`)")
_not_run: list[str] = []
_codes: set[str] = set()
_LINK = re.compile(r"\[([^\[\]]+)\]\((?!\w+:|#)([^()\s#]*)(#[^()\s]*)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages; MkDocs calls this once."""
    from mkdocs.structure.files import File  # only there when the pages are built

    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page, text in made().items():
        files.append(File.generated(config, page, content=text))
        if page == "findings.md":
            _codes.update(re.findall(r"^### (\S+)$", text, re.MULTILINE))
    return files


def made() -> dict[str, str]:
    """Return the pages that are made of the code; tests/docs/reference.py makes them."""
    python = os.environ.get("PYTHON", ".venv/bin/python")
    command = [python, "-m", "tests.docs.reference"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    pages: dict[str, str] = json.loads(done.stdout)
    return pages


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Lead each link to the page of its file, else to it at ``repo_url``, else keep its text."""
    if page.file.src_uri == "faq.md":
        page.meta["search"] = {"boost": 4}  # who types a symptom looks for its answer
    _not_run.extend(f"  {page.file.src_uri}: {why}" for why in _NOT_RUN.findall(markdown))
    own = next(
        (source for source, name in PAGES.items() if name == page.file.src_uri),
        f"docs/{page.file.src_uri}",
    )
    url = (config.get("repo_url") or "").rstrip("/")

    def lead(match: re.Match[str]) -> str:
        text, path, anchor = match[1], match[2], match[3] or ""
        if not path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(own), path))
        if target in PAGES or target.startswith("docs/"):
            return f"[{text}]({PAGES.get(target, target.removeprefix('docs/'))}{anchor})"
        return f"[{text}]({url}/blob/main/{target})" if url else text

    def explain(match: re.Match[str]) -> str:
        code = match[1]
        return f"[`{code}`](findings.md#{code})" if code in _codes else match[0]

    return _CODE.sub(explain, _LINK.sub(lead, markdown))


def on_post_build(**_: Any) -> None:
    """List the blocks of commands that no test runs, and why; MkDocs calls this once."""
    print("commands that tests do not run as written:", *_not_run, sep="\n")  # noqa: T201
