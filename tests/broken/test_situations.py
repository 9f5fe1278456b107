"""Each broken situation is named first, truly, and with what to do: by `explain`, and by `status`, run with a user's rights."""

from pathlib import Path

import pytest

from webhook.diagnose.explain.part import FINISHED

from .site import Running, Site
from .situations import SITUATIONS


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_situation_is_named_first(name: str, running: Running, tmp_path: Path) -> None:
    situation = SITUATIONS[name]
    if situation.system == "Volcano":
        running.volcano()
    site = Site(running, tmp_path, situation.profile, dict(situation.labels))
    with site.undo:
        target = situation.make(site, situation)
        found = site.explain(target)
        screen = site.screen(target)
        jobs = site.status()["jobs"]
    first = found["findings"][0]
    assert first["code"] == str(situation.code), screen
    assert first["level"] in ("fail", "warn"), screen
    assert [
        word for word in situation.says if word not in f"{first['subject']}: {first['message']}"
    ] == [], screen
    assert [word for word in situation.do if word not in first["action"]] == [], screen
    members = found["members"]
    if members and all(each["phase"] in FINISHED for each in members):
        assert jobs == [], "status leaves out jobs without a live pod"
        return
    [job] = jobs
    assert job["first"] is not None, jobs
    assert job["first"]["code"] == first["code"], jobs
    assert job["first"]["action"] == first["action"], jobs
