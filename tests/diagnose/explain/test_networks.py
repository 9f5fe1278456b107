"""What `explain` finds of networks that Multus was to attach."""

from __future__ import annotations

import json

from tests.diagnose.scenes import Scene
from webhook.core import names
from webhook.diagnose.explain.explanation import explain


def test_the_clusters_own_network_counts_as_no_second_one_though_nothing_marks_it() -> None:
    """The controller knows it by its interface too."""
    scene = Scene(0)
    entries = json.loads(scene.master["metadata"]["annotations"][names.NETWORK_STATUS])
    del entries[0]["default"]
    scene.master["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(entries)
    [row] = explain(scene.reading).rows
    assert [each["interface"] for each in row.details["networks"]] == ["net1"]
