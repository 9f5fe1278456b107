"""Write the pages of docs/ that are made of the code: ``python -m tests.docs.reference`` (``make reference``)."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import click

from tests import ROOT
from tests.docs.compatibility import compatibility
from webhook.cli import imported, main
from webhook.control.metrics import ControllerMetrics
from webhook.http.metrics import Histogram, Metrics, Numbers
from webhook.serve.metrics import WebhookMetrics

_WRITTEN = "<!-- Written by `make reference`; a test holds it to the code. -->\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def flags() -> str:
    """Return the page of all commands and their options, from click."""
    lines = [
        "# Flags\n",
        _WRITTEN,
        "Each option is also an environment variable: `--profiles` of `serve` is `FABRIC_INJECTOR_SERVE_PROFILES`, and",
        "`--system-namespace` of `check` is `FABRIC_INJECTOR_CHECK_SYSTEM_NAMESPACE`. `fabric-injector COMMAND --help`",
        "prints what stands here.\n",
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
    lines += [f"{_paragraph(each)}\n" for each in _paragraphs(command.help or "")]
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
                lines += [
                    line.replace("## ", "### ", 1) for line in _of_command(sub, each, context)
                ]
    return lines


def _paragraphs(text: str) -> list[str]:
    return inspect.cleandoc(text).split("\n\n")


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
    """Return the page of labels, annotations, variables and objects, from the sentences in webhook/core/names.py."""
    lines = [
        "# Labels, annotations, variables\n",
        _WRITTEN,
        "All names that fabric-injector reads or writes, as [names.py](../webhook/core/names.py) explains them. They are",
        "an interface between versions: a change serves both forms for one minor version. *Set by* says who writes it;",
        "what the webhook sets on a pod is set or removed when the pod is created, and never trusted.\n",
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
            told = sentence["told"]
            yield (
                str(value.value),
                what,
                _code(sentence["who"] or ""),
                _code(told[:1].upper() + told[1:]),
            )


def _code(text: str) -> str:
    """Return what stands between double backticks, as in docstrings, between single ones."""
    return re.sub(r"``([^`]*)``", r"`\1`", text)


def metrics() -> str:
    """Return the page of metrics, from the two processes' registries."""
    lines = [
        "# Metrics\n",
        _WRITTEN,
        "Port 8080 of every pod, path `/metrics`. No metric names a pod, a job or a namespace. Counters are shown with",
        "the `_total` that Prometheus adds. What is told of certificates, profiles and faults is explained in",
        "[operate](operate.md); alerts with their runbooks stand in",
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


PAGES: Mapping[str, Callable[[], str]] = {
    "flags.md": flags,
    "labels.md": labels,
    "metrics.md": metrics,
    "compatibility.md": compatibility,
}
"""Files of docs/ that are written, and by what."""


def write(pages: Iterable[str] = PAGES) -> None:
    """Write these pages."""
    for page in pages:
        (ROOT / "docs" / page).write_text(PAGES[page](), encoding="utf-8")


if __name__ == "__main__":
    write()
