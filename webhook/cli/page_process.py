"""Run the process of the dry run's page: started by ``serve`` alone, and not listed."""

from __future__ import annotations

import click


@click.command("page-process")
@click.argument("parent", type=int)
@click.argument("connections", type=int)
@click.argument("questions", type=int)
def command(parent: int, connections: int, questions: int) -> None:
    """Answer dry runs for the process PARENT, on connections that come through one socket; ask through another.

    CONNECTIONS and QUESTIONS are the numbers of the inherited sockets.
    """
    from webhook.serve.page.run import run

    run(parent, connections, questions)
