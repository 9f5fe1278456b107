"""Write the chart's README from the comments of values.yaml: ``python -m … FILE``."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests import ROOT

CHART = ROOT / "manifests" / "chart"
_KEY = re.compile(r"(?P<indent> *)(?P<key>\w+):(?P<value>(?: (?!#)[^#\n]*?)?)(?: +# (?P<told>.*))?")
_HEAD = """\
# Helm chart of fabric-injector

Written by `make reference` from values.yaml. The chart renders the objects of [base](../base), and
FabricProfile objects of the value `profiles`. [Install](../../docs/install.md) says the rest.

```
helm install fabric-injector manifests/chart -n fabric-injector --create-namespace -f values.yaml
helm test fabric-injector -n fabric-injector
```

`helm install`, `upgrade`, `template` and `lint` name a mistake in the values by its path. The API
server names one in a profile, and before it `fabric-injector profiles validate`. `helm test` runs
`fabric-injector check`, which fails where something has to be mended.

Helm makes the profiles of a first install by a hook, after their definition. The next
`helm upgrade` takes them over, and deletes one that is no longer in the values. An uninstall keeps
the definition, and profiles that Helm has not made or not yet taken over. Where `kubectl` made
profiles of the values before, add `--take-ownership`.

| value | default | what it is |
|---|---|---|
"""
_EXAMPLES = "\n## Examples\n"


def text() -> str:
    """Return the file's content."""
    values = (CHART / "values.yaml").read_text()
    rows = [f"| `{path}` | `{default}` | {told} |" for path, default, told in _rows(values)]
    examples = [f"\n```yaml\n{example}```\n" for example in examples_of(values)]
    return _HEAD + "\n".join(rows) + "\n" + _EXAMPLES + "".join(examples)


def examples_of(values: str) -> Iterator[str]:
    """Give each example of values.yaml as values: below the keys it belongs to, without its #."""
    keys: list[str] = []
    example: list[str] = []
    for line in [*values.splitlines(), ""]:
        if line.startswith("#") and not line.startswith("##"):
            example.append(line[1:])
            continue
        if example:
            yield "\n".join([*keys, *example]) + "\n"
            example = []
        found = _KEY.fullmatch(line)
        if found:
            keys = [key for key in keys if _indent(key) < len(found["indent"])]
            keys.append(f"{found['indent']}{found['key']}:")


def uncommented(values: str) -> str:
    """Give values.yaml with all of its examples in force."""
    return re.sub(r"^#(?!#)", "", values, flags=re.MULTILINE)


def _rows(values: str) -> Iterator[tuple[str, str, str]]:
    """Give path, default and comment of each value."""
    lines = [line for line in values.splitlines() if line and not line.startswith("#")]
    keys: list[str] = []
    for number, line in enumerate(lines):
        found = _KEY.fullmatch(line)
        if found is None:
            raise SystemExit(f"values.yaml: {line!r}: write key, value and comment on one line")
        indent = len(found["indent"])
        keys = [*keys[: indent // 2], found["key"]]
        if number + 1 < len(lines) and _indent(lines[number + 1]) > indent:
            continue
        default = yaml.safe_load(found["value"] or "{}")
        shown = found["value"].strip() or ("[]" if keys[-1] == "extraArgs" else "{}")
        yield (
            ".".join(keys),
            shown if default != "" else '""',
            (found["told"] or "").replace("|", "\\|"),
        )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text())
