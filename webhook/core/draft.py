"""Edit a pod without touching the input, and record each edit as a JSON Patch operation."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from webhook.core.model import Object

Path: TypeAlias = tuple[str | int, ...]


class Draft:
    """Hold a pod being changed: ``pod`` is the result so far, ``operations`` lead to it.

    Only the nodes on the way to an edit are copied. A value that the draft itself added is edited
    inside the operation that added it. So a new map or list costs one operation however many
    entries it gets: values must be new objects.

    ``edits`` counts every one, also those inside an operation.
    """

    __slots__ = ("_copied", "_fresh", "edits", "operations", "pod")

    def __init__(self, pod: Object) -> None:
        self.pod = dict(pod)
        self.operations: list[Object] = []
        self._copied: dict[int, Any] = {id(self.pod): self.pod}
        self._fresh: dict[int, Any] = {}
        self.edits = 0

    def get(self, *path: str | int) -> Any:
        """Read the value at *path*; ``None`` where a key on the way is missing or null."""
        node: Any = self.pod
        for key in path:
            if isinstance(node, dict):
                node = node.get(key)
            elif isinstance(node, list) and isinstance(key, int) and key < len(node):
                node = node[key]
            else:
                return None
        return node

    def set_key(self, path: Path, key: str, value: Any) -> bool:
        """Set *key* of the map at *path*, which is made; False where it already holds *value*."""
        return self.set_keys(path, {key: value})

    def set_keys(self, path: Path, values: Mapping[str, Any]) -> bool:
        """Set several keys of the map at *path*; False where it already holds all of them."""
        node, fresh = self._own(path, dict)
        before = self.edits
        for key, value in values.items():
            present = key in node
            if present and node[key] == value:
                continue
            self.edits += 1
            node[key] = value
            self._record("replace" if present else "add", (*path, key), value, fresh)
        return self.edits > before

    def remove_key(self, path: Path, key: str) -> bool:
        """Remove *key* from the map at *path*; False where it is not there."""
        current = self.get(*path)
        if not isinstance(current, dict) or key not in current:
            return False
        self.edits += 1
        node, fresh = self._own(path, dict)
        del node[key]
        if not fresh:
            self.operations.append({"op": "remove", "path": pointer((*path, key))})
        return True

    def append(self, path: Path, value: Any) -> None:
        """Append *value* to the list at *path*, making the list where it is missing."""
        self.extend(path, (value,))

    def extend(self, path: Path, values: Iterable[Any]) -> None:
        """Append several *values* to the list at *path*, making the list where it is missing."""
        added = list(values)
        self.edits += len(added)
        node, fresh = self._own(path, list)
        node += added
        end = (*path, "-")
        for value in added:
            self._record("add", end, value, fresh)

    def insert(self, path: Path, index: int, value: Any) -> None:
        """Insert *value* before *index* of the list at *path*, which is made where missing."""
        node, fresh = self._own(path, list)
        if index >= len(node):
            self.append(path, value)
            return
        self.edits += 1
        node.insert(index, value)
        self._record("add", (*path, index), value, fresh)

    def replace(self, path: Path, index: int, value: Any) -> bool:
        """Replace item *index* of the list at *path*; False where it already equals *value*."""
        current = self.get(*path)
        if current[index] == value:
            return False
        self.edits += 1
        node, fresh = self._own(path, list)
        node[index] = value
        self._record("replace", (*path, index), value, fresh)
        return True

    def remove(self, path: Path, index: int) -> None:
        """Remove item *index* of the list at *path*."""
        self.edits += 1
        node, fresh = self._own(path, list)
        del node[index]
        if not fresh:
            self.operations.append({"op": "remove", "path": pointer((*path, index))})

    def drop(self, path: Path, is_gone: Callable[[Any], bool]) -> list[Any]:
        """Remove the items of the list at *path* that *is_gone* says; return them."""
        gone = [(index, item) for index, item in enumerate(self.get(*path) or ()) if is_gone(item)]
        for index, _ in reversed(gone):
            self.remove(path, index)
        return [item for _, item in gone]

    def _record(self, op: str, path: Path, value: Any, fresh: bool) -> None:
        """Keep an edit as an operation, unless it stands inside one; *value* is the draft's own."""
        if not fresh:
            self.operations.append({"op": op, "path": pointer(path), "value": value})
        if isinstance(value, (dict, list)):
            self._fresh[id(value)] = value

    def _own(self, path: Path, kind: type) -> tuple[Any, bool]:
        """Return the map or list at *path*, ready to be changed, and whether the draft added it.

        A node is copied once, with its ancestors. The input stays as it is: a denied or observed
        pod is answered with it.
        """
        node: Any = self.pod
        fresh, copied = False, self._copied
        for depth, key in enumerate(path, 1):
            child = node.get(key) if isinstance(node, dict) else node[key]
            # Known by identity, since an insert gives the items of a list other paths; held, so
            # that no other object gets the id.
            if id(child) not in copied:
                if child is None:  # null, which the API takes for missing, is replaced
                    child = kind() if depth == len(path) else {}
                    self._record("add", path[:depth], child, fresh)
                    node[key] = child
                    fresh = True
                elif not fresh:
                    fresh = id(child) in self._fresh
                    if not fresh:
                        node[key] = child = child.copy()
                        copied[id(child)] = child
            node = child
        return node, fresh


@lru_cache(4096)
def pointer(path: Path) -> str:
    """Write a JSON Pointer, ``/metadata/annotations/a~1b``. Source: RFC 6901."""
    return "".join(["/" + str(key).replace("~", "~0").replace("/", "~1") for key in path])
