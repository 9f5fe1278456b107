"""Print the script that makes a shell complete commands and options."""

import click
from click.shell_completion import shell_complete


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      source <(fabric-injector completion bash)
      fabric-injector completion fish > ~/.config/fish/completions/fabric-injector.fish
    """  # noqa: D301  # \\b is click's own mark
    from webhook.cli import main

    shell_complete(main, {}, "fabric-injector", "_FABRIC_INJECTOR_COMPLETE", f"{shell}_source")
