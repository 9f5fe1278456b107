"""Say whether every member is told the address that rank 0 really has, and whether anybody is there to tell it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from webhook.core.reconcile.jobs import newest_master, publication
from webhook.diagnose.explain.observation import Observation, Stage, duration
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.explain.waiting import seconds_waited

TOPIC = "addresses"
CONTROLLER = "controller"
_SLACK_SECONDS = 15.0
"""How long a publication or a renewal of the Lease may be on its way."""
_MOST_LEASE_SECONDS = 60.0

State = Literal["alive", "dead", "unknown"]


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at the controller, and at what it has told each job."""
    jobs: dict[str, list[Part]] = {}
    for part in parts:
        if part.member is not None and part.member.wanted:
            jobs.setdefault(part.member.job, []).append(part)
    state, said = controller_state(reading)
    title = f"Lease {'/'.join(reading.lease_key)}"
    untold = 0
    for members in jobs.values():
        lacking, found = _job(reading, members)
        untold += lacking
        yield from found
    namespace = reading.lease_key[0]
    if untold:
        whom = f"{untold:,} pod{'s' if untold > 1 else ''} of this job"
        if state == "alive":
            message = f"{said}, and has not told {whom} of rank 0's address"
            action = f"look at its log: kubectl -n {namespace} logs deployment/fabric-injector-controller"
        else:
            message = (
                f"{said}: nobody tells {whom} of rank 0's address"
                if said
                else f"{whom} is not told of rank 0's address"
            )
            action = f"is the controller running? kubectl -n {namespace} get pods"
        yield Observation(Stage.CONTROLLER, "fail", CONTROLLER, message, action, subject=title)
    elif state == "dead" and jobs:
        action = f"is the controller running? kubectl -n {namespace} get pods"
        message = f"{said}: no address that changes now is told to anybody"
        yield Observation(Stage.CONTROLLER, "warn", CONTROLLER, message, action, subject=title)


def controller_state(reading: Reading) -> tuple[State, str]:
    """Return whether a controller renews its Lease, with a sentence that says so."""
    if reading.lease is None:
        return "unknown", ""
    spec = reading.lease.get("spec") or {}
    holder = str(spec.get("holderIdentity") or "")
    if not reading.lease:
        return "dead", "does not exist"
    if not holder:
        return "dead", "is held by no controller"
    seconds = seconds_since(spec.get("renewTime"), reading.now)
    lasts = spec.get("leaseDurationSeconds")
    limit = min(float(lasts), _MOST_LEASE_SECONDS) if isinstance(lasts, int) else _SLACK_SECONDS
    if seconds is None or seconds > limit + _SLACK_SECONDS:
        when = f"{duration(seconds)} ago" if seconds is not None else "at no time that can be read"
        return "dead", f"was renewed last {when}, by {holder}, which is gone"
    return "alive", f"controller {holder} holds it"


def _job(reading: Reading, members: Sequence[Part]) -> tuple[int, list[Observation]]:
    """Return how many members the controller should have told something by now, and what is wrong with each."""
    master = newest_master(part.member for part in members if part.member is not None)
    if master is None or not master.secondary.address:
        return 0, []
    address = master.secondary.address
    of_master = next(part for part in members if part.name == master.name)
    is_fresh = of_master.seconds_bound(reading) < _SLACK_SECONDS
    untold, found = 0, []
    for part in members:
        assert part.member is not None  # noqa: S101  # for mypy: the caller chose them
        told, pods = part.member.published.master_addr, (part.name,)
        if part.name != master.name and _started_before(part, of_master):
            message = f"runs since before {master.name}, the present rank 0, was created: its environment holds a former one's address"
            action = "restart these members: delete the pods, or restart the job"
            found.append(Observation(Stage.ADDRESS, "fail", TOPIC, message, action, pods))
        if publication(part.member, address) is None or is_fresh:
            continue
        untold += 1
        if told and told != address:
            message = f"is told that rank 0 is at {told}, and {master.name} is at {address}"
            found.append(Observation(Stage.ADDRESS, "fail", TOPIC, message, "", pods))
        elif seconds_waited(reading, part) is not None:
            continue  # what it waits for is told
        elif not told:
            found.append(
                Observation(Stage.ADDRESS, "warn", TOPIC, f"is not told that rank 0 is at {address}", "", pods)
            )
        else:
            found.append(Observation(Stage.ADDRESS, "warn", TOPIC, "is not told its own address", "", pods))
    if not untold:
        whom = f"all {len(members):,} members are" if len(members) > 1 else "it is"
        where = f"{address} on {master.secondary.interface or master.wanted.rpartition('@')[2]}"
        message = f"rank 0, {master.name}, is at {where}, and {whom} told so"
        if not is_fresh:
            found.append(Observation(Stage.SUMMARY, "ok", TOPIC, message, subject=f"job {master.job}"))
    return untold, found


def _started_before(part: Part, master: Part) -> bool:
    """Tell whether the training container runs since before the rank-0 pod was created: its environment is of that time."""
    state = part.state_of(str(part.training.get("name")))
    started = str((state.get("running") or {}).get("startedAt") or "")
    return bool(started) and started < str(master.pod["metadata"].get("creationTimestamp") or "")
