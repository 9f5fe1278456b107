"""Define the command line: each command is a module of this folder, imported when it is called."""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Any

import click

from webhook import __version__

_COMMANDS = {
    "serve": "Answer admission reviews over HTTPS.",
    "control": "Publish rank-0 addresses, and keep the certificates.",
    "dry-run": "Show what would be injected into any workload, and why.",
    "check": "Look at the cluster and the installation, and say what to do.",
    "status": "Show all jobs, and what is wrong with each.",
    "explain": "Say why a job trains slowly or does not start.",
    "page": "Show dry run, status and check in a browser, on this machine.",
    "certs": "Show, issue or rotate the webhook's certificates.",
    "presets": "List or print ready-made profiles for clouds and NVIDIA's operator.",
    "profiles": "Validate profiles: all faults at once, each with its line.",
    "demo": "Show on sample data what a TorchX job becomes, then serve.",
}
_UNLISTED = ("wait",)
"""Run by the wait containers."""
_FAILED = 2
_INTERRUPTED = 130
_ENVIRONMENT_PREFIX = "FABRIC_INJECTOR"


class _Commands(click.Group):
    """Import a command's module only when that command is meant: ``serve`` must stay small, help and completion quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it with the status that shells know, for 1 says that a command found a failure."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)  # behind the ^C of the terminal
            ctx.exit(_INTERRUPTED)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
            ctx.exit(_FAILED)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, imported(name) if name and listed else None, rest


def imported(name: str) -> click.Command:
    """Return the command of this name, from the module of that name."""
    command: click.Command = import_module(f"webhook.cli.{name.replace('-', '_')}").command
    return command


def _listed() -> dict[str, click.Command]:
    """Return what help, completion and "did you mean" need of each command: its name and its line."""
    lines = {**_COMMANDS, **dict.fromkeys(_UNLISTED, "")}
    return {
        name: click.Command(name, short_help=text, hidden=not text) for name, text in lines.items()
    }


@click.group(
    cls=_Commands,
    commands=_listed(),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": _ENVIRONMENT_PREFIX,
    },
)
@click.version_option(__version__, prog_name="fabric-injector")
def main() -> None:
    """Join distributed-training pods to a cluster's RDMA fabric, without a change to the job.

    Start with demo: it needs no cluster. Every option is also an environment variable: serve's --profiles is
    FABRIC_INJECTOR_SERVE_PROFILES.
    """


def kubectl_plugin() -> None:
    """Run as kubectl's plugin: usage and errors then name ``kubectl fabric-injector``."""
    main(prog_name="kubectl fabric-injector")
