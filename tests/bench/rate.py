"""Measure admissions a second of two replicas behind a real API server, and by themselves: ``python -m tests.bench.rate``.

Pods are sent by a Go client in turn to two namespaces, each of which is served by one replica: as dry runs, which a real API server
admits as it admits others but does not store, and, in one row, to be stored. The same pods are sent to a namespace that the
webhook is not asked about, and their reviews to both replicas without an API server. Steady rates are shares of the highest one.

Then a model: an admission costs the same processor time on any number of cores. It is fitted on one core, and checked against what
was measured on all; what it says of more cores than this machine has was not measured. Nothing is asserted but that every
answer is the right one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import usage
from tests.bench.admission import HERE, REVIEW, Load, cluster, interpreter
from tests.bench.place import bench_place
from tests.cluster.controlplane import ControlPlane
from tests.cluster.jobs import as_sent
from tests.cluster.webhook import Webhook, default_configuration
from webhook.core import names

COMMAND = [sys.executable, "-m", "webhook"]
REPLICAS = ("one", "two")
REPLICA = "example.com/replica"
PROBED = "  probe: {env: {PROBED: here}}\n"
"""A profile for the fixtures' own pods, which both replicas are asked about: the first must let them pass."""
WANTED = 1000
"""Admissions a second that two replicas are to take."""
MOST_MILLISECONDS = 100
"""What the p99 is to stay below."""
SHARES = (0.25, 0.5, 0.75, 0.9)
WORKERS = 16
STEADY_WORKERS = 32
"""At a steady rate more may wait, so that a late answer holds up none of the next."""
PROGRAMS = ("kube-apiserver", "etcd", "webhook", "client")
CALLS = "apiserver_admission_webhook_admission_duration_seconds"
OURS = "fabric_injector_admission_duration_seconds"


class Way(NamedTuple):
    """Where requests go, and what their answers must be."""

    urls: Sequence[str]
    body: Path
    options: Sequence[str] = ()


@dataclass
class Row:
    """Collect the figures of one kind of load, a value for each round."""

    title: str
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, figure: str, value: float) -> None:
        self.values.setdefault(figure, []).append(value)

    def __getitem__(self, figure: str) -> float:
        return statistics.median(self.values[figure])

    @property
    def cost(self) -> float:
        """Give the processor time of one request in ms, of all programs together."""
        return sum(self[program] for program in PROGRAMS)

    @property
    def busy(self) -> float:
        """Give the number of cores that were used."""
        return self["rate"] * self.cost / 1000


