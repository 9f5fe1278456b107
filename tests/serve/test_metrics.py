"""What a scrape shows of admissions, beside what prometheus_client's own metrics would show."""

from __future__ import annotations

from random import Random

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from webhook.serve.metrics import SECONDS, Admissions


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
    injected = Counter("fabric_injector_injected", "Steps that changed a pod.", ["step"], registry=theirs)
    admissions = Admissions()
    ours.register(admissions)
    random = Random(17)
    for number in range(500):
        decision, reason = random.choice([("injected", "injected"), ("denied", 'a"b\\c'), ("error", "internal")])
        took = None if number % 7 == 0 else random.choice([*SECONDS, random.random() * 4, 0.0, 3.0])
        steps = random.sample(["networks", "devices", "rendezvous"], random.randrange(3))
        admissions.count(decision, reason, took, steps)
        requests.labels(decision, reason).inc()
        if took is not None:
            seconds.observe(took)
        for step in steps:
            injected.labels(step).inc()
    assert generate_latest(ours) == generate_latest(theirs)
    ours_open, theirs_open = map(generate_openmetrics, (ours, theirs))
    assert ours_open == theirs_open


def test_shows_its_metrics_before_the_first_admission() -> None:
    registry = CollectorRegistry()
    registry.register(Admissions())
    text = generate_latest(registry).decode()
    assert 'fabric_injector_admission_duration_seconds_bucket{le="+Inf"} 0.0' in text
    assert "# TYPE fabric_injector_injected_total counter" in text
