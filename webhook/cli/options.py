"""Share the pieces of which commands are made."""

from __future__ import annotations

from typing import Any

import click

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


class Failure(click.ClickException):
    """End with status 2: the command or its input is wrong."""

    exit_code = 2
