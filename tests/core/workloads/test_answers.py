"""What is answered, to the letter, of pods that meet nobody: answers.yaml.

It is what log, metric, dry run and explain tell of them.
"""

from tests.core.workloads.rows import build, each, filled
from tests.tables import read
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise

_NOTHING = (
    "asks for an accelerator, but shows no launcher and no variable that says where ranks meet"
)
_TABLES = filled(read(__file__, "answers.yaml"), SHOWS_NOTHING=_NOTHING)


@each(_TABLES["members"])
def test_says_of_a_member_why_it_meets_nobody(row: Object) -> None:
    known, says = row.pop("is"), row.pop("says")
    found = recognise(build(row))
    assert isinstance(found, TrainingPod)
    assert found.rendezvous is None
    assert f"{found.system} {found.container}" == known
    assert f"{found.reason}: {found.message}" == says


@each(_TABLES["others"])
def test_says_of_another_pod_why_it_is_left_alone(row: Object) -> None:
    known, says = row.pop("is"), row.pop("says")
    found = recognise(build(row))
    assert not isinstance(found, TrainingPod)
    assert found.system == known
    assert f"{found.reason}: {found.message}" == says
