"""Make pages of the Markdown files beside docs/ too, and let pages link to files of the repository, which are no pages."""

from __future__ import annotations

import posixpath
import re
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
_not_run: list[str] = []
_LINK = re.compile(r"\[([^\[\]]+)\]\((?!\w+:|#)([^()\s#]*)(#[^()\s]*)?\)")


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages; MkDocs calls this once."""
    from mkdocs.structure.files import File  # only there when the pages are built

    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Lead each link to the page that is made of its file, else to the file at ``repo_url``; without that only its text stays."""
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

    return _LINK.sub(lead, markdown)


def on_post_build(**_: Any) -> None:
    """List the blocks of commands that no test runs as they are written, and why; MkDocs calls this once."""
    print("commands that tests do not run as written:", *_not_run, sep="\n")  # noqa: T201  # what the build says
