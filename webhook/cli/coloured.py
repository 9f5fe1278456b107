"""Print a dry run in colours on a terminal, for ``dry-run`` and ``demo``."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from webhook.core.model import Outcome
from webhook.core.printable import printable
from webhook.dry_run import DryRun, PodResult
from webhook.dry_run.render import (
    diff_lines,
    heading,
    summary,
    summary_lines,
    told_decisions,
    told_warnings,
    unchanged,
)

_LINES = {"+": "green", "-": "red", "@": "cyan"}
_OUTCOMES = {
    Outcome.INJECTED: "green",
    Outcome.KEPT: "",
    Outcome.SKIPPED: "dim",
    Outcome.WARNED: "yellow",
    Outcome.DENIED: "bold red",
}


def print_diff(run: DryRun, console: Console | None = None) -> None:
    """Print for each pod a heading, the diff, a table of decisions and the warnings; then a line for each workload."""
    console = console or Console(highlight=False, soft_wrap=True)
    for pod in run.pods:
        _print_pod(pod, console)
        console.print()
    for line in summary_lines(run):
        console.print(Text(line, style="yellow" if line.startswith("warning: ") else "bold"))
    for part in run.ignored:
        style = "red" if part.broken else "dim"
        console.print(Text(printable(f"{part.source}: {part.message}", limit=None), style=style))


def _print_pod(pod: PodResult, console: Console) -> None:
    console.print(Text(heading(pod), style="bold"))
    console.print(Text(summary(pod), style="green" if pod.allowed else "bold red"))
    lines = diff_lines(pod)
    for line in lines:
        style = "bold" if line.startswith(("--- ", "+++ ")) else _LINES.get(line[:1], "")
        console.print(Text(line, style=style))
    if not lines and pod.allowed:
        console.print(Text(f"  {unchanged(pod)}", style="dim"))
    if told := told_decisions(pod):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for decision in told:
            outcome = Text(str(decision.outcome), style=_OUTCOMES[decision.outcome])
            table.add_row(
                Text(decision.step), outcome, Text(printable(decision.message, limit=None))
            )
        console.print(table, soft_wrap=False)
    for warning in told_warnings(pod):
        console.print(Text(f"warning: {warning}", style="yellow"))
