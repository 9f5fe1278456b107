"""Share the pieces of which commands are made."""

from __future__ import annotations

from typing import Any

import click

from webhook import names
from webhook.server.listener import Address


class AddressType(click.ParamType[Address]):
    """Read ``HOST:PORT``."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """Return the address, or fail with what is wrong with it."""
        try:
            return value if isinstance(value, Address) else Address.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


webhook_configuration_option = click.option(
    "--webhook-configuration",
    default=names.WEBHOOK_CONFIGURATION,
    show_default=True,
    show_envvar=True,
    help="MutatingWebhookConfiguration whose caBundle clients of the webhook trust.",
)


namespace_option = click.option(
    "-n", "--namespace", default="fabric-injector", show_default=True, show_envvar=True, help="Namespace of the Secret."
)


class Failure(click.ClickException):
    """End with status 2: the command or its input is wrong."""

    exit_code = 2
