"""Complete names that a cluster has: of namespaces, profiles, jobs and pods, with the caller's own rights.

Who types waits: nothing here takes long, and what goes wrong offers nothing and prints nothing.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from webhook.core import names

if TYPE_CHECKING:
    from pathlib import Path

    import click
    from click.shell_completion import CompletionItem

    from webhook.kube.connection import Connection

_SECONDS = 2.0
"""When all is given up: a program that hands out credentials, or the resolver, can take any time."""
_MOST_BYTES = 1 << 20
"""Longest profiles file that is read while somebody waits."""
_NAME = r"[A-Za-z0-9._-]+"
TARGET_WORDS = {"job": ("job", "jobs"), "pod": ("pod", "pods", "po")}
"""How people write what is explained: a job of any kind, or a pod."""


def complete_namespace(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the namespaces."""
    from webhook.cli.cluster_names import namespaces

    return _items(_asked(context, namespaces), incomplete)


def complete_profile(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the profiles of the file that ``--profiles`` names, else the cluster's FabricProfiles, and ``none``."""
    return _items([*_profiles(context), names.PROFILE_NONE], incomplete)


def complete_preset(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the profiles as `complete_profile` does, the presets, and what the shell offers of files."""
    from click.shell_completion import CompletionItem

    from webhook.presets import preset_names

    found = _profiles(context)
    presets = [CompletionItem(name, help="preset") for name in preset_names() if name.startswith(incomplete)]
    return [*_items(found, incomplete), *presets, CompletionItem(incomplete, type="file")]


def complete_target(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer ``job/NAME`` and ``pod/NAME``, jobs alone where nothing is typed yet, else ``KIND/NAME``, such as ``pytorchjob/bert``."""
    from webhook.cli.cluster_names import jobs, jobs_of_kind, pods
    from webhook.diagnose.job_kinds import find_kind, kinds_that_begin

    typed, slash, _ = incomplete.partition("/")
    space = context.params.get("namespace")
    for kind, find in (("job", jobs), ("pod", pods)):
        if typed in TARGET_WORDS[kind] if slash else kind.startswith(typed):
            found = _asked(context, partial(_in_namespace, find, space))
            return _items((f"{typed if slash else kind}/{name}" for name in found), incomplete)
    chosen = find_kind(typed) if slash else None
    kinds = {typed: chosen} if chosen else {} if slash else kinds_that_begin(typed)
    offered: list[CompletionItem] = []
    for word, of_kind in kinds.items():
        found = _asked(context, partial(_in_namespace, partial(jobs_of_kind, of_kind), space))
        offered += _items((f"{word}/{name}" for name in found), incomplete)
    return offered


def _profiles(context: click.Context) -> list[str]:
    """Return the names of the profiles of the file that ``--profiles`` names, else of the cluster's."""
    from webhook.cli.cluster_names import profiles

    path = context.params.get("profiles")
    return _asked(context, profiles) if path is None else _found_in_silence(lambda: _in_file(path))


def _in_file(path: Path) -> Iterable[str]:
    """Return the names of a file's profiles, as they are written: whether they can be used is not looked at."""
    from webhook.core.profiles.document import ProfilesDocument

    if not path.is_file() or path.stat().st_size > _MOST_BYTES:  # it may be standard input, or never end
        return ()
    found = ProfilesDocument(path.read_bytes()).value["profiles"]
    return [name for name in found if isinstance(name, str)]


def _in_namespace(
    find: Callable[[Connection, str], list[str]], chosen: str | None, connection: Connection
) -> list[str]:
    return find(connection, chosen or connection.namespace or "default")


def _items(found: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _asked(context: click.Context, find: Callable[[Connection], Iterable[str]]) -> list[str]:
    """Return the names that the cluster has; none where it cannot be asked, or a command looks at no cluster."""
    from webhook.cli.options import connect_to_cluster

    if context.params.get("objects"):
        return []
    return _found_in_silence(lambda: find(connect_to_cluster(context)))


def _found_in_silence(find: Callable[[], Iterable[str]]) -> list[str]:
    """Return what is found, in order; nothing where that fails or takes long."""
    found: list[str] = []
    with _silent(), contextlib.suppress(Exception), _given_up_after(_SECONDS):
        # what a hostile server calls a name is for the shell to interpret
        found = sorted({name for name in find() if re.fullmatch(_NAME, name)})
    return found


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    import logging

    before = logging.root.manager.disable
    logging.disable()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    import signal

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
