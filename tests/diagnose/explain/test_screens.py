"""What a person sees first when a job does not train: the whole screen, for each usual cause.

`python -m tests.diagnose.explain.test_screens` writes the screens of tests/cases/explain again, to
be read before they are kept.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests import ROOT
from tests.diagnose.explain.test_cases import build
from tests.diagnose.scenes import Scene
from webhook import __version__
from webhook.cli.explain import print_explanation
from webhook.diagnose.explain.judge import Explanation
from webhook.diagnose.finding import exit_status

FOLDER = ROOT / "tests/cases" / "explain"
_CASES = yaml.safe_load((Path(__file__).parent / "screens.yaml").read_text())
SCENES: dict[str, Callable[[], Scene]] = {
    name: partial(build, case) for name, case in _CASES.items() if not name.startswith(".")
}

WELL = ["well", "after-an-upgrade", "meets-by-name"]
WELL += ["timeline-of-a-slow-rank-0", "timeline-after-restarts"]
"""Where nothing is wrong any more."""


def screen(explanation: Explanation, *, timeline: bool = False) -> str:
    """Give what the command prints, and its exit status; *timeline*: with ``--timeline``."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_explanation(explanation, timeline=timeline)
    text = out.getvalue().replace(f"version {__version__}:", "version VERSION:")
    return f"{text}\nexit status {exit_status(explanation.findings)}\n"


@pytest.mark.parametrize("name", SCENES)
def test_shows_the_cause_first_on_one_screen(name: str) -> None:
    shown = screen(SCENES[name]().explained, timeline=name.startswith("timeline"))
    assert shown == (FOLDER / f"{name}.txt").read_text()
    lines = shown.splitlines()
    assert len(lines) <= 30
    is_well = name in WELL
    assert lines[0].startswith("ok" if is_well else ("fail", "warn"))


def test_every_screen_that_is_kept_is_tested() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SCENES)


if __name__ == "__main__":
    for title, make in SCENES.items():
        shown = screen(make().explained, timeline=title.startswith("timeline"))
        (FOLDER / f"{title}.txt").write_text(shown)
