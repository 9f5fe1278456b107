"""Server processes on loopback: started in a group of their own, waited for, and stopped."""

import os
import random
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import urllib3

from tests.waiting import NotReady, wait_until

PORTS = range(20000, 32000)
_TAKEN: list[socket.socket] = []
"""Sockets without a file whose names keep ports for this process until it ends."""


def free_port() -> int:
    """Give a port that nobody listens on, below those that the kernel hands to outgoing connections.

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
    command: Sequence[str | Path], kubeconfig: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with this kubeconfig, nothing to read, and its output captured."""
    found = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBERNETES_SERVICE_HOST": ""}
    return subprocess.run(
        command,
        env=found | environment,
        capture_output=True,
        text=True,
        timeout=240,
        stdin=subprocess.DEVNULL,
    )


def sum_of(text: str, name: str, labels: Mapping[str, str]) -> float:
    """Give the sum of a metric over the series that carry these labels, of what a process offers."""
    wanted = {f'{key}="{value}"' for key, value in labels.items()}
    lines = (line for line in text.splitlines() if line.startswith(name))
    series = (re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line) for line in lines)
    return sum(
        float(found[2])
        for found in series
        if found and wanted <= set(re.findall(r'\w+="[^"]*"', found[1] or ""))
    )


def status_of(url: str) -> int | None:
    """Give the status of a GET, such as of a probe's path; None if nothing answers."""
    with suppress(urllib3.exceptions.HTTPError):
        return urllib3.request("GET", url, retries=False, timeout=5).status
    return None


def text_of(url: str) -> str:
    """Give the body of a GET, such as of /metrics."""
    return urllib3.request("GET", url, retries=False, timeout=5).data.decode()


def own_environment(kubeconfig: Path) -> dict[str, str]:
    """Give this process's environment without settings of ours, and with this kubeconfig."""
    dropped = ("KUBE", "FABRIC_INJECTOR_", "POD_NAME")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    return {**kept, "KUBECONFIG": str(kubeconfig)}


class Server:
    """A process that runs in the background, with its output in a file."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
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
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )

    def running(self) -> bool:
        """Tell whether the process still lives."""
        return self.process.poll() is None

    def output(self) -> str:
        """Give what this process has written so far."""
        return self.log.read_bytes()[self._logged_before :].decode(errors="replace")

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Kill it where what is waited for does not come: nobody would stop it."""
        try:
            yield
        except BaseException:
            self.kill()
            raise

    def wait_ready(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `ready` holds; raise NotReady with the end of the log if the process ends or time is over."""

        def ready_or_ended() -> bool:
            return not self.running() or ready()

        try:
            wait_until(ready_or_ended, f"{self.name} to be ready", seconds)
        except NotReady as error:
            raise NotReady(f"{error}\n{self._tail()}") from None
        if not self.running():
            raise NotReady(
                f"{self.name} ended with status {self.process.returncode}\n{self._tail()}"
            )

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

    def _tail(self) -> str:
        return "\n".join(self.output().splitlines()[-25:])


class Program:
    """A program of ours that serves probes and metrics, and may be stopped and started again."""

    def __init__(self, log: Path) -> None:
        """Choose its metrics port; its output is added to the log."""
        self.log = log
        self.metrics_port = free_port()
        self.metrics_url = f"http://127.0.0.1:{self.metrics_port}"
        self._server: Server | None = None

    def run(
        self, command: Sequence[str], environment: Mapping[str, str], path: str, seconds: float
    ) -> None:
        """Start it and wait until the path of the metrics port is answered with 200."""
        self._server = Server(command, self.log, environment)
        self._server.wait_ready(lambda: self.status(path) == 200, seconds)

    def stop(self, *, force: bool = False) -> int | None:
        """Stop it by SIGTERM, or by SIGKILL; give its exit status, None if it was not running."""
        if self._server is None:
            return None
        server, self._server = self._server, None
        return server.kill() if force else server.stop(20)

    def status(self, path: str) -> int | None:
        """Give the status of a GET on the metrics port, such as /readyz; None if nothing answers."""
        return status_of(self.metrics_url + path)

    def output(self) -> str:
        """Give all that was logged, over restarts too."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""
