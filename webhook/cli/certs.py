"""Look at certificates, make them, and ask for new ones: ``fabric-injector certs``."""

from __future__ import annotations

import click

from webhook.cli.certs_issue import issue
from webhook.cli.certs_rotate import rotate
from webhook.cli.certs_show import show


@click.group("certs")
def command() -> None:
    """Show, issue or rotate the webhook's certificates.

    The controller (fabric-injector control) issues and renews them by itself: none of this is needed in daily life.

    \b
    Examples:
      fabric-injector certs show
      fabric-injector certs rotate --authority
      fabric-injector certs issue --out tls --dns fabric-injector.fabric-injector.svc
    """  # noqa: D301  # \\b is click's own mark


for each in (show, issue, rotate):
    command.add_command(each)
