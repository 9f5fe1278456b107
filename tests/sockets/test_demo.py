"""The command ``demo``: what a first visitor sees, and that nothing of it stays behind."""

import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from urllib.request import Request, urlopen

import pytest

from tests.sockets.server import ROOT, environment
from tests.waiting import wait_until

DEMO = (sys.executable, "-m", "webhook", "demo")


def start(command: Sequence[str] = DEMO) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=environment(),
    )


def test_injects_all_and_ends() -> None:
    process = start((*DEMO, "--once"))
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "2 of 2 pods were injected" in said
    assert "Serving until Ctrl-C" not in said


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_takes_its_webhook_along(number: signal.Signals, status: int) -> None:
    process = start()
    assert process.stdout is not None
    url, dry_runs = None, []
    for line in process.stdout:
        dry_runs += re.findall(r"'(http\S+)'$", line.rstrip())
        url = url or (re.search(r"Metrics: (http\S+)/metrics", line) or [None, None])[1]
        if url:
            break
    assert url, "the demo did not serve"
    with urlopen(
        Request(dry_runs[0], b"{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"),
        timeout=60,
    ) as reply:
        assert b'"namespace": "research"' in reply.read()
    with urlopen(f"{url}/livez", timeout=60) as reply:
        assert reply.status == 200
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == status, said
    assert "Traceback" not in said
    wait_until(lambda: not answers(url), "the webhook to end")


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/livez", timeout=2):
            return True
    except OSError:
        return False
