"""Say whether NCCL and Gloo are given the interface on which the ranks meet, and all members the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from webhook import names, podspec
from webhook.explain.observation import Observation, Stage, named
from webhook.explain.part import Part
from webhook.injection.environment import gloo_may_use, nccl_may_use

TOPIC = "interfaces"
_VARIABLES: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    (names.ENV_NCCL_SOCKET_IFNAME, nccl_may_use),
    (names.ENV_GLOO_SOCKET_IFNAME, gloo_may_use),
)


def observe(parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at the literal values of live members, job by job: those of the container, over them those that its command exports."""
    jobs: dict[str, list[Part]] = {}
    for part in parts:
        if part.member is not None and part.member.wanted:
            jobs.setdefault(part.member.job, []).append(part)
    for key, members in jobs.items():
        for variable, may_use in _VARIABLES:
            values: dict[str, list[str]] = {}
            for part in members:
                value, where = podspec.env_value(part.training, variable), "the job or the profile"
                if exported := _exported(part, variable):
                    value, where = exported, "its command"
                if value is None:
                    continue
                values.setdefault(value, []).append(part.name)
                interface = part.member.wanted.rpartition("@")[2] if part.member else ""
                if not may_use(value, interface):
                    message = f"{variable}={value} rules out {interface}, on which the ranks meet"
                    action = f"remove the variable from {where}, then restart the job"
                    yield Observation(Stage.SPEED, "warn", TOPIC, message, action, (part.name,))
            if len(values) > 1:
                listed = "; ".join(
                    f"{value or 'nothing'} in {len(pods):,} ({named(pods)})" for value, pods in values.items()
                )
                action = "give all members the same, then restart the job"
                yield Observation(
                    Stage.SPEED,
                    "warn",
                    TOPIC,
                    f"its members disagree on {variable}: {listed}",
                    action,
                    subject=f"job {key}",
                )


def _exported(part: Part, variable: str) -> str:
    """Return the last literal value that the command's shell text gives the variable; empty where there is none."""
    found = re.findall(rf"\b{variable}=[\"']?([^\s\"';&|$`]+)", " ".join(podspec.argv(part.training)))
    return str(found[-1]) if found else ""
