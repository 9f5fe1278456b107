"""A diff on a terminal: coloured, and with nothing to obey or to take for markup."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from tests.cli.dry_run_command import POD
from webhook.cli.coloured import print_diff
from webhook.core.model import Decision, Outcome, Reason
from webhook.dry_run import DryRun, PodResult
from webhook.dry_run.templates import Ignored


def coloured(run: DryRun, **settings: Any) -> str:
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=80,
        highlight=False,
        soft_wrap=True,
        color_system="standard",
        **settings,
    )
    print_diff(run, console)
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_colours_a_diff_on_a_terminal() -> None:
    after = {**POD, "metadata": {"name": "p", "labels": {"[bold]a": "\x1b[2J"}}}
    decisions = (
        Decision("networks", Outcome.INJECTED, Reason.ADDED, "annotation " + "long " * 40),
        Decision("istio", Outcome.SKIPPED, Reason.NO_SIDECAR, "[red]no sidecar"),
    )
    allowed = PodResult(
        "Pod/p",
        "ml",
        POD,
        after,
        True,
        profile="rdma",
        decisions=decisions,
        warnings=("[x] careful",),
    )
    denied = PodResult("Pod/[b]q", "ml", POD, POD, False, "never")
    text = coloured(DryRun((allowed, denied), (Ignored("ConfigMap/x", "holds no pod template"),)))
    assert "\x1b[32m+  labels:\x1b[0m" in text
    assert "[bold]a" in text
    assert "\x1b[2J" not in text
    assert "[red]no sidecar" in text
    assert "[x] careful" in text
    assert "\x1b[1;31mdenied: never\x1b[0m" in text
    assert "Pod/[b]q" in text
    assert "ConfigMap/x: holds no pod template" in text


def test_leaves_colours_out_where_the_user_wants_none() -> None:
    after = {**POD, "metadata": {"name": "p", "labels": {"a": "b"}}}
    text = coloured(DryRun((PodResult("Pod/p", "ml", POD, after, True),), ()), no_color=True)
    assert "\x1b[32m" not in text
    assert "+  labels:" in text
