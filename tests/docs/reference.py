"""Make the site's pages of the code: ``python -m tests.docs.reference`` prints them as JSON.

docs/hooks.py calls it and adds the pages to the site. They are not kept in the repository.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import Any

import click
import yaml

from tests import ROOT
from tests.docs.compatibility import compatibility
from webhook.cli import imported, main
from webhook.control.metrics import ControllerMetrics
from webhook.diagnose.manual import all_codes
from webhook.http.metrics import Histogram, Metrics, Numbers
from webhook.serve.metrics import WebhookMetrics


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def flags() -> str:
    """Return the page of all commands and their options, from click."""
    lines = [
        "# Flags\n",
        "Each option is also an environment variable: `--profiles` of `serve` is",
        "`FABRIC_INJECTOR_SERVE_PROFILES`. `fabric-injector COMMAND --help` prints the same.\n",
    ]
    context = click.Context(main, info_name="fabric-injector", show_default=True)
    for name, listed in main.commands.items():
        if not listed.hidden:
            lines += _of_command(imported(name), name, context)
    return "\n".join(lines)


def _of_command(command: click.Command, name: str, above: click.Context) -> list[str]:
    context = click.Context(command, info_name=name, parent=above)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"## {context.command_path.partition(' ')[2]}\n", "```text", usage, "```\n"]
    lines += [
        f"{_paragraph(each)}\n" for each in inspect.cleandoc(command.help or "").split("\n\n")
    ]
    options = [
        each
        for each in command.get_params(context)
        if isinstance(each, click.Option) and not each.hidden
    ]
    if rows := [_option(each, context) for each in options if "--help" not in each.opts]:
        lines += ["| option | meaning |", "|---|---|", *rows, ""]
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            if (sub := command.get_command(context, each)) is not None:
                below = _of_command(sub, each, context)
                lines += [line.replace("## ", "### ", 1) for line in below]
    return lines


def _paragraph(text: str) -> str:
    """Return one as Markdown: what click does not wrap as it is, the rest in one line."""
    if text.startswith("\b"):
        lines = text.removeprefix("\b").strip("\n").splitlines()
        return "\n".join(["```text", *(line.removeprefix("  ") for line in lines), "```"])
    return _escaped(" ".join(text.split()))


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    shown, told = record
    told = re.sub(r"\[env var: [A-Z_]+\]|env var: [A-Z_]+; ", "", told)
    return f"| `{shown.replace('|', chr(92) + '|')}` | {_cell(_escaped(told))} |"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")


def labels() -> str:
    """Return the page of labels, annotations, variables and objects, from webhook/core/names.py."""
    lines = [
        "# Labels, annotations, variables\n",
        "All names that fabric-injector reads or writes, as",
        "[names.py](../webhook/core/names.py) explains them. They are an interface between",
        "versions: a change serves both forms for one minor version. *Set by* says who writes it;",
        "what the webhook sets is set or removed when the pod is created, never trusted.\n",
    ]
    found = [*_explained()]
    ours = [each for each in found if each[0].startswith("fabric-injector.io/")]
    kinds = {"Labels and annotations of ours": ours}
    rest = [each for each in found if each not in ours]
    kinds["Labels and annotations of others"] = [
        each for each in rest if each[1].startswith(("Label", "Annotation"))
    ]
    kinds["Variables"] = [each for each in rest if each[1].startswith("Variable")]
    kinds["Containers, volumes and objects"] = [
        each for each in rest if not any(each in kind for kind in kinds.values())
    ]
    for title, rows in kinds.items():
        lines += [f"## {title}\n", "| name | what | set by | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {what} | {who} | {_cell(told)} |" for name, what, who, told in rows
        ]
        lines.append("")
    return "\n".join(lines)


_SENTENCE = re.compile(
    r"(?P<what>[^(:]+?)(?: \((?P<who>[^)]*)\))?(?P<of>[^:(]*): (?P<told>.*)", re.DOTALL
)


def _explained() -> Iterator[tuple[str, str, str, str]]:
    """Yield value, kind, author and meaning of each name that has a sentence of that form."""
    body = ast.parse((ROOT / "webhook/core/names.py").read_text()).body
    for before, after in pairwise(body):
        value = before.value if isinstance(before, ast.Assign | ast.AnnAssign) else None
        said = after.value if isinstance(after, ast.Expr) else None
        if not (isinstance(value, ast.Constant) and isinstance(said, ast.Constant)):
            continue
        if sentence := _SENTENCE.fullmatch(str(said.value)):
            what = f"{sentence['what']}{sentence['of']}".strip()
            told = sentence["told"][:1].upper() + sentence["told"][1:]
            yield str(value.value), what, _code(sentence["who"] or ""), _code(told)


def _code(text: str) -> str:
    """Return what stands between double backticks, as in docstrings, between single ones."""
    return re.sub(r"``([^`]*)``", r"`\1`", text)


def metrics() -> str:
    """Return the page of metrics, from the two processes' registries."""
    lines = [
        "# Metrics\n",
        "Port 8080 of every pod, path `/metrics`. No metric names a pod, a job or a namespace.",
        "Counters have the `_total` that Prometheus adds. [Operate](operate.md) explains those of",
        "certificates, profiles and faults.",
        "The alerts stand in",
        "[prometheus-rule.yaml](../manifests/components/prometheus-rules/prometheus-rule.yaml).\n",
    ]
    kinds: dict[str, Metrics] = {"Webhook": WebhookMetrics(), "Controller": ControllerMetrics()}
    for title, each in kinds.items():
        lines += [f"## {title}\n", "| metric | kind | labels | meaning |", "|---|---|---|---|"]
        lines += sorted(
            _metric(number) for number in each.registered if number.name.startswith("fabric")
        )
        lines.append("")
    return "\n".join(lines)


