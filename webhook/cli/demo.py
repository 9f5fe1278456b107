"""Show what a TorchX job becomes, on sample data: ``fabric-injector demo``."""

from importlib.resources import as_file, files

import click

from webhook.cli.options import option
from webhook.cli.printing import print_lines
from webhook.core.profiles import parse_profiles
from webhook.dry_run import dry_run
from webhook.dry_run.screen import screen
from webhook.world.objects import ObjectsWorld, load_objects


@click.command("demo")
@option("--diff", is_flag=True, help="Show what changes in each pod.")
@option("-v", "--verbose", is_flag=True, help="Show each step and its reason.")
def command(diff: bool, verbose: bool) -> None:
    """Show what the pods of a TorchX job become, with sample profiles and networks.

    No cluster is contacted. The code is that of the webhook.
    """
    with as_file(files("webhook.demo")) as folder:
        world = ObjectsWorld(load_objects([folder / "networks.yaml"]))
        text = (folder / "torchx-pods.yaml").read_text(encoding="utf-8")
        profiles = parse_profiles((folder / "profiles.yaml").read_bytes())
    run = dry_run(text, namespace=None, profile=None, profiles=profiles, world=world)
    print_lines(screen(run, diff=diff, verbose=verbose))
    raise SystemExit(0 if all(pod.is_injected for pod in run.pods) else 1)
