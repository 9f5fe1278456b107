"""Look at an installation, or at a cluster before it: each ``check_…`` of a file here is a rule."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from webhook.diagnose.check.needs import find_system_namespace, is_installed
from webhook.diagnose.finding import Finding, ok, worst_first
from webhook.diagnose.snapshot import Rule, Snapshot, run
from webhook.kube.connection import Connection

__all__ = ["check", "open_snapshot", "rules"]

OF_INSTALLATION = frozenset(("configuration", "deployments", "privileges"))
"""The files whose rules look at our own objects."""


@cache
def rules() -> dict[Rule, str]:
    """Return every rule, with the file that it stands in."""
    found: dict[Rule, str] = {}
    for each in pkgutil.iter_modules(__path__):
        functions = vars(import_module(f"{__name__}.{each.name}"))
        found |= {
            function: each.name
            for name, function in functions.items()
            if name.startswith("check_") and function.__module__ == f"{__name__}.{each.name}"
        }
    return found


def open_snapshot(
    connection: Connection, namespace: str = "", system_namespace: str | None = None, **options: Any
) -> Snapshot:
    """Return a Snapshot that knows where the installation is; *system_namespace* None: look for it.

    The *namespace* of the installation has no jobs: of it the whole cluster is meant.
    """
    snapshot = Snapshot(connection, **options)
    snapshot.system_namespace = system_namespace or find_system_namespace(snapshot)
    snapshot.namespace = "" if namespace == snapshot.system_namespace else namespace
    return snapshot


def check(snapshot: Snapshot) -> list[Finding]:
    """Return all findings, the worst first; of one namespace those that concern its pods.

    Raises Unavailable where the API server gives no answer, InputError for an unknown caller.
    """
    snapshot.ask_time()
    of_all = [rule for rule, file in rules().items() if file not in OF_INSTALLATION]
    if snapshot.namespace:
        return worst_first(run(of_all, snapshot))
    if is_installed(snapshot):
        return worst_first(run([*rules()], snapshot))
    where = f"namespace {snapshot.system_namespace}"
    before = ok("installation", "fabric-injector", f"is not installed yet in {where}")
    return worst_first([before, *run(of_all, snapshot)])
