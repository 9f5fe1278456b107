"""Complete ``kubectl fabric-injector …``: what kubectl runs as ``kubectl_complete-fabric_injector``.

Source: kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins, "Using shell completion with plugins"; cobra completions.go.
"""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete

from webhook.cli import main as command

_DEFAULT, _NO_FILES = 0, 4
"""cobra's ShellCompDirective: what the shell offers beside what is printed."""


def main() -> None:
    """Print a line for each completion of the last argument, ``VALUE<tab>help``, then cobra's directive."""
    *arguments, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(command, {}, "kubectl-fabric_injector", "").get_completions(arguments, incomplete)
    for item in found:
        if item.type == "plain":
            click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    files = any(item.type != "plain" for item in found)
    click.echo(f":{_DEFAULT if files else _NO_FILES}")
