"""Read a manifest as it was pasted; what ``torchx run --dryrun`` prints around it is left out."""

import re

from webhook.core.errors import InputError
from webhook.core.yaml_reader import MAX_NODES, Document, read_documents

_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_TORCHX_REQUEST = re.compile(r"^=== SCHEDULER REQUEST ===[ \t\r]*$", re.MULTILINE)
_TORCHX_LOG = re.compile(r"^torchx \d{4}-\d\d-\d\d .*$", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{|\{%")


def parse_documents(text: str, *, most: int = MAX_NODES) -> list[Document]:
    """Read all documents of *text*, a YAML stream or JSON values; empty ones are left out.

    Each warns of its keys that are written twice. The last value counts, as for kubectl. *most*: as
    in `read_documents`. Raises InputError with line and column.
    """
    text = _scheduler_request(text)
    try:
        return read_documents(text, takes_last=True, most=most)
    except InputError as error:
        hint = ""
        if mark := _TEMPLATE.search(text):
            advice = "as templates do: give what the template makes, as helm template prints it"
            hint = f" (the text holds {mark[0]}, {advice})"
        raise InputError(f"{error}{hint}") from None


def _scheduler_request(text: str) -> str:
    """Blank what torchx prints around its manifest, so that line numbers stay those of the paste.

    Source: torchx cli/cmd_run.py (0.7.0 to 2026.10.26), cli/main.py (its log format).
    """
    plain = _COLOUR.sub("", text)
    end = max((heading.end() for heading in _TORCHX_REQUEST.finditer(plain)), default=0)
    if not end:
        return plain
    return "\n" * plain.count("\n", 0, end) + _TORCHX_LOG.sub("", plain[end:])
