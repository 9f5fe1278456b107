"""Write JSON values as YAML for people: keys in their order, texts of several lines as blocks."""

import re
from typing import Any

import yaml

_LONGEST_LINE = 1 << 30
"""Lines are never broken: a diff shows what changed, and no other place to break."""

_NOT_A_TEXT = re.compile(r"[-+.\d][-+.:_\da-zA-Z]*|[yYnN]")
"""What kubectl would read as a number, a date or a flag, and PyYAML would not: 1e5, y."""


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, _value: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text[:-1] else "'" if _NOT_A_TEXT.fullmatch(text) else None
    node: yaml.ScalarNode = dumper.represent_scalar("tag:yaml.org,2002:str", text, style)
    return node


_Dumper.add_representer(str, _text)


def yaml_text(value: Any) -> str:
    """Return *value* as one document of printable ASCII."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_LONGEST_LINE)
    return text
