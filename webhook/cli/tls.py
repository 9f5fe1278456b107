"""Read what clients of the webhook must meet from the command line."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from certs.handshake import Requirements
from webhook.cli.options import Failure

Command = TypeVar("Command", bound=Callable[..., Any])
VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}

_OPTIONS = (
    click.option(
        "--client-ca",
        type=click.Path(path_type=Path),
        show_envvar=True,
        help="PEM file of authorities. Every client of the admission port must then show a certificate that one of them signed; "
        "read again when it changes. Probes and metrics are not concerned.",
    ),
    click.option(
        "--client-name",
        multiple=True,
        show_envvar=True,
        help="Common name or DNS name of which the client's certificate must carry one, exactly; others get 403. Repeatable; in "
        "the environment variable, separate names with spaces. Needs --client-ca. Without it every certificate of the CA will do.",
    ),
    click.option(
        "--tls-min-version",
        type=click.Choice(list(VERSIONS)),
        default="1.2",
        show_default=True,
        show_envvar=True,
        help="Oldest version of TLS that the admission port speaks.",
    ),
    click.option(
        "--tls-ciphers",
        default="",
        show_envvar=True,
        help="Ciphers for TLS 1.2 in OpenSSL's notation, separated by ':'. Default: OpenSSL's own choice. Those of TLS 1.3 are "
        "fixed.",
    ),
)


def tls_options(command: Command) -> Command:
    """Add the options to *command*, which gets them as *handshake* and *client_names*."""

    @functools.wraps(command)
    def read(
        client_ca: Path | None, client_name: tuple[str, ...], tls_min_version: str, tls_ciphers: str, **others: Any
    ) -> Any:
        if client_name and not client_ca:
            raise Failure("--client-name needs --client-ca: without it no client shows a certificate")
        if not all(client_name):
            raise Failure("--client-name is empty; give the name that the client's certificate carries")
        if tls_ciphers and tls_min_version == "1.3":
            raise Failure("--tls-ciphers is for TLS 1.2, which --tls-min-version 1.3 rules out; give one of the two")
        handshake = Requirements(VERSIONS[tls_min_version], tls_ciphers, client_ca)
        return command(handshake=handshake, client_names=frozenset(client_name), **others)

    for option in reversed(_OPTIONS):
        read = option(read)
    return read  # type: ignore[return-value]  # functools.wraps gives it the command's signature no more
