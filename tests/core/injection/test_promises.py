"""What every step promises, whatever the pod: a new step is found here by itself."""

import json

from hypothesis import given

from tests.core.injection.strategies import check_promises, planned_pods
from webhook.core.draft import Draft
from webhook.core.errors import Denied
from webhook.core.injection.steps import STEPS, apply
from webhook.core.model import Object
from webhook.core.plan import Plan


@given(planned_pods())
def test_every_step_keeps_its_promises(case: tuple[Object, Plan]) -> None:
    """Nothing but Denied is raised; `check_promises` has the others."""
    for step in STEPS:
        check_promises(step, case)


@given(planned_pods())
def test_a_second_pass_over_all_steps_changes_nothing(case: tuple[Object, Plan]) -> None:
    """What one step adds is there for all others the next time."""
    pod, drawn = case
    draft = Draft(pod)
    try:
        apply(draft, drawn, "1")
    except Denied:
        return
    again = Draft(json.loads(json.dumps(draft.pod)))
    apply(again, drawn, "1")
    assert again.operations == []