def _metric(number: Numbers | Histogram) -> str:
    labels = ", ".join(f"`{label}`" for label in number.labels)
    return f"| `{number.name}` | {number.kind} | {labels} | {_cell(number.text)} |"


def findings() -> str:
    """Return the page of all codes, with a heading for each, from the rules of webhook/diagnose."""
    lines = [
        "# Findings\n",
        "Each failure and warning of `check`, `explain` and `status` has a stable code.",
        "`fabric-injector explain --code CODE` prints what stands here.\n",
    ]
    for topic, of_topic in groupby(all_codes().values(), lambda code: code.topic):
        lines.append(f"## {topic}\n")
        for code in of_topic:
            action = f"{code.action[:1].upper()}{code.action[1:]}"
            lines += [f"### {code}\n", f"{code.means}\n", f"**What to do.** {action}.\n"]
    return "\n".join(lines)


def fields() -> str:
    """Return the page of a profile's fields, from the CustomResourceDefinition."""
    definition = (ROOT / "manifests/base/custom-resource-definition.yaml").read_text()
    (version,) = yaml.safe_load(definition)["spec"]["versions"]
    properties = version["schema"]["openAPIV3Schema"]["properties"]
    lines = [
        "# Fields of a profile\n",
        "`kubectl explain fabricprofile.spec --recursive` lists the same.",
        "[Profiles](profiles.md) has examples.\n",
        "| field | type | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{path}` | {kind} | {_cell(told)} |" for path, kind, told in _fields(properties)]
    return "\n".join(lines) + "\n"


def _fields(properties: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield path, type and description of each field that has one, and of those below it."""
    for name, schema in properties.items():
        items = schema.get("items", {})
        path = f"{above}{name}{'[]' if items else ''}"
        if "description" in schema:
            yield path, schema.get("type", "any"), _escaped(schema["description"])
        below = schema.get("properties", {}) | items.get("properties", {})
        yield from _fields(below, f"{path}.")


PAGES: Mapping[str, Callable[[], str]] = {
    "fields.md": fields,
    "flags.md": flags,
    "labels.md": labels,
    "metrics.md": metrics,
    "findings.md": findings,
    "compatibility.md": compatibility,
}
"""Pages of the site, and what makes each."""


if __name__ == "__main__":
    print(json.dumps({page: make() for page, make in PAGES.items()}))  # for a program