class Bench:
    """The API server with both replicas, and the ways to them."""

    def __init__(self, folder: Path, seconds: float, stack: ExitStack) -> None:
        self.seconds = seconds
        self.plane = stack.enter_context(ControlPlane(folder / "plane"))
        self.rows: dict[str, Row] = {}
        prepare(self.plane)
        profiles = folder / "profiles.yaml"
        profiles.write_text((HERE / "profiles.yaml").read_text() + PROBED)
        self.replicas = [
            stack.enter_context(_replica(self.plane, folder, profiles, name)) for name in REPLICAS
        ]
        authorities = [self.plane.ca, *(replica.tls_dir / "ca.crt" for replica in self.replicas)]
        (folder / "authorities").write_bytes(b"".join(path.read_bytes() for path in authorities))
        self._load = Load(folder, folder / "authorities")
        review = json.loads(REVIEW.read_text())
        review["request"]["namespace"] = REPLICAS[0]
        (folder / "review.json").write_text(json.dumps(review))
        pod = as_sent(review["request"]["object"])
        pod["metadata"]["generateName"] = f"{pod['metadata'].pop('name')}-"
        (folder / "pod.json").write_text(json.dumps(pod))
        token = ("-token", self.plane.token, "-status", "201", "-holds")
        injected, plain = (*token, names.STATUS), (*token, '"kind":"Pod"')
        patched = ("-holds", '"patchType":"JSONPatch"')
        spaces = [f"{self.plane.url}/api/v1/namespaces/{name}/pods" for name in REPLICAS]
        dry = [f"{url}?dryRun=All" for url in spaces]
        self.direct = Way(
            [f"{each.url}/mutate?timeout=5s" for each in self.replicas],
            folder / "review.json",
            patched,
        )
        self.admitted = Way(dry, folder / "pod.json", injected)
        self.stored = Way(spaces, folder / "pod.json", injected)
        self.uninjected = Way([dry[0].replace("/one/", "/plain/")], folder / "pod.json", plain)

    def run(self, title: str, way: Way, rate: float = 0, *, cores: int | None = None) -> Row:
        """Send requests for some seconds, at a rate or as fast as answers come, on all or the first cores; give the row."""
        row = self.rows.setdefault(title, Row(title))
        everywhere = os.sched_getaffinity(0)
        usage.pin(set(sorted(everywhere)[:cores]))
        try:
            before, client = usage.cpu_seconds(), _client_seconds()
            workers = STEADY_WORKERS if rate else WORKERS
            figures = self._load.post(way.urls, way.body, self.seconds, rate, workers, *way.options)
            used = usage.cpu_seconds() - before
        finally:
            usage.pin(everywhere)
        used["client"] = _client_seconds() - client  # type: ignore[assignment]  # seconds, as the others
        asked = figures["requests"] + workers  # each asks once before it is counted
        for program in PROGRAMS:
            row.add(program, 1000 * used[program] / asked)
        row.add("wanted", rate)
        row.add("rate", figures["requests"] / figures["seconds"])
        row.add("p50", figures["p50Milliseconds"])
        row.add("p99", figures["p99Milliseconds"])
        say(f"  {title}: {row.values['rate'][-1]:.0f}/s, p99 {row.values['p99'][-1]:.1f} ms")
        return row

    def calls(self) -> dict[str, dict[float, float]]:
        """Count calls of the webhook by the seconds that they took at most, as the API server and as the replicas say."""
        seen = {"API server's own": _buckets(self.plane.api.expect("GET", "/metrics"), CALLS)}
        seen["replicas' own"] = _buckets(
            "\n".join(replica.metrics() for replica in self.replicas), OURS
        )
        return seen


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of all rows (default 3)")
    parser.add_argument(
        "--seconds", type=float, default=5, help="seconds of each row in a round (default 5)"
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=0,
        help="highest rate to take shares of (default: as measured first)",
    )
    options = parser.parse_args()
    with bench_place("rate") as (folder, stack):
        bench = Bench(folder, options.seconds, stack)
        bench.run("warming up", bench.admitted)
        highest = options.rate or bench.run("highest", bench.admitted)["rate"]
        bench.rows.clear()
        counted: list[dict[str, dict[float, float]]] = []
        for turn in range(options.rounds):
            say(f"round {turn + 1} of {options.rounds}")
            counted += measure(bench, highest)
    print(
        f"\n{interpreter()}; {os.cpu_count()} processors; medians of {options.rounds} rounds of {options.seconds:g} s"
    )
    print_rows(bench.rows.values())
    print_calls(counted)
    print_model(bench.rows)


def measure(bench: Bench, highest: float) -> Iterator[dict[str, dict[float, float]]]:
    """Measure each row once; yield how long the calls took at the highest steady rate."""
    bench.run(f"both replicas, no API server, {WANTED}/s", bench.direct, WANTED)
    bench.run("both replicas, no API server", bench.direct)
    bench.run("not injected, dry run", bench.uninjected)
    bench.run("one core, dry run", bench.admitted, cores=1)
    bench.run("dry run", bench.admitted)
    bench.run("stored", bench.stored)
    for share in SHARES:
        before = bench.calls()
        bench.run(f"dry run, {share:.0%} of the highest", bench.admitted, share * highest)
    after = bench.calls()
    yield {
        who: {le: count - before[who].get(le, 0) for le, count in found.items()}
        for who, found in after.items()
    }


def print_rows(rows: Iterable[Row]) -> None:
    """Print what was measured."""
    print(f"\n{'':<42}{'rate':>7}{'p50':>8}{'p99':>8}   CPU-ms a request of")
    print(
        f"{'':<42}{'1/s':>7}{'ms':>8}{'ms':>8}"
        + "".join(f"{program:>16}" for program in PROGRAMS)
        + f"{'all':>8}{'cores':>7}"
    )
    for row in rows:
        line = f"{row.title:<42}{row['rate']:>7.0f}{row['p50']:>8.1f}{row['p99']:>8.1f}"
        print(
            line
            + "".join(f"{row[program]:>16.2f}" for program in PROGRAMS)
            + f"{row.cost:>8.2f}{row.busy:>7.2f}"
        )


def print_calls(counted: Sequence[dict[str, dict[float, float]]]) -> None:
    """Print how long the calls of the webhook took at the highest steady rate."""
    print(f"\nCalls of the webhook alone, at {SHARES[-1]:.0%} of the highest rate")
    for who in counted[0]:
        total = {le: sum(each[who].get(le, 0) for each in counted) for le in counted[0][who]}
        calls = max(total.values())
        shares = ", ".join(
            f"{found / calls:.2%} within {1000 * le:g} ms"
            for le, found in sorted(total.items())
            if le <= 0.1
        )
        print(f"  {who:<20}{calls:.0f} calls: {shares}")


