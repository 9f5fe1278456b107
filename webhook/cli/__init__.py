"""Define the command line: each command is a module of this folder, imported when it runs.

They share `options`, `inputs` (files), `printing`, and `cluster`, which connects by `kubeconfig`.
"""

from importlib import import_module
from typing import Any

import click

from webhook import __version__

GROUPS: dict[str, dict[str, str]] = {
    "Ask": {
        "dry-run": "Show what would be injected into a workload, and why.",
        "status": "Show all jobs, and what is wrong with each.",
        "explain": "Say why a job trains slowly or does not start.",
        "page": "Show dry run, status and check in a browser.",
        "demo": "Show what a TorchX job becomes, on sample data.",
    },
    "Install": {
        "check": "Check cluster and installation, and say what to do.",
        "presets": "List or print profiles for clouds and fabrics.",
        "profiles": "Validate profiles before you apply them.",
        "certs": "Show or rotate the webhook's certificates.",
        "version": "Print the version here and in the cluster.",
        "completion": "Print shell completion for bash, zsh or fish.",
    },
    "Run in the cluster": {
        "serve": "Answer admission reviews over HTTPS.",
        "control": "Publish rank-0 addresses, keep certificates.",
    },
}


class _Commands(click.Group):
    """Import a command's module only to run it: ``serve`` must stay small, help quick."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each group of commands."""
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([*commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it with the status that shells know, our errors with 2."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(err=True)  # behind the ^C of the terminal
            ctx.exit(130)
        except Exception as error:
            from webhook.cli.cluster import failure_by

            if failure := failure_by(error, ctx):
                raise failure from None
            raise

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
    """Return what help, completion and "did you mean" need of each command."""
    lines = {name: text for group in GROUPS.values() for name, text in group.items()}
    shown = {name: click.Command(name, short_help=text) for name, text in lines.items()}
    return {**shown, "wait": click.Command("wait", hidden=True)}  # the wait containers run it


@click.group(
    cls=_Commands,
    commands=_listed(),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "auto_envvar_prefix": "FABRIC_INJECTOR",
    },
)
@click.version_option(__version__, prog_name="fabric-injector")
def main() -> None:
    """Join training pods to a cluster's RDMA fabric, without a change to the job.

    Start with demo: it needs no cluster.
    """


def kubectl_plugin() -> None:
    """Run as kubectl's plugin: usage and errors then name ``kubectl fabric-injector``."""
    main(prog_name="kubectl fabric-injector")
