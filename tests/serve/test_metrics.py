"""What a scrape shows of admissions, beside what prometheus_client's own metrics would show."""

import time
from random import Random

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from webhook.core.model import Decision, Outcome, Reason
from webhook.core.review import Answer, Verdict
from webhook.serve.admission import AdmissionRecorder
from webhook.serve.metrics import SECONDS, Admissions, WebhookMetrics


def test_shows_what_the_library_s_own_metrics_would() -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]
    theirs, ours = CollectorRegistry(), CollectorRegistry()
    requests = Counter(
        "fabric_injector_admission_requests",
        "Admission requests answered, by what was decided and why.",
        ["decision", "reason"],
        registry=theirs,
    )
    seconds = Histogram(
        "fabric_injector_admission_duration_seconds",
        "Time from a request's head to its answer.",
        buckets=SECONDS,
        registry=theirs,
    )
    injected = Counter(
        "fabric_injector_injected", "Steps that changed a pod.", ["step"], registry=theirs
    )
    would_inject = Counter(
        "fabric_injector_would_inject",
        "Steps that would have changed a pod, by what kept them from it.",
        ["step", "cause"],
        registry=theirs,
    )
    admissions = Admissions()
    ours.register(admissions)
    random = Random(17)
    for number in range(500):
        decision, reason = random.choice(
            [("injected", "injected"), ("denied", 'a"b\\c'), ("error", "internal")]
        )
        took = None if number % 7 == 0 else random.choice([*SECONDS, random.random() * 4, 0.0, 3.0])
        steps = random.sample(["networks", "devices", "rendezvous"], random.randrange(3))
        unchanged = random.choice(["", "observe", "dry-run"])
        admissions.count(decision, reason, took, steps, unchanged)
        requests.labels(decision, reason).inc()
        if took is not None:
            seconds.observe(took)
        for step in steps:
            (would_inject.labels(step, unchanged) if unchanged else injected.labels(step)).inc()
    assert generate_latest(ours) == generate_latest(theirs)
    ours_open, theirs_open = map(generate_openmetrics, (ours, theirs))
    assert ours_open == theirs_open


def test_shows_its_metrics_before_the_first_admission() -> None:
    registry = CollectorRegistry()
    registry.register(Admissions())
    text = generate_latest(registry).decode()
    assert 'fabric_injector_admission_duration_seconds_bucket{le="+Inf"} 0.0' in text
    assert "# TYPE fabric_injector_injected_total counter" in text


@pytest.mark.parametrize(
    ("observed", "dry_run", "changed", "observe", "dry_runs"),
    [
        (False, False, 1, None, None),
        (True, False, None, 1, None),
        (False, True, None, None, 1),
        (True, True, None, None, 1),
    ],
)
def test_counts_as_injected_only_what_was_changed(
    observed: bool, dry_run: bool, changed: int | None, observe: int | None, dry_runs: int | None
) -> None:
    decision = Decision("networks", Outcome.INJECTED, Reason.ADDED, "attaches default/rdma-net")
    verdict = Verdict(True, {}, [], (decision,), "injected", observed=observed)
    metrics = WebhookMetrics()
    AdmissionRecorder(metrics).answered(
        Answer(b"", verdict, "u", "research", "bert-0", dry_run), time.perf_counter()
    )
    counted = metrics.registry.get_sample_value
    assert counted("fabric_injector_injected_total", {"step": "networks"}) == changed
    would = "fabric_injector_would_inject_total"
    assert counted(would, {"step": "networks", "cause": "observe"}) == observe
    assert counted(would, {"step": "networks", "cause": "dry-run"}) == dry_runs
