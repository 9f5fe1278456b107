"""Read kubeconfig files: which cluster and which user the current context names.

Several files merge as kubectl merges them: whichever file names a thing first, wins.
Source: kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig, "Merging kubeconfig files".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.value_types import BOOLEAN, LIST, OBJECT, STRING, type_name
from webhook.core.yaml_reader import YamlFault, decode, read_documents


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """Hold the body of one named entry: *field* as ``users[alice].user``, with the *file* that it stands in."""

    file: Path
    field: str
    values: Object

    def text(self, key: str) -> str:
        """Read a string; empty where it is missing."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(
                key, f"expected {STRING}, found {type_name(value)}", "put it in quotes"
            )
        return value

    def flag(self, key: str) -> bool:
        """Read a boolean; false where it is missing."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(
                key, f"expected {BOOLEAN}, found {type_name(value)}", "write true or false"
            )
        return bool(value)

    def path(self, value: str) -> Path:
        """Resolve a path as kubectl does: relative to the file that names it."""
        return self.file.absolute().parent / value

    def wrong(self, key: str, found: str, cure: str) -> InputError:
        """Make the error for one field of this entry; its value is not shown, it may be secret."""
        return InputError(f"kubeconfig {self.file}: {self.field}.{key}: {found}; {cure}")


@dataclass(frozen=True, slots=True)
class Context:
    """Hold the chosen context: its name, the file that chose it, the cluster and user that it names, and its namespace if any."""

    name: str
    file: Path
    cluster: NamedEntry
    user: NamedEntry
    namespace: str = ""


def read_context(files: Iterable[Path], chosen: str = "") -> Context:
    """Read the context named *chosen*, else the current one, of the merged files.

    Raises InputError naming file and field, also where the context names a cluster or user that is not there.
    """
    name, chosen_in, last = "", Path(), Path()
    found: dict[tuple[str, str], NamedEntry] = {}
    for file in files:
        document = _load(file)
        current = document.get("current-context")
        if isinstance(current, str) and current and not name:
            name, chosen_in = current, file
        for section, body in (("clusters", "cluster"), ("contexts", "context"), ("users", "user")):
            for key, entry in _entries(file, document, section, body):
                found.setdefault((section, key), entry)
        last = file
    if chosen:
        name = chosen
        if ("contexts", name) not in found:
            listed = (
                ", ".join(sorted(key for section, key in found if section == "contexts")) or "none"
            )
            raise InputError(
                f"kubeconfig {last}: --context {name}: no context is named so; use one of: {listed}"
            )
        chosen_in = found["contexts", name].file
    if not name:
        raise InputError(
            f"kubeconfig {last}: current-context: not set; run `kubectl config use-context NAME`"
        )
    context = found.get(("contexts", name))
    if context is None:
        raise InputError(
            f"kubeconfig {chosen_in}: current-context: {name!r} is not among contexts; correct one of them"
        )
    cluster = found.get(("clusters", context.text("cluster")))
    if cluster is None:
        raise context.wrong(
            "cluster", f"{context.text('cluster')!r} is not among clusters", "correct one of them"
        )
    user = found.get(("users", context.text("user")))
    if user is None and context.text("user"):
        raise context.wrong(
            "user", f"{context.text('user')!r} is not among users", "correct one of them"
        )
    user = user or NamedEntry(context.file, f"{context.field}.user", {})
    return Context(name, chosen_in, cluster, user, context.text("namespace"))


def _load(file: Path) -> Object:
    try:
        documents = read_documents(decode(file.read_bytes()))
    except OSError as error:
        raise InputError(
            f"kubeconfig {file}: cannot be read ({error.strerror}); check its mode or KUBECONFIG"
        ) from None
    except YamlFault as fault:
        raise InputError(f"kubeconfig {file}: {fault}") from None
    document = documents[0].value if documents else {}  # kubectl, too, reads the first alone
    if not isinstance(document, dict):
        raise InputError(
            f"kubeconfig {file}: expected {OBJECT}, found {type_name(document)}; see `kubectl config view`"
        )
    return document


def _entries(
    file: Path, document: Object, section: str, body: str
) -> Iterable[tuple[str, NamedEntry]]:
    listed: Any = document.get(section) or []
    if not isinstance(listed, list):
        raise InputError(
            f"kubeconfig {file}: {section}: expected {LIST}, found {type_name(listed)}; correct it"
        )
    for number, item in enumerate(listed):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise InputError(f"kubeconfig {file}: {section}[{number}]: has no name; give it one")
        values = item.get(body) or {}
        if not isinstance(values, dict):
            raise InputError(
                f"kubeconfig {file}: {section}[{item['name']}].{body}: expected {OBJECT}; correct it"
            )
        yield item["name"], NamedEntry(file, f"{section}[{item['name']}].{body}", values)
