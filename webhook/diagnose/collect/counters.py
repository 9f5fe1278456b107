"""Read the byte counters of a job's pods twice, by a command that is run in them: only where that was asked for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import partial

from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.logs import choose_pods
from webhook.diagnose.explain.counters import COMMANDS, Counters, Traffic, read_counters
from webhook.diagnose.explain.observation import common_form
from webhook.diagnose.explain.part import Part, read_part
from webhook.kube.answer import RequestFailed
from webhook.kube.pod_exec import run_in_container

MOST_PODS = 8
SECONDS_BETWEEN = 5.0
_SECONDS, _MOST_BYTES = 10.0, 1 << 18
_FORBIDDEN = 403


class _Unmeasured(Exception):
    """Say why the counters of a pod cannot be read."""


def read_traffic(collector: Collector, pods: Iterable[Object]) -> Mapping[str, Traffic]:
    """Read those of rank 0 and of others, up to MOST_PODS whose training container runs; what cannot be read is noted."""
    parts = [part for part in map(read_part, pods) if _runs(part)]
    chosen = choose_pods(parts, MOST_PODS)
    failed: dict[str, list[str]] = {}
    firsts = _read_all(collector, chosen, failed)
    if firsts:
        time.sleep(SECONDS_BETWEEN)
    seconds = _read_all(collector, [part for part in chosen if part.name in firsts], failed)
    collector.note_pods("counters", failed)
    return {name: Traffic(at - firsts[name][0], firsts[name][1], counters) for name, (at, counters) in seconds.items()}


def _runs(part: Part) -> bool:
    return "running" in part.state_of(str(part.training.get("name")))


def _read_all(
    collector: Collector, parts: Iterable[Part], failed: dict[str, list[str]]
) -> dict[str, tuple[float, Counters]]:
    begun = [(part, collector.begin(partial(_read, collector, part))) for part in parts]
    found = {}
    for part, future in begun:
        try:
            found[part.name] = future.result()
        except RequestFailed as error:
            hint = "; ask for get and create of pods/exec" if error.status == _FORBIDDEN else ""
            failed.setdefault(f"{common_form(str(error), part.name)}{hint}", []).append(part.name)
        except (Unavailable, _Unmeasured) as error:
            failed.setdefault(common_form(str(error), part.name), []).append(part.name)
    return found


def _read(collector: Collector, part: Part) -> tuple[float, Counters]:
    key = (str(part.pod["metadata"].get("namespace")), part.name)
    container = str(part.training.get("name"))
    problem = ""
    for command in COMMANDS:
        answer = run_in_container(
            collector.reader.connection.credentials, key, container, command, seconds=_SECONDS, most_bytes=_MOST_BYTES
        )
        at = time.monotonic()
        if (counters := read_counters(answer.stdout.decode(errors="replace"))) is not None:
            return at, counters
        problem = problem or answer.problem
    raise _Unmeasured(
        f"container {container} has neither a shell nor cat, or no /proc/net/dev: {problem or 'no answer'}"
    )
