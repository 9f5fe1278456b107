"""Make pods of the rows of the YAML files beside this: a fixture or a plain pod, and changes.

*of*: a fixture of ``pods/``, else the pod is a plain one. *silent*: no variables, and a command
that says nothing; *bare*: no resources either. *labels*, *annotations*: null takes one away;
*own_labels*: in place of all. *owner*: the only controller, null for none. *drop*: variables that
go. *env*: variables that are appended, ``{field: PATH}`` is a fieldRef. *run*: the command, a text
of ``sh -c``. *container*, *spec*, *metadata*: further fields.
"""

import json
from typing import Any

import pytest

from tests import pods
from webhook.core.model import Object

_KEYS = {
    *("of", "silent", "bare", "labels", "annotations", "own_labels", "owner", "drop", "env"),
    *("run", "container", "spec", "metadata"),
}


def each(table: dict[str, Any]) -> pytest.MarkDecorator:
    """Give a test each row, named by its title."""
    return pytest.mark.parametrize("row", table.values(), ids=table)


def filled(row: Any, **texts: str) -> Any:
    """Return a row with texts in place of names in capitals."""
    written = json.dumps(row)
    for name, text in texts.items():
        written = written.replace(name, text)
    return json.loads(written)


def build(*changes: Object) -> Object:
    """Return the pod of a row; a later one changes it further."""
    of = next((change["of"] for change in changes if "of" in change), None)
    pod = pods.load(f"pods/{of}.yaml") if of else pods.plain()
    for change in changes:
        assert change.keys() <= _KEYS, change.keys() - _KEYS
        _change(pod, **change)
    return pod


def _change(pod: Object, **row: Any) -> None:
    metadata, [first, *_] = pod["metadata"], pod["spec"]["containers"]
    for container in pod["spec"]["containers"]:
        if row.keys() & {"silent", "bare"}:
            container["env"] = []
        if "bare" in row:
            container["resources"] = {}
    if row.keys() & {"silent", "bare"}:
        pods.set_command(pod, "sleep", "infinity")
    for key in ("labels", "annotations"):
        marks = {**(metadata.get(key) or {}), **row.get(key, {})}
        metadata[key] = {name: value for name, value in marks.items() if value is not None}
    metadata["labels"] = row.get("own_labels", metadata["labels"])
    if "owner" in row:
        owner = {"name": "x", "uid": "u", "controller": True, **(row["owner"] or {})}
        metadata["ownerReferences"] = [owner] if row["owner"] else []
    pods.drop_env(pod, *row.get("drop", ()))
    for name, value in row.get("env", {}).items():
        is_text = isinstance(value, str)
        path = {} if is_text else {"fieldPath": value["field"]}
        given = {"value": value} if is_text else {"valueFrom": {"fieldRef": path}}
        first.setdefault("env", []).append({"name": name, **given})
    if run := row.get("run"):
        pods.set_command(pod, *(["sh", "-c", run] if isinstance(run, str) else run))
    for holder, key in ((first, "container"), (pod["spec"], "spec"), (metadata, "metadata")):
        holder |= row.get(key, {})
