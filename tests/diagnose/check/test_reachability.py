"""What ``check`` makes of the answers to its dry run and to its request by proxy."""

import pytest

from tests.diagnose.check.findings import brief, expect
from webhook.core import names
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.diagnose.check.reachability import Attempt, check_reachability, probe_pod

OURS = ("pods.fabric-injector.io",)
BY_POD = "the webhook, by a dry run of a pod in namespace a (nothing was created)"
BY_PROXY = "the webhook, by the API server's proxy to Service f/s"
INJECTED: Object = {"metadata": {"annotations": {names.STATUS: "{}"}}}


def dry_run(
    status: int, message: str = "", returned: Object | None = None, *warnings: str
) -> Attempt:
    return Attempt("dry-run", "a", status, message, returned, warnings)


def proxy(status: int, message: str = "") -> Attempt:
    return Attempt("proxy", "f/s", status, message)


@pytest.mark.parametrize(
    ("attempt", "row"),
    [
        (dry_run(201, "", INJECTED), f"ok webhook-injects {BY_POD} | is called, and injects"),
        (
            dry_run(201, "", {}, "observe mode: networks would be injected"),
            f"ok webhook-observes {BY_POD} | is called, and observes",
        ),
        (
            dry_run(201, "", {}),
            f"fail webhook-passed-over {BY_POD} | was not called, or its failure was passed over",
        ),
        (
            dry_run(422, f'admission webhook "{OURS[0]}" denied the request: no such network'),
            f"warn webhook-denies {BY_POD} | is called, and denies it: no such network",
        ),
        (
            dry_run(500, f'Internal error occurred: failed calling webhook "{OURS[0]}": refused'),
            f"fail webhook-unreachable {BY_POD} | cannot be called: refused",
        ),
        (proxy(405), f"ok webhook-answers {BY_PROXY} | is told by caBundle alone"),
        (
            proxy(503, "no endpoints"),
            f"fail webhook-unreachable {BY_PROXY} | does not answer: no endp",
        ),
    ],
)
def test_judges(attempt: Attempt, row: str) -> None:
    expect(check_reachability([attempt], OURS), row)


def test_takes_the_first_attempt_that_tells() -> None:
    refused = dry_run(403, "pods is forbidden")
    foreign = dry_run(400, 'admission webhook "other.example.com" denied the request: no')
    assert brief(check_reachability([refused, foreign, proxy(405)], OURS))[0].startswith(
        f"ok {BY_PROXY}"
    )


def test_says_that_it_could_not_look() -> None:
    (line,) = brief(
        check_reachability(
            [dry_run(403, "pods is forbidden"), proxy(403, "services is forbidden")], OURS
        )
    )
    assert line == (
        "warn the webhook: could not look whether API servers reach it: dry-run in a: pods is forbidden; proxy in f/s: services is "
        "forbidden"
    )
    assert brief(check_reachability([], OURS, namespaces_known=False)) == [
        "warn the webhook: could not look whether API servers reach it: no labelled namespace is known"
    ]


def test_needs_a_labelled_namespace() -> None:
    assert brief(check_reachability([], OURS)) == [
        "ok the webhook: was not called: there is no labelled namespace that its configuration and a profile choose"
    ]


def test_sends_a_pod_that_asks_to_be_injected() -> None:
    pod = check_pod(probe_pod("shared"))
    assert pod["metadata"]["labels"] == {names.PROFILE: "shared"}
