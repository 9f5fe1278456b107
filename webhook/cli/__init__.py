"""Define the command line: each command is a module of this folder, imported when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from webhook import __version__

_COMMANDS = {
    "serve": "Answer admission reviews over HTTPS.",
    "control": "Publish rank-0 addresses, and keep the certificates.",
    "dry-run": "Show what would be injected into any workload, and why.",
    "survey": "Say which jobs train without the fabric, before installation.",
    "check": "Look at the cluster and the installation, and say what to do.",
    "status": "Show all jobs, and what is wrong with each.",
    "explain": "Say why a job trains slowly or does not start.",
    "bundle": "Write for a bug report what explain finds, without secrets.",
    "certs": "Show, issue or rotate the webhook's certificates.",
    "profiles": "Turn profiles into objects of the cluster, and back.",
    "presets": "List or print ready-made profiles for clouds and NVIDIA's operator.",
    "schema": "Print the schema of profiles, for editors or the API server.",
    "demo": "Show on sample data what a TorchX job becomes, then serve.",
}
_UNLISTED = ("page", "read-profiles", "wait")
"""Run by ``serve`` alone, and by the wait containers."""
_ENVIRONMENT_PREFIX = "FABRIC_INJECTOR"


class _Commands(click.Group):
    """Import a command's module only when the command is called: ``serve`` must stay small."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS and cmd_name not in _UNLISTED:
            return None
        module = import_module(f"webhook.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        command.short_help = _COMMANDS.get(cmd_name)
        return command


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": _ENVIRONMENT_PREFIX}
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
