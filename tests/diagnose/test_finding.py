"""What ``check`` and ``explain`` found: its order, its exit status and its JSON."""

import io
import sys

import pytest

from webhook.cli.printing import print_codes, print_findings
from webhook.diagnose.common import LEASE_STALE, NETWORK_MISSING, RESOURCE_NOWHERE
from webhook.diagnose.finding import Finding, as_document, ok

FINE = ok("networks", "default/rail-0", "exists")
DOUBTFUL = Finding(
    "warn", RESOURCE_NOWHERE, "default/rail-1", "no node offers it", "install the device plugin"
)
BROKEN = Finding("fail", NETWORK_MISSING, "default/rail-2", "does not exist", "create it")


def test_gives_all_findings_and_their_number_by_level() -> None:
    document = as_document([BROKEN, FINE])
    keys = ("level", "code", "topic", "subject", "message", "action")
    told = ("default/rail-2", "does not exist", "create it")
    broken = ("fail", "network-missing", "networks", *told)
    fine = ("ok", "ok", "networks", "default/rail-0", "exists", "")
    assert document["findings"] == [dict(zip(keys, each, strict=True)) for each in (broken, fine)]
    assert document["summary"] == {"fail": 1, "warn": 0, "ok": 1}


def test_lets_a_terminal_interpret_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A Lease's holder or a denial may hold anything."""
    print_findings(
        [Finding("fail", LEASE_STALE, "Lease", "held by \x1b]0;x\x07", "look at \x9b2J")]
    )
    assert capsys.readouterr().out == "fail  Lease: held by  ]0;x \n      → look at  2J\n"


TOLD = "; for details: fabric-injector explain --code CODE\n"


@pytest.mark.parametrize(
    ("findings", "told"),
    [
        ([], ""),
        ([FINE], ""),
        ([BROKEN, FINE], f"code: network-missing{TOLD}"),
        ([BROKEN, DOUBTFUL, BROKEN, FINE], f"codes: network-missing, resource-nowhere{TOLD}"),
    ],
)
def test_names_once_the_code_of_each_that_is_not_ok(
    findings: list[Finding], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pages, and check --explain, are asked by code."""
    print_codes(findings)
    assert capsys.readouterr().out == told


def test_codes_fit_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    print_codes([BROKEN, DOUBTFUL])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) + "\n" == f"codes: network-missing, resource-nowhere{TOLD}"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8"])
def test_an_output_that_has_no_arrow_gets_a_question_mark(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    print_findings([BROKEN])
    sys.stdout.seek(0)
    assert (
        sys.stdout.read().splitlines()[1]
        == f"      {'→' if encoding == 'utf-8' else '?'} create it"
    )
