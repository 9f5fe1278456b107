"""Say how many bytes the pods send and receive, by the counters of their interfaces and RDMA devices, read twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.diagnose.codes import Code
from webhook.diagnose.explain.counters import Traffic
from webhook.diagnose.explain.networks import further_interfaces
from webhook.diagnose.explain.observation import Observation, Stage
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading

_MOST = 32
_BUSY = 1e6
"""Bytes a second from which an interface carries more than what ranks say to one another when they meet."""


def observe(reading: Reading, parts: Sequence[Part]) -> Iterator[Observation]:
    """Look at the pods whose counters were read."""
    for part in parts:
        traffic = (reading.traffic or {}).get(part.name)
        if traffic is not None and traffic.seconds > 0:
            yield _measured(part, traffic)


def _measured(part: Part, traffic: Traffic) -> Observation:
    rates = _rates(traffic.first.interfaces, traffic.second.interfaces, traffic.seconds)
    of_devices = _rates(traffic.first.devices, traffic.second.devices, traffic.seconds)
    told = "; ".join(
        f"{name} received {_rate(received)} and sent {_rate(sent)}"
        for name, (received, sent) in list((rates | of_devices).items())[:_MOST]
    )
    message = f"in {traffic.seconds:.0f} s {told}"
    if of_devices:
        message += "; what goes by RDMA is counted at its device, for all pods that share it"
    further = further_interfaces(part)
    on_pod_network = sum(sum(rates[name]) for name in rates if name not in further)
    elsewhere = sum(sum(rates[name]) for name in rates if name in further) + sum(map(sum, of_devices.values()))
    if further and on_pod_network > max(_BUSY, elsewhere):
        return Observation(Stage.SPEED, "warn", Code.TRAFFIC_ON_POD_NETWORK, message, pods=(part.name,))
    if on_pod_network + elsewhere < _BUSY:
        message += "; that is hardly anything: ask again while it trains"
    return Observation(Stage.SPEED, "ok", Code.TRAFFIC_MEASURED, message, pods=(part.name,))


def _rates(
    first: Mapping[str, tuple[int, int]], second: Mapping[str, tuple[int, int]], seconds: float
) -> dict[str, tuple[float, float]]:
    """Return bytes a second; of a counter that has begun anew, 0."""
    return {
        name: (
            max(0, second[name][0] - first[name][0]) / seconds,
            max(0, second[name][1] - first[name][1]) / seconds,
        )
        for name in first
        if name in second
    }


def _rate(value: float) -> str:
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= size:
            return f"{value / size:.3g} {unit}/s"
    return f"{value:.0f} B/s"
