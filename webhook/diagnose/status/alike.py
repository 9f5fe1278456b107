"""Look once at pods that are alike: a job has thousands, and all but their own names and numbers is the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from webhook.core import names, podspec
from webhook.core.model import Decision, Object
from webhook.core.review import Verdict
from webhook.core.workloads import NotTraining, TrainingPod, recognise
from webhook.diagnose.explain.explanation import Judged, Looked, judge
from webhook.diagnose.explain.interfaces import literal_names
from webhook.diagnose.explain.judgement import ReadWorld, judge_today
from webhook.diagnose.explain.observation import Observation, natural
from webhook.diagnose.explain.part import Part, read_live_member, read_part
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.explain.scheduling import event_time
from webhook.diagnose.status.jobs import KeptPod
from webhook.diagnose.status.likeness import LOOKED_UP, Likeness, general, told_of

_NODE_NAME = "kubernetes.io/hostname"
_SETTLED_SECONDS = 120.0
"""How long a pod has to be on its node, that it does not matter how long: all that is said of times there is said by then."""
_TRIES = 3
"""How often another pod is looked at for those that are alike, where what is found tells what is its own."""


class _TellsItsOwn(Exception):
    """Say that what is found of a pod cannot be said of those that are alike."""

    def __init__(self, pod: str) -> None:
        super().__init__(pod)
        self.pod = pod


def judge_alike(reading: Reading, kept: Sequence[KeptPod]) -> Judged:
    """Judge a job, but for findings of level ok, as `judge` does; pods that are alike are looked at once.

    *kept*: the pods of the reading, which has them without their specs, in the same order.
    """
    together = _Together(reading, kept)
    for _ in range(_TRIES):
        try:
            return together.judge()
        except _TellsItsOwn as told:
            together.apart.add(told.pod)
    together.apart.update(pod.name for pod in kept)
    return together.judge()


class _Together:
    """Know which pods of a job are alike; *apart* are the names of those that are looked at by themselves."""

    def __init__(self, reading: Reading, kept: Sequence[KeptPod]) -> None:
        self._reading = reading
        self._pods = sorted(zip(kept, reading.pods, strict=True), key=lambda pair: natural(pair[0].name))
        self.apart: set[str] = set()
        self._world = ReadWorld(reading)
        self._verdicts: dict[tuple[object, ...], tuple[str, Verdict | None]] = {}
        self._by_name: dict[str, Verdict | None] = {}
        self._said: dict[str, list[tuple[str, str]]] = {}
        for event in sorted(reading.events or (), key=event_time):
            pod = str((event.get("involvedObject") or {}).get("name") or "")
            told = str(event.get("reason") or ""), general(event.get("message"), pod)
            self._said.setdefault(pod, []).append(told)
        self._telling: frozenset[str] = LOOKED_UP
        selecting: set[str] = set()
        if reading.profiles is not None:
            every = reading.profiles.profiles.values()
            self._telling = LOOKED_UP.union(reading.profiles.pod_label_keys, *(each.annotations for each in every))
            selecting.update(*(each.node_selector for each in every))
        self._places_by_node = _NODE_NAME in selecting or any(
            _NODE_NAME in str(podspec.annotations(found).get(names.NODE_SELECTOR))
            for found in reading.networks.values()
            if found
        )

    def judge(self) -> Judged:
        """Judge the job; raise _TellsItsOwn where one has to be set apart."""
        claims = (self._reading.claims or {}).values()
        examples: dict[object, tuple[Part, Likeness]] = {}
        twins: dict[str, list[str]] = {}
        parts: list[Part] = []
        for kept, rest in self._pods:
            member = read_live_member(rest, claims)
            likeness = Likeness(kept, rest, self._telling)
            pod, found = rest, None
            if not likeness.is_worker:
                pod = {**rest, "spec": kept.read_spec()}
                found = recognise(pod)
            decided = likeness.of_decision(found, places_by_node=self._places_by_node)
            key: object = id(kept)
            if kept.name not in self.apart and decided is not None and self._is_settled(kept, rest):
                key = decided, likeness.of_state(member, self._said.get(kept.name, ()))
            if key in examples:
                example, _ = examples[key]
                twins[example.name].append(kept.name)
                pod = {**rest, "spec": likeness.spec_like(example)}
                parts.append(example.twin(pod, found, member, likeness.attached))
                continue
            if found is None:
                pod = {**rest, "spec": kept.read_spec()}
                found = recognise(pod)
            part = read_part(pod, self._verdict(likeness, decided, pod, found), claims, found)
            if likeness.tells(literal_names(part)):
                key = id(kept)  # topics look at these of each pod
            examples[key] = part, likeness
            twins[part.name] = []
            parts.append(part)

        def spread(observations: Iterable[Observation]) -> Iterator[Observation]:
            for one in observations:
                if one.level == "ok":
                    continue
                others = twins[one.pods[0]] if len(one.pods) == 1 else ()
                if others and own[one.pods[0]].tells((one.message, one.action or "", one.detail, one.subject)):
                    raise _TellsItsOwn(one.pods[0])
                yield replace(one, pods=(*one.pods, *others)) if others else one

        own = {part.name: likeness for part, likeness in examples.values()}
        looked_at = [part for part, _ in examples.values()]
        whole = replace(self._reading, pods=tuple(part.pod for part in parts))
        return judge(whole, Looked(parts, looked_at, spread))

    def _is_settled(self, kept: KeptPod, rest: Object) -> bool:
        """Tell a live pod of which it does not matter any more how old it is."""
        conditions = (rest.get("status") or {}).get("conditions") or ()
        bound = [each.get("lastTransitionTime") for each in conditions if each.get("type") == "PodScheduled"]
        times = [rest["metadata"].get("creationTimestamp"), *filter(None, bound)]
        return kept.is_live and all(
            (seconds_since(each, self._reading.now) or 0.0) >= _SETTLED_SECONDS for each in times
        )

    def _verdict(
        self, likeness: Likeness, decided: tuple[object, ...] | None, pod: Object, found: TrainingPod | NotTraining
    ) -> Verdict | None:
        """Decide about a pod, once for all that are alike but for their state."""
        name = likeness.name
        if name in self._by_name:
            return self._by_name[name]
        if decided is not None and decided in self._verdicts:
            other, verdict = self._verdicts[decided]
            return _renamed(verdict, other, name) if verdict is not None and other else verdict
        verdict = judge_today(pod, self._reading.profiles, self._world, self._reading.unusable)
        self._by_name[name] = verdict
        if decided is not None and verdict is None:
            self._verdicts[decided] = "", None
        elif decided is not None and verdict is not None and likeness.holds(verdict, pod):
            self._verdicts[decided] = name if any(name in text for text in told_of(verdict)) else "", verdict
        return verdict


def _renamed(verdict: Verdict, other: str, name: str) -> Verdict:
    """Return the verdict about *other* as that about the pod *name*; the pod in it is still the other."""
    before, after = f"pod {other}:", f"pod {name}:"
    decisions = tuple(
        Decision(each.step, each.outcome, each.reason, each.message.replace(before, after))
        if before in each.message
        else each
        for each in verdict.decisions
    )
    return replace(verdict, decisions=decisions, message=verdict.message.replace(before, after))
