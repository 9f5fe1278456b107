"""Variables before ``:port``: every spelling, and nothing that only looks like it."""

from __future__ import annotations

import pytest

from webhook.core.workloads import consumption
from webhook.core.workloads.consumption import consumed_before_port

BEFORE = [
    "torchrun --rdzv_endpoint $A:29500",
    "torchrun --rdzv_endpoint ${A}:29500",
    'torchrun --rdzv_endpoint "$A":29500',
    'torchrun --rdzv_endpoint "${A}":"29500"',
    "torchrun --rdzv_endpoint ${A:=localhost}:29500",
    "torchrun --rdzv_endpoint ${A-localhost}:$PORT",
    "--rdzv_endpoint=$(A):29500",
    "tcp://$A:1",
    'bash -c "torchrun --rdzv_endpoint \\"$A\\":29500"',
    "torchrun --rdzv_endpoint ${A:-${B}}:29500",
    "torchrun --rdzv_endpoint ${B:-${A}}:29500",
    "export HEAD=$A; torchrun --rdzv_endpoint $HEAD:29500",
    'HEAD="${A:-localhost}" && PORT=1 && torchrun --rdzv_endpoint ${HEAD}:$PORT',
    "HEAD=$(A) torchrun --rdzv_endpoint=$HEAD:29500",
]
APART = [
    "--master_addr=$A",
    "$A 29500",
    "$AB:1",
    "${AB}:1",
    "$(AB):1",
    "A:1",
    "echo A: $B",
    "${A",
    "$A.svc:1",
    "HEAD=$A; run $HEAD",
    "--head=$A --rdzv_endpoint=$HEAD:1",
]


@pytest.mark.parametrize("text", BEFORE)
def test_a_variable_before_a_port(text: str) -> None:
    assert "A" in consumed_before_port({"command": ["sh", "-c", text]})


@pytest.mark.parametrize("text", APART)
def test_a_variable_without_a_port(text: str) -> None:
    assert "A" not in consumed_before_port({"command": ["sh", "-c", text]})


def test_by_way_of_other_variables() -> None:
    env = [{"name": "B", "value": "$(A)"}, {"name": "C", "value": "$(B)"}, {"name": "D", "value": "$(C):1"}]
    assert consumed_before_port({"env": env}) == {"A", "B", "C"}


def test_a_circle_of_variables_ends() -> None:
    env = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "$(A)"}]
    assert consumed_before_port({"env": env, "args": ["$(A):1"]}) == {"A", "B"}


def test_only_short_commands_are_remembered() -> None:
    before = consumption._read_command.cache_info().currsize
    assert consumed_before_port({"command": ["sh", "-c", "run $A:1 " + "x" * 5000]}) == {"A"}
    assert consumption._read_command.cache_info().currsize == before
