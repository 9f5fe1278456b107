"""What recognition says of a pod that must be known."""

from webhook.core.model import Object
from webhook.core.workloads import Rendezvous, TrainingPod, recognise


def member(pod: Object) -> TrainingPod:
    found = recognise(pod)
    assert isinstance(found, TrainingPod), found
    return found


def rendezvous(pod: Object) -> Rendezvous:
    found = member(pod).rendezvous
    assert found is not None, member(pod)
    return found
