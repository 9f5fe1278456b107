"""Let the pages link to files of the repository, which is not part of the built documentation."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\[\]]+)\]\((?:\.\./)+([^()\s]+)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Lead links that leave docs/ to ``repo_url``; without one only their text stays. MkDocs calls this for each page."""
    url = (config.get("repo_url") or "").rstrip("/")
    return _OUTSIDE.sub(rf"[\1]({url}/blob/main/\2)" if url else r"\1", markdown)
