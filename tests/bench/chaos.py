"""Kill controllers and the API server at random while jobs run and their ranks 0 move: ``python -m tests.bench.chaos``.

Whatever was killed is started again, as the kubelet does. At the end every live member must have the address at which its job's
rank 0 is, and at no time may a pod have been told an address that its own job never had.
"""

import random
import sys
import time
from collections import Counter

from tests.apiserver.audit import Audit
from tests.bench.churn import Churn
from tests.bench.place import bench_place, parser, print_table, say
from tests.cluster.controller import Controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.jobs import LABELLED, Job, Told

LEASE_NAMESPACE = "fabric-injector"
NAMESPACES = 8
MEAN_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 4.0, 20.0
"""Between two kills: often too short for another leader, sometimes long enough, as a Lease lasts for 15 s."""
SETTLE_SECONDS = 180.0


def main() -> None:
    """Do it, and print what was done."""
    made = parser(
        __doc__,
        kills=(50, "how many processes are killed"),
        jobs=(64, "jobs of four pods"),
        replicas=(3, "controllers, of which one leads"),
    )
    made.add_argument("--seed", type=int, help="repeat the choices of an earlier run")
    options = made.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)
    with bench_place("chaos") as (folder, stack):
        audit = Audit(folder / "audit")
        plane = stack.enter_context(ControlPlane(folder / "plane", *audit.flags))
        for namespace in (f"chaos-{number}" for number in range(NAMESPACES)):
            plane.create_namespace(namespace, LABELLED)
        replicas = [
            stack.enter_context(Controller(plane, folder / f"controller-{number}", LEASE_NAMESPACE))
            for number in range(options.replicas)
        ]
        jobs = [
            Job(plane.api, f"chaos-{number % NAMESPACES}", f"job{number}")
            for number in range(options.jobs)
        ]
        churn = Churn(jobs, 4, random.Random(seed + 1))
        say(f"seed {seed}: creating {options.jobs} jobs of 4 pods")
        for job in jobs:
            job.create(4)
            churn.move(job)
        begun = time.monotonic()
        churn.start()
        killed = kill(plane, replicas, options.kills, chance)
        churn.ended.set()
        churn.join()
        ended = time.monotonic()
        wrong = settle(replicas, churn.addresses)
        print_table(
            f"chaos, seed {seed}: {len(jobs)} jobs of 4, {len(replicas)} controllers, {ended - begun:.0f} s",
            {
                "killed": _listed(killed),
                "meanwhile": _listed(churn.done),
                "the Lease changed hands": f"{_transitions(plane)} times",
                "all right after the last kill": "never"
                if wrong
                else f"{time.monotonic() - ended:.1f} s",
                "members with a wrong address": f"{len(wrong)} of {len(jobs) * 4}",
            }
            | judge(audit, jobs),
        )
        if wrong:
            sys.exit(f"not told where rank 0 of their job is: {wrong[:5]}")


def kill(
    plane: ControlPlane, replicas: list[Controller], kills: int, chance: random.Random
) -> Counter[str]:
    """Kill one process after the other, and start again what has ended."""
    killed: Counter[str] = Counter()
    for _ in range(kills):
        until = time.monotonic() + min(
            MOST_PAUSE_SECONDS, chance.expovariate(1 / MEAN_PAUSE_SECONDS)
        )
        while time.monotonic() < until:
            revive(replicas)
            time.sleep(0.1)
        if chance.random() < 0.3:
            plane.stop("kube-apiserver", force=True)
            killed["API server"] += 1
            time.sleep(chance.uniform(0.0, 3.0))
            plane.start_apiserver()
        else:
            leaders = [one for one in replicas if one.leads()]
            victim = leaders[0] if leaders and chance.random() < 0.7 else chance.choice(replicas)
            killed["leader" if victim in leaders else "other controller"] += 1
            victim.stop(force=True)
        say(f"{sum(killed.values())} of {kills} killed")
    revive(replicas)
    return killed


def revive(replicas: list[Controller]) -> None:
    """Start the controllers that have ended, as the kubelet does."""
    for one in replicas:
        if not one.is_running():
            one.start()


def settle(replicas: list[Controller], addresses: dict[Job, str]) -> list[tuple[str, str, Told]]:
    """Wait until every live member is told where rank 0 of its job is; give those that are not in the end."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        revive(replicas)
        wrong = [
            (job.namespace, pod, told)
            for job, address in addresses.items()
            for pod, told in job.told().items()
            if told != Told(address, address, address if pod == job.master else None)
        ]
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(0.2)


def judge(audit: Audit, jobs: list[Job]) -> dict[str, str]:
    """Read from the API server's record what was written; end where a pod was ever told the address of another job."""
    numbers = {job.name: number for number, job in enumerate(jobs)}
    written = again = older = 0
    latest: dict[tuple[str, str], tuple[int, ...]] = {}
    for namespace in sorted({job.namespace for job in jobs}):
        for write in audit.writes(namespace):
            address = tuple(map(int, write.value.split(".")))
            if address[1] != numbers[write.pod.rpartition("-")[0]]:
                sys.exit(f"another job's address was written: {write}")
            before = latest.get((write.uid, write.annotation), (0,))
            written += 1
            again += before == address
            older += before > address
            latest[write.uid, write.annotation] = address
    return {
        "annotations written": str(written),
        "of these the same again": str(again),
        "of these an older address": str(older),
    }


def _transitions(plane: ControlPlane) -> int:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/fabric-injector"
    return int(plane.api.expect("GET", path)["spec"]["leaseTransitions"])


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} x {name}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    main()
