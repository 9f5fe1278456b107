"""What a scrape shows, as prometheus_client reads it."""

import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

from webhook.http.metrics import Metrics
from webhook.serve.metrics import SECONDS, WebhookMetrics


def shown(metrics: Metrics) -> dict[tuple[str, str], float]:
    """Return each number by its name and the values of its labels."""
    families = text_string_to_metric_families(metrics.written().decode())
    samples = [sample for family in families for sample in family.samples]
    return {
        (each.name.removeprefix("fabric_injector_"), " ".join(each.labels.values())): each.value
        for each in samples
    }


def test_counts_from_many_threads_and_asks_at_each_scrape() -> None:
    metrics = Metrics()
    counter, gauge = metrics.counter("c", "Counts.", "a", "b"), metrics.gauge("g", "Asked.")
    gauge.ask(lambda: 7)

    def count() -> None:
        for _ in range(500):
            counter.add("one", 'a"ü\t\\c\n')

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = shown(metrics)
    assert found["c_total", 'one a"ü\t\\c\n'] == 2000
    assert found["g", ""] == 7


def test_shows_a_histogram_whose_buckets_hold_those_below() -> None:
    metrics = Metrics()
    histogram = metrics.histogram("h", "Seconds.", SECONDS)
    for seconds in (0.0, 0.001, 0.002, 3.0):
        histogram.observe(seconds)
    found = shown(metrics)
    assert found["h_bucket", "0.001"] == 2
    assert found["h_bucket", "0.0025"] == found["h_bucket", "2.5"] == 3
    assert found["h_bucket", "+Inf"] == found["h_count", ""] == 4
    assert found["h_sum", ""] == pytest.approx(3.003)


@pytest.mark.parametrize("cause", ["", "observe", "dry-run"])
def test_counts_as_injected_only_what_was_changed(cause: str) -> None:
    metrics = WebhookMetrics()
    metrics.count("injected", "injected", 0.001, ["networks"], cause)
    found = shown(metrics)
    assert found.get(("injected_total", "networks")) == (None if cause else 1)
    would = found.get(("would_inject_total", f"networks {cause}"))
    assert would == (1 if cause else None)
