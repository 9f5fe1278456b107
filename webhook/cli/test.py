"""Test the fabric with real pods, between two nodes or all pairs of them: ``fabric-injector test``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from webhook.cli.findings import echo, print_codes, print_findings, print_json, print_table
from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import (
    Failure,
    cluster_options,
    connect_to_cluster,
    option,
    output_option,
    profiles_in_place_option,
    system_namespace_option,
    workload_namespace_option,
)
from webhook.core.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from webhook.diagnose.fabric_test.verdict import GroupResult

_FEWEST = 2
_NOTHING = "-"


@click.command("test")
@workload_namespace_option("Namespace in which the pods run; else the kubeconfig's.")
@option("--nodes", metavar="A,B", help="Nodes by their label kubernetes.io/hostname, one rank on each; else any two.")
@option("--pairwise", is_flag=True, help="Test each pair of these nodes, or of all that take pods.")
@option("--max-pairs", type=click.IntRange(min=1), default=200, help="End after so many pairs.")
@option(
    "--image",
    metavar="IMAGE",
    help="Image of the pods, which holds fabric-injector; else that of the installed webhook.",
)
@option(
    "--image-pull-secret",
    "pull_secrets",
    metavar="NAME",
    multiple=True,
    help="Secret that pulls the image. Repeatable.",
)
@option("--queue", metavar="NAME", default="", help="Kueue's LocalQueue that the Jobs wait in.")
@option(
    "--timeout", type=click.IntRange(20, 3600), default=180, help="Seconds that a Job may take, its start included."
)
@profiles_in_place_option
@system_namespace_option
@output_option("table", "json", default="table", text="Form of the answer. json: one document for programs.")
@cluster_options
def command(
    namespace: str | None,
    nodes: str | None,
    pairwise: bool,
    max_pairs: int,
    image: str | None,
    pull_secrets: tuple[str, ...],
    queue: str,
    timeout: int,
    profiles: Path | None,
    system_namespace: str,
    output: str,
) -> None:
    """Run real pods through the webhook, and say whether their ranks meet on the fabric, at which speed, and what is wrong if not.

    Creates a Job with a rank on each node, and deletes it at the end; where this command is killed, the Job ends by its deadline and
    goes a minute later. Needs create and delete of jobs.batch, and get and list of pods; to name causes, what explain reads. Speeds are
    those of one TCP connection of Python, a lower bound. Where the image also has perftest (ib_write_bw, ib_read_lat), it is run over
    the pod's RDMA device beside them; that was tried with stand-ins for perftest only, never on RDMA hardware. nccl-tests are not run.

    \b
    Examples:
      fabric-injector test -n research
      fabric-injector test -n research --nodes gpu-1,gpu-2
      fabric-injector test -n research --pairwise -o json

    Exit status: 0 nothing failed, 1 something failed, 2 the command or its input is wrong, 130 Ctrl-C.
    """  # noqa: D301  # \\b is click's own mark
    from webhook.core.errors import InputError, WebhookError
    from webhook.diagnose.collect.fabric_test import FabricTest, describe_barriers, installed_image, schedulable_nodes
    from webhook.diagnose.fabric_test.job import JobSettings
    from webhook.diagnose.fabric_test.rounds import pair_rounds

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by which what was created is deleted
    chosen = list(dict.fromkeys(filter(None, (each.strip() for each in (nodes or "").split(",")))))
    if (nodes or "").strip() and len(chosen) < _FEWEST:
        raise click.UsageError(f"--nodes names two nodes or more, found {nodes!r}")
    results: list[GroupResult] = []
    is_interrupted = False
    try:
        known = read_profiles_option(profiles)
        connection = connect_to_cluster()
        space = namespace or connection.namespace or "default"
        settings = JobSettings(image or installed_image(connection, system_namespace), pull_secrets, queue, timeout)
        rounds: Sequence[Sequence[tuple[str, ...]]] = [[tuple(chosen)]]
        ranks = len(chosen) or _FEWEST
        for line in describe_barriers(connection, chosen) if chosen else ():
            _tell(line)
        if pairwise:
            chosen = chosen or schedulable_nodes(connection)
            rounds, ranks = pair_rounds(chosen, max_pairs), _FEWEST
            if not rounds:
                raise InputError(f"--pairwise takes two nodes that are ready and take pods, found {len(chosen)}")
        test = FabricTest(connection, space, settings, system_namespace=system_namespace, profiles=known, tell=_tell)
        for number, groups in enumerate(rounds, 1):
            if len(rounds) > 1:
                _tell(f"round {number} of {len(rounds)}")
            results += test.run(groups, ranks)
    except KeyboardInterrupt:
        if not results:
            sys.exit(130)
        is_interrupted = True  # what earlier rounds have found is told
    except WebhookError as error:
        raise Failure(str(error)) from None
    findings = [finding for result in results for finding in result.findings]
    if output == "json":
        print_json(findings, namespace=space, groups=[result.as_json() for result in results])
    else:
        print_findings(findings if not pairwise else [finding for finding in findings if finding.level != "ok"])
        print_codes(findings)
        _print_speeds(results)
        if pairwise:
            _print_matrix(chosen, results)
    sys.exit(130 if is_interrupted else int(any(result.is_failing for result in results)))


def _tell(text: str) -> None:
    click.echo(printable(text, limit=None), err=True)


def _print_speeds(results: Sequence[GroupResult]) -> None:
    with_rdma = any(each.rdma_gbits is not None for each in results)
    rdma = ("RDMA Gbit/s", "µs") if with_rdma else ()
    head = ("NODES", "MEET AT", "FABRIC Gbit/s", "µs", "POD NETWORK Gbit/s", "µs", *rdma, "RESULT")
    rows: list[tuple[str, ...]] = [head]
    for each in results:
        figures = [each.fabric_gbits, each.fabric_micros, each.pod_network_gbits, each.pod_network_micros]
        figures += [each.rdma_gbits, each.rdma_micros] if with_rdma else []
        cells = [_NOTHING if figure is None else f"{figure:.2f}" for figure in figures]
        warned = any(finding.level == "warn" for finding in each.findings)
        verdict = "fail" if each.is_failing else "warn" if warned else "ok"
        rows.append((" ".join(each.nodes) or _NOTHING, each.address or _NOTHING, *cells, verdict))
    echo("")
    print_table(rows)


def _print_matrix(nodes: Sequence[str], results: Sequence[GroupResult]) -> None:
    """Print node by node the Gbit/s at least, ``fail``, ``warn`` where none was measured, or ``-`` for pairs that were not tested."""
    cells: dict[frozenset[str], str] = {}
    for each in results:
        speed = "warn" if each.fabric_gbits is None else f"{each.fabric_gbits:.2f}"
        cells[frozenset(each.nodes)] = "fail" if each.is_failing else speed
    rows = [("", *nodes)]
    rows += [(one, *(cells.get(frozenset((one, other)), _NOTHING) for other in nodes)) for one in nodes]
    echo("")
    print_table(rows)
