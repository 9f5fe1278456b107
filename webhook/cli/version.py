"""Print the version of this program and of the webhook in the cluster."""

import click

from webhook import __version__
from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.options import option
from webhook.cli.printing import print_document
from webhook.core.errors import WebhookError
from webhook.core.printable import printable
from webhook.kube.catalogue import DEPLOYMENTS
from webhook.kube.reader import Reader, whole
from webhook.world.installed_profiles import DEPLOYMENT


@click.command("version", cls=ClusterCommand)
@option("--client", is_flag=True, help="Print the version of this program only.")
@options.system_namespace
@options.output("json", help="Print one JSON document.")
def command(client: bool, system_namespace: str, output: str | None) -> None:
    """Print the version of this program, and the image of the webhook in the cluster."""
    found = {"client": __version__}
    if not client:
        found["server"] = _server(system_namespace)
    if output:
        print_document(found, output)
        return
    for key, text in found.items():
        click.echo(f"{key}: {printable(text)}")


def _server(namespace: str) -> str:
    """Return the webhook's image, or why it is unknown."""
    try:
        reader = Reader(connect_to_cluster(), 5.0)
        found = reader.find(DEPLOYMENTS, (namespace, DEPLOYMENT), whole)
    except WebhookError as error:
        return f"unknown: {error}"
    if found is None:
        return f"unknown: there is no Deployment {namespace}/{DEPLOYMENT}"
    containers = found["spec"]["template"]["spec"]["containers"]
    return ", ".join(str(each.get("image")) for each in containers)
