"""Server processes on loopback: started in a group of their own, waited for, and stopped."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import urllib3
from prometheus_client.parser import text_string_to_metric_families

from tests.waiting import NotReady, wait_until

COMMAND = (str(Path(sys.executable).with_name("fabric-injector")),)
"""The product, as it is installed in this Python environment."""
PORTS = range(20000, 32000)
_TAKEN: list[socket.socket] = []
"""Sockets without a file whose names keep ports for this process until it ends."""


def free_port() -> int:
    """Give a port below those of outgoing connections, which no other test process gets."""
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
    env = own_environment(kubeconfig) | environment
    return subprocess.run(command, env=env, input=text, capture_output=True, text=True, timeout=240)


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
    """A program in the background, with its output in a file; it can be started again."""

    process: subprocess.Popen[bytes]
    seconds_to_end = 40.0

    def __init__(
        self,
        command: Sequence[object],
        log: Path,
        ready: Callable[[], object],
        environment: dict[str, str] | None = None,
    ) -> None:
        """Prepare it; its output is added to the log."""
        self.log, self.environment = log, environment or own_environment()
        self._command = [*map(str, command)]
        self.ready, self._is_started = ready, False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it is ready; else kill it, and raise NotReady with its output."""
        with self.log.open("ab") as output:
            self._begun = output.tell()
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=self.environment,
                start_new_session=True,
            )
        self._is_started = True
        name = Path(self._command[0]).name
        try:
            ready = f"{name} to be ready"
            wait_until(lambda: not self.is_running() or self.ready(), ready, 240)
            if not self.is_running():
                raise NotReady(f"{name} ended with status {self.process.returncode}")
        except BaseException as error:
            self.stop(force=True)
            error.add_note("\n".join(self.output().splitlines()[-25:]))
            raise

    def is_running(self) -> bool:
        """Tell whether the process lives."""
        return self._is_started and self.process.poll() is None

    def output(self) -> str:
        """Give what was written since it was started last."""
        return self.log.read_bytes()[self._begun :].decode(errors="replace")

    def stop(self, *, force: bool = False) -> int | None:
        """End the process group, with *force* at once; give the status, None if not started."""
        if not self._is_started:
            return None
        self._is_started = False
        for number in [signal.SIGKILL] if force else [signal.SIGTERM, signal.SIGKILL]:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self.process.pid, number)
                self.process.wait(self.seconds_to_end)
        return self.process.wait()


class Program(Server):
    """A program of ours: the *command*, *words*, and the option of the port of probes and metrics.

    It has started once the path *probe* is answered with 200, each time at the same ports.
    """

    def __init__(
        self,
        log: Path,
        words: Sequence[str],
        environment: dict[str, str],
        probe: str,
        command: Sequence[str] = COMMAND,
    ) -> None:
        address = f"127.0.0.1:{free_port()}"
        self._metrics = f"http://{address}"
        whole = [*command, *words, f"--metrics-listen={address}"]
        super().__init__(whole, log, lambda: self.status(probe) == 200, environment)

    def status(self, path: str) -> int | None:
        """Give the status of a GET on the metrics' port, such as /readyz; None for no answer."""
        answer = self._get(path)
        return None if answer is None else answer.status

    def metric(self, name: str, /, **labels: str) -> float:
        """Give the sum of a metric over the series with these labels; 0 where nothing answers."""
        answer = self._get("/metrics")
        return 0.0 if answer is None else sum_of(answer.data.decode(), name, labels)

    def _get(self, path: str) -> urllib3.BaseHTTPResponse | None:
        with suppress(urllib3.exceptions.HTTPError):
            return urllib3.request("GET", self._metrics + path, retries=False, timeout=5)
        return None
