"""Show the webhook at work on sample data: ``fabric-injector demo``."""

from __future__ import annotations

import sys

import click


@click.command("demo")
@click.option(
    "--once",
    is_flag=True,
    help="End after the print; exit status 0 only if every pod was injected.",
)
def command(once: bool) -> None:
    """Send the pods of a real TorchX job through a real HTTPS webhook, and show what they become.

    The webhook runs on sample profiles and sample networks, with a throw-away CA; no cluster is contacted. It then goes on serving,
    so that you can try your own manifests.

    \b
    Examples:
      fabric-injector demo
      fabric-injector demo --once
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli.demo_webhook import run

    if not run(once=once):
        sys.exit(1)
