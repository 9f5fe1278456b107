"""Server processes on loopback: started in a group of their own, waited for, and stopped."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import urllib3
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import NotReady, wait_until

COMMAND = (str(Path(sys.executable).with_name("fabric-injector")),)
"""The product, as it is installed in this Python environment."""
PORTS = range(20000, 32000)
_TAKEN: list[socket.socket] = []
"""Sockets without a file whose names keep ports for this process until it ends."""


def free_port() -> int:
    """Give a port that nobody listens on, below those of outgoing connections.

    No other test process of this machine gets it, since the server binds it only a while later.
    """
    for port in random.sample(PORTS, 100):
        kept = socket.socket(socket.AF_UNIX)
        with suppress(OSError), socket.socket() as probe:
            kept.bind(f"\0fabric-injector-port-{port}")
            probe.bind(("127.0.0.1", port))
            _TAKEN.append(kept)
            return port
        kept.close()
    raise NotReady("no free port on 127.0.0.1")


def run_command(
    command: Sequence[str | Path], kubeconfig: Path, text: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with this kubeconfig and text to read; its output is captured."""
    return subprocess.run(
        command,
        env=own_environment(kubeconfig) | environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=240,
    )


def own_environment(kubeconfig: Path | None = None) -> dict[str, str]:
    """Give this process's environment without settings of ours; with a kubeconfig where given."""
    dropped = ("KUBERNETES_", "FABRIC_INJECTOR_", "POD_NAME")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    return kept | ({"KUBECONFIG": str(kubeconfig)} if kubeconfig else {})


def sum_of(text: str, name: str, labels: Mapping[str, str]) -> float:
    """Give the sum of a metric over the series with these labels, of what a process offers."""
    lines = "\n".join(line for line in text.splitlines() if line.startswith(name))
    samples = (one for family in text_string_to_metric_families(lines) for one in family.samples)
    found = (one for one in samples if one.name == name and labels.items() <= one.labels.items())
    return sum(one.value for one in found)


class Server:
    """A process that runs in the background, with its output in a file."""

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start the command; its output is added to the log."""
        self.name = Path(command[0]).name
        self.log = log
        self._ended = False
        self._logged_before = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )

    def running(self) -> bool:
        """Tell whether the process still lives."""
        return self.process.poll() is None

    def output(self) -> str:
        """Give what this process has written so far."""
        return self.log.read_bytes()[self._logged_before :].decode(errors="replace")

    def wait_ready(self, ready: Callable[[], object], seconds: float = 120) -> None:
        """Wait until `ready` holds; else kill it, and raise NotReady with the end of the log."""
        with ExitStack() as unless_ready:
            unless_ready.callback(self.kill)
            try:
                what = f"{self.name} to be ready"
                wait_until(lambda: not self.running() or ready(), what, seconds)
                if not self.running():
                    raise NotReady(f"{self.name} ended with status {self.process.returncode}")
            except NotReady as error:
                end = "\n".join(self.output().splitlines()[-25:])
                raise NotReady(f"{error}\n{end}") from None
            unless_ready.pop_all()

    def stop(self, grace: float = 15) -> int:
        """End the process group, by force after the grace period; give the exit status."""
        if self.running():
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(grace)
        return self.kill()

    def kill(self) -> int:
        """End the process group at once, without a chance to tidy up; give the exit status."""
        if not self._ended:
            self._signal(signal.SIGKILL)
            self._ended = True
        return self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


class Program:
    """A program of ours that serves probes and metrics, and may be stopped and started again.

    *words* follow the *command*, without the option of the metrics' port, which is chosen here.
    """

    def __init__(
        self,
        log: Path,
        words: Sequence[str],
        environment: Mapping[str, str],
        probe: str,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """Prepare it; it has started once the path *probe* is answered with 200."""
        self.log, self.environment = log, {**environment}
        port = free_port()
        self.metrics_url = f"http://127.0.0.1:{port}"
        self._command = [*command, *words, f"--metrics-listen=127.0.0.1:{port}"]
        self._probe = probe
        self._server: Server | None = None

    def start(self) -> None:
        """Start it and wait until it answers; after `stop` or its end it has the same ports."""
        self._server = Server(self._command, self.log, self.environment)
        self._server.wait_ready(lambda: self.status(self._probe) == 200)

    def stop(self, *, force: bool = False) -> int | None:
        """Stop it by SIGTERM, or by SIGKILL; give its exit status, None if it was not running."""
        if self._server is None:
            return None
        server, self._server = self._server, None
        return server.kill() if force else server.stop(40)

    def is_running(self) -> bool:
        """Tell whether the process lives."""
        return self._server is not None and self._server.running()

    def status(self, path: str) -> int | None:
        """Give the status of a GET on the metrics port, such as /readyz; None if nothing answers."""
        answer = self._get(path)
        return None if answer is None else answer.status

    def metric(self, name: str, /, **labels: str) -> float:
        """Give the sum of a metric over the series with these labels; 0 where nothing answers."""
        answer = self._get("/metrics")
        return 0.0 if answer is None else sum_of(answer.data.decode(), name, labels)

    def _get(self, path: str) -> urllib3.BaseHTTPResponse | None:
        with suppress(urllib3.exceptions.HTTPError):
            return urllib3.request("GET", self.metrics_url + path, retries=False, timeout=5)
        return None

    def output(self) -> str:
        """Give all that was logged, over restarts too."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""
