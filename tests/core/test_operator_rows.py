"""The rows that `make operators` runs, by the dry run: what they expect of the pods' waits cannot fall behind the core unnoticed."""

import json

import pytest

from tests.cluster.operators.rows import ROWS
from tests.worlds import PROFILES, world
from webhook.core.injection import wait
from webhook.dry_run.judge import dry_run

WORLD = world()


@pytest.mark.parametrize("name", ROWS)
def test_pods_wait_for_what_the_row_says(name: str) -> None:
    needs = []
    for manifest in ROWS[name].manifests:
        found = dry_run(
            json.dumps(manifest), namespace="train", profile=None, profiles=PROFILES, world=WORLD
        )
        needs += [sorted(wait.needs(pod.after)) for pod in found.pods if pod.before != pod.after]
    assert sorted(needs) == sorted(sorted(each) for each in ROWS[name].waits)
