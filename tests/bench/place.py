"""Give a bench with a real API server its programs and a folder."""

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cluster.assets import AssetsUnavailable, assets, binary


@contextmanager
def bench_place(name: str, *programs: str) -> Iterator[tuple[Path, ExitStack]]:
    """Have the control plane's *programs* and others at hand; give a folder that is removed afterwards, and what ends the servers.

    Exits with the reason where they cannot be built. SIGTERM stops what was started, as Ctrl-C does.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        assets()
        for program in programs:
            binary(program)
    except AssetsUnavailable as problem:
        sys.exit(str(problem))
    with (
        tempfile.TemporaryDirectory(prefix=f"fabric-injector-{name}-") as folder,
        ExitStack() as stack,
    ):
        yield Path(folder), stack
