"""Where the ranks meet, by what a pod does with the address: the rows of ``meetings.yaml``.

A row's *pod* is one of the fixtures. Its training container runs *command*, or each text of *shell*
by bash; *env* is added to its variables, which *drop* takes from. *profile* is a spec. *gives* are
the variables that become another, ``@`` what the controller publishes; *waits* what the wait step
waits for; *says* the last decision.
"""

from typing import Any

import pytest

from tests.core.builders import environment
from tests.core.injection.test_rendezvous import load, meet, waits_for
from tests.pods import add_env, drop_env, set_command
from tests.profiles import read_profile
from tests.tables import read
from webhook.core.model import Object

ROWS = read(__file__, "meetings.yaml")


def pod_of(row: Object, shell: str) -> Object:
    pod = drop_env(load(row["pod"]), *row.get("drop", ()))
    for entry in row.get("env", ()):
        if "valueFrom" in entry:
            pod["spec"]["containers"][0]["env"].append(entry)
        else:
            add_env(pod, entry["name"], entry["value"])
    if shell:
        return set_command(pod, "bash", "-c", shell)
    return set_command(pod, *row["command"]) if "command" in row else pod


def told(row: Object, shell: str) -> Object:
    """Return what becomes of the row's pod, whose command stays."""
    before = pod_of(row, shell)
    after, decisions = meet(before, profile=read_profile("rdma", row.get("profile")))
    first, now = before["spec"]["containers"][0], after["spec"]["containers"][0]
    assert (now.get("command"), now.get("args")) == (first.get("command"), first.get("args"))
    earlier, found = environment(before), environment(after)
    given = {name: value for name, value in found.items() if earlier.get(name) != value}
    last = decisions[-1]
    says = f"{last.outcome} {last.reason}: {last.message}"
    return {"gives": given, "waits": " ".join(waits_for(after)), "says": says}


def cases() -> list[Any]:
    return [
        pytest.param(row, shell, id=f"{title}: {shell}"[:120])
        for title, row in ROWS.items()
        for shell in row.get("shell", [""])
    ]


@pytest.mark.parametrize(("row", "shell"), cases())
def test_a_row_meets_as_it_says(row: Object, shell: str) -> None:
    assert told(row, shell) == {key: row[key] for key in ("gives", "waits", "says")}
