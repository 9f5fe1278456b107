"""What all benches share: their options, a folder, programs, one server of ours, and a table."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cluster.assets import AssetsUnavailable, assets


def parser(doc: str | None, **numbers: tuple[float, str]) -> argparse.ArgumentParser:
    """Return a parser with an option for each number: its default, and what it means."""
    made = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, (default, told) in numbers.items():
        text = f"{told} (default {default:g})"
        made.add_argument(f"--{name}", type=type(default), default=default, help=text)
    return made


@contextmanager
def bench_place(name: str) -> Iterator[tuple[Path, ExitStack]]:
    """Have the programs of a control plane at hand; give a folder, and what ends all.

    Exits with the reason where they cannot be built. SIGTERM stops what was started, as Ctrl-C does.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        assets()
    except AssetsUnavailable as problem:
        sys.exit(str(problem))
    with bench_folder(name) as folder, ExitStack() as stack:
        yield folder, stack


@contextmanager
def bench_folder(name: str) -> Iterator[Path]:
    """Give a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"fabric-injector-{name}-") as folder:
        yield Path(folder)


def say(text: str) -> None:
    """Tell how far the work is."""
    print(text, file=sys.stderr, flush=True)


def print_table(title: str, lines: Mapping[str, str]) -> None:
    """Print what was found."""
    print(f"\n{title}")
    width = max(map(len, lines)) + 2
    for name, value in lines.items():
        print(f"  {name:<{width}}{value}", flush=True)
