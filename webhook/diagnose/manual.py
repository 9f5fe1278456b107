"""Collect the codes of all rules, and write docs/findings.md: what each means, and what to do."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from itertools import groupby

import webhook.diagnose
from webhook.core.profiles.slips import did_you_mean
from webhook.diagnose.finding import Code

_HEAD = """# Findings

Each failure and warning of `check`, `explain` and `status` has a stable code.
`fabric-injector explain --code CODE` prints its section of this page.
`make reference` writes the page from the rules in webhook/diagnose.
"""


def all_codes() -> dict[str, Code]:
    """Return the codes of every module of webhook.diagnose, by name, topic by topic."""
    found: dict[str, Code] = {}
    for module in pkgutil.walk_packages(webhook.diagnose.__path__, "webhook.diagnose."):
        values = vars(import_module(module.name)).values()
        found |= {each.name: each for each in values if isinstance(each, Code)}
    return dict(sorted(found.items(), key=lambda item: (item[1].topic, item[0])))


def section(code: Code, level: str = "##") -> str:
    """Return the section of one code, in Markdown."""
    action = f"{code.action[:1].upper()}{code.action[1:]}"
    return f"{level} {code}\n\n{code.means}\n\n**What to do.** {action}.\n"


def manual() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for topic, of_topic in groupby(all_codes().values(), lambda code: code.topic):
        parts.append(f"## {topic}\n")
        parts += [section(code, "###") for code in of_topic]
    return "\n".join(parts)


def find_code(written: str) -> tuple[Code | None, str]:
    """Return the code of this name; None where there is none, with the name that was meant, if any."""
    known, name = all_codes(), written.strip().lower().replace("_", "-")
    return known.get(name), did_you_mean(name, known)


if __name__ == "__main__":
    print(manual(), end="")  # noqa: T201  # the page is for standard output
