"""Each broken situation is named first and with what to do, by `explain` and `status`."""

import pytest

from tests.cluster.controller import Controller
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.operators.cluster import Install
from tests.cluster.webhook import Webhook
from tests.tables import read, table
from webhook.core.model import Object
from webhook.diagnose.jobs import FINISHED

from . import situations
from .site import Site

SITUATIONS = read(__file__, "situations.yaml")
CASES = {
    f"{name}, by {system}": (one, system)
    for name, one in SITUATIONS.items()
    for system in one.get("systems", ["Job"])
}


@pytest.mark.usefixtures("two_nodes")
@table("case", CASES)
def test_the_situation_is_named_first(
    case: tuple[Object, str],
    namespace: NamespaceFactory,
    webhook: Webhook,
    controller: Controller,
    install: Install,
) -> None:
    situation, system = case
    if system == "Volcano":
        install("volcano")
    space = namespace(situation.get("profile", "shared"), situation.get("labels"))
    site = Site(space, webhook, controller, system)
    with site.undo:
        target = getattr(situations, situation["make"])(site)
        found = site.document("explain", target)
        screen = site.command("explain", target).stdout
        jobs = site.document("status")["jobs"]
    first = found["findings"][0]
    assert first["code"] == situation["code"], screen
    assert first["level"] in ("fail", "warn"), screen
    told = f"{first['subject']}: {first['message']}"
    assert [text for text in situation["says"].split(" … ") if text not in told] == [], screen
    assert [text for text in situation["do"].split(" … ") if text not in first["action"]] == [], (
        screen
    )
    members = found["members"]
    if members and all(each["phase"] in FINISHED for each in members):
        assert jobs == [], "status leaves out jobs without a live pod"
        return
    [job] = jobs
    assert job["first"] is not None, jobs
    assert job["first"]["code"] == first["code"], jobs
    assert job["first"]["action"] == first["action"], jobs
