"""A fault of a profile: where it stands, also as the API server writes that."""

from webhook.core.profiles.objects import Fault


def test_a_fault_keeps_the_path_of_the_api_server() -> None:
    fault = Fault(("spec", "podLabels"), "is wrong", "spec.podLabels[a.b/c]")
    assert (str(fault), fault.path) == ("is wrong", "spec.podLabels[a.b/c]")