def print_model(rows: dict[str, Row]) -> None:
    """Fit the model on one core, compare it with what was measured on all, and print what it says of more."""
    fitted = rows["one core, dry run"].cost
    print(
        f"\nModel: an admission takes {fitted:.2f} CPU-ms, as on one core, whatever the rate and the number of cores"
    )
    print(f"  {'checked against':<40}{'modelled':>10}{'measured':>10}{'error':>8}")
    whole = rows["dry run"]
    steady = [rows[f"dry run, {share:.0%} of the highest"] for share in SHARES]
    pairs = [(f"admissions/s on {whole.busy:.2f} cores", 1000 * whole.busy / fitted, whole["rate"])]
    pairs += [
        (f"cores busy at {row['rate']:.0f}/s", row["rate"] * fitted / 1000, row.busy)
        for row in steady
    ]
    for what, modelled, measured in pairs:
        print(f"  {what:<40}{modelled:>10.2f}{measured:>10.2f}{modelled / measured - 1:>8.0%}")
    error = max(abs(modelled / measured - 1) for _, modelled, measured in pairs[:1])
    kept = [
        row
        for row in steady
        if row["p99"] < MOST_MILLISECONDS and row["rate"] > 0.95 * row["wanted"]
    ]
    if not kept:
        print(
            f"  no steady rate had a p99 below {MOST_MILLISECONDS} ms: this says nothing about {WANTED}/s"
        )
        return
    best = max(kept, key=lambda row: row["rate"])
    share = best.busy / (os.cpu_count() or 1)
    needed = WANTED * max(fitted, best.cost) / 1000 / share
    print(
        f"\n  p99 {best['p99']:.1f} ms at {best['rate']:.0f}/s with {share:.0%} of the cores busy"
    )
    print(
        f"  {WANTED}/s at the same share needs {needed:.1f} cores for API server, etcd, webhook and client (modelled, +-{error:.0%})"
    )
    direct = rows["both replicas, no API server"]
    print(
        f"  of them {WANTED * whole['webhook'] / 1000:.2f} for both replicas: a replica uses one core at most,"
    )
    print(f"  and two take {2000 / whole['webhook']:.0f}/s at {whole['webhook']:.2f} CPU-ms")
    print(
        f"  ({direct['rate']:.0f}/s were measured without API server, beside the client on this machine)"
    )


def prepare(plane: ControlPlane) -> None:
    """Make the networks, and namespaces: one for each replica, and one that the webhook is not asked about."""
    plane.create_namespace("rails")
    for network in cluster():
        if network["metadata"].get("namespace") == "rails" and network["metadata"]["name"] in (
            "rail-0",
            "rail-1",
        ):
            plane.api.ensure(network)
    privileged = {"pod-security.kubernetes.io/enforce": "privileged"}
    for name in REPLICAS:
        plane.create_namespace(name, {names.PROFILE: "two-rails", REPLICA: name, **privileged})
    plane.create_namespace("plain", privileged)


def _replica(plane: ControlPlane, folder: Path, profiles: Path, name: str) -> Webhook:
    """Give a replica with a configuration of its own, by which it is asked about all namespaces but those of the others."""
    configuration: dict[str, Any] = default_configuration()
    configuration["metadata"]["name"] += f"-{name}"
    others = {
        "key": REPLICA,
        "operator": "NotIn",
        "values": [each for each in REPLICAS if each != name],
    }
    for entry in configuration["webhooks"]:
        entry["name"] = f"{name}.{entry['name']}"
        entry.setdefault("namespaceSelector", {}).setdefault("matchExpressions", []).append(others)
    return Webhook(plane, folder / name, profiles, COMMAND, configuration)


def _buckets(text: str, metric: str) -> dict[float, float]:
    """Sum the buckets of a histogram over all series, by their upper bound in seconds."""
    found: dict[float, float] = {}
    for bound, count in re.findall(
        rf'^{metric}_bucket{{.*?le="([^"]+)".*?}} (\S+)$', text, re.MULTILINE
    ):
        found[float(bound)] = found.get(float(bound), 0) + float(count)
    return found


def _client_seconds() -> float:
    """Give the processor time of all clients that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say(text: str) -> None:
    """Tell how far the work is."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
