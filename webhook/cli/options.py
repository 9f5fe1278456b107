"""Define the options that commands share."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from webhook.core import names

option = click.option
FILE: click.Path = click.Path(path_type=Path)
MANIFEST: click.Path = click.Path(path_type=Path, allow_dash=True)
webhook_configuration = option(
    "--webhook-configuration",
    metavar="NAME",
    default=names.WEBHOOK_CONFIGURATION,
    help="MutatingWebhookConfiguration of the webhook.",
)
system_namespace = option(
    "--system-namespace",
    metavar="NS",
    default="fabric-injector",
    help="Namespace of fabric-injector.",
)
profiles = option("--profiles", type=FILE, help="Use the profiles of this file, not the webhook's.")
all_namespaces = option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
no_headers = option("--no-headers", is_flag=True, help="Print no line of headings.")
_FILES = "File or folder; - is standard input."
manifests = partial(
    option, "-f", "--file", type=MANIFEST, multiple=True, metavar="FILE", help=_FILES
)
recursive = option("-R", "--recursive", is_flag=True, help="Read folders inside a folder too.")
objects = partial(option, "--objects", multiple=True, help="File of objects in place of a cluster.")
namespace = partial(option, "-n", "--namespace", metavar="NS")
selector = partial(option, "-l", "--selector", default="", show_default=False, metavar="SELECTOR")


def output(*forms: str, help: str) -> Callable[..., Any]:  # noqa: A002  # as click's
    """Make ``--output`` with *forms* to choose from."""
    return option("-o", "--output", type=click.Choice(forms), metavar="FORM", help=help)


def listen(spelling: str, default: str, text: str) -> Callable[..., Any]:
    """Make an option for an address to listen on."""
    from webhook.http.listener import ListenAddress

    def address(written: str) -> ListenAddress:
        try:
            return ListenAddress.parse(written)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return option(spelling, type=address, metavar="HOST:PORT", default=default, help=text)
