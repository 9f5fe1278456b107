"""Check a cluster before and after installation: ``fabric-injector check``."""

from pathlib import Path

import click

from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster
from webhook.cli.inputs import read_profiles
from webhook.cli.options import option
from webhook.cli.printing import echo, print_codes, print_document, print_findings
from webhook.core.printable import printable
from webhook.core.wording import counted
from webhook.diagnose.check import check, open_snapshot
from webhook.diagnose.finding import as_document, count, exit_status, grouped


@click.command("check", cls=ClusterCommand)
@options.profiles
@options.namespace(help="Check only the pods of this namespace.")
@option(
    "--system-namespace",
    metavar="NS",
    help="Namespace of fabric-injector, if not that of its webhook's Service.",
)
@options.webhook_configuration
@options.output("json", help="A document with stable codes.")
def command(
    profiles: Path | None,
    namespace: str | None,
    system_namespace: str | None,
    webhook_configuration: str,
    output: str | None,
) -> None:
    """Check profiles, networks, nodes, certificates, rights, quotas and pods; say what to do.

    Works before installation and after. Nothing is changed: the one pod that is sent is a dry run,
    which shows whether the webhook is called. What you may not read becomes a warning.

    \b
    Examples:
      fabric-injector check --profiles profiles.yaml
      fabric-injector check -n research
      fabric-injector check -o json | jq '.findings[] | select(.level == "fail")'

    Exit status: 0 nothing failed, 1 something failed, 2 the command or its input is wrong.
    """  # noqa: D301  # \\b is click's own mark
    # faults in the file are findings; a file that cannot be read is a wrong command
    given = read_profiles(profiles, faulty=True)
    connection = connect_to_cluster()
    wanted = namespace or ""
    snapshot = open_snapshot(
        connection, wanted, system_namespace, configuration=webhook_configuration, given=given
    )
    findings = check(snapshot)
    system, space = snapshot.system_namespace, snapshot.namespace
    if output:
        head = {"cluster": connection.title, "systemNamespace": system, "namespace": space or None}
        print_document({**head, **as_document(findings)}, output)
    else:
        number = count(findings)
        failures, warnings = counted(number["fail"], "failure"), counted(number["warn"], "warning")
        echo(f"{failures}, {warnings}, {number['ok']:,} ok")
        scope = f"namespace {space}" if space else f"installation in namespace {system}"
        echo(f"cluster: {printable(connection.title, limit=None)}; {scope}")
        print_findings(grouped(findings))
        print_codes(findings)
    raise SystemExit(exit_status(findings))
