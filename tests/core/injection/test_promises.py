"""What every step promises, whatever the pod: a new step is found here by itself."""

from __future__ import annotations

from hypothesis import given, settings

from tests.core.injection.strategies import check_promises, planned_pods
from webhook.core.injection.steps import STEPS
from webhook.core.model import Object
from webhook.core.plan import Plan


@settings(max_examples=200)
@given(planned_pods())
def test_every_step_keeps_its_promises(case: tuple[Object, Plan]) -> None:
    """The input is untouched, the patch leads to the result, a second pass changes nothing; nothing but Denied is raised."""
    for step in STEPS:
        check_promises(step.inject, case)
