"""Decide once about pods that are alike: a job has thousands, and all but their own names and numbers is the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import orjson

from webhook.core import bounds, names, podspec
from webhook.core.model import Decision, Object, Outcome
from webhook.core.review import Verdict
from webhook.core.workloads import NotTraining, TrainingPod
from webhook.diagnose.explain.judgement import ReadWorld, judge_today
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.injected import is_injected

_READ = (names.PREFIX, names.GKE_NETWORKING, "k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "traffic.sidecar.istio.io/")
"""Beginnings of annotations whose text a decision reads, beside those that profiles name and those of training systems."""
_LOOKED_UP = frozenset((names.PROFILE, names.NETWORKS, names.DEFAULT_NETWORK, names.GKE_INTERFACES, names.ISTIO_INJECT))
"""Labels and annotations that name something of the cluster: compared letter by letter, even where a pod's own name is in them."""
_TOLD_OF_ONE = frozenset(
    (
        *names.FOREIGN_STALE_ANNOTATIONS,
        names.GKE_POD_IPS,
        names.LOCAL_ADDR,
        names.MASTER_ADDR,
        names.MASTER_HOST,
        names.NCCL_IB_HCA,
        names.UCX_NET_DEVICES,
    )
)
"""Annotations that are written on a pod once it runs: that they are there counts, and not what they tell."""
_OF_NO_PROFILE = frozenset(("controller-uid", "batch.kubernetes.io/controller-uid", "jobset.sigs.k8s.io/job-key"))
"""Labels that tell a uid or a digest; the key of the job, which is made of them, is compared."""
_FABRIC_VARIABLES = ("NCCL_", "UCX_", "GLOO_", "FI_")
_TOKEN = re.compile(r"kube-api-access-[a-z0-9]{5}")  # a volume's name, as admission of ServiceAccounts makes it
_NODE_NAME = "kubernetes.io/hostname"
_RANK = re.compile(r"(rank[=\s]\s*)([0-9]+)")
_DISTINCT = re.compile("[a-z]{2}")
_NUMBER = re.compile("(?<![A-Za-z0-9_])[0-9]+(?![A-Za-z0-9_])")
_NUMBERED = re.compile(r"rank|index|ordinal|(?:proc|node|replica|worker|task|pod)[-_]?id$", re.IGNORECASE)
_ELSEWHERE = ("nodeName", "hostname", "nodeSelector", "containers", "initContainers", "ephemeralContainers")
"""Fields of the spec that are written by themselves, or that no decision reads."""
_QUIET = (Outcome.INJECTED, Outcome.KEPT)
_MOST_BLANKED = 16_384
"""Characters that are not compared: with more, one pod may be too large for admission where another is not."""
_NAME, _HOST, _VOLUME, _OWN = b"\x00", b"\x01", b"\x02", "\x03"
"""What stands for a pod's own names and numbers; JSON writes such characters otherwise, so that nothing else is taken for them."""


def judge_alike(reading: Reading) -> Callable[[Object, TrainingPod | NotTraining], Verdict | None]:
    """Return what decides about a pod and what it was recognised as, once for all pods of the job that are alike."""
    world, profiles = ReadWorld(reading), reading.profiles
    telling: frozenset[str] = _LOOKED_UP
    selecting: set[str] = set()
    if profiles is not None:
        every = profiles.profiles.values()
        telling = telling.union(profiles.pod_label_keys, *(each.annotations for each in every))
        selecting.update(*(each.node_selector for each in every))
    places_by_node = _NODE_NAME in selecting or any(
        _NODE_NAME in str(podspec.annotations(found).get(names.NODE_SELECTOR))
        for found in reading.networks.values()
        if found
    )
    # With the name that the verdict tells, empty where it tells none.
    known: dict[bytes, tuple[str, Verdict | None]] = {}

    def decide(pod: Object, found: TrainingPod | NotTraining) -> Verdict | None:
        likeness = _Likeness(pod, telling, has_own_node=not places_by_node)
        key = likeness.write(found)
        if key in known:
            other, verdict = known[key]
            return _renamed(verdict, other, likeness.name) if verdict is not None and other else verdict
        verdict = judge_today(pod, profiles, world, reading.unusable)
        if verdict is None:
            known[key] = "", None
        elif likeness.holds(verdict):
            known[key] = likeness.name if any(likeness.name in text for text in _texts(verdict)) else "", verdict
        return verdict

    return decide


class _Likeness:
    """Write all that a decision about a pod can depend on, but for what is written on each pod of its own.

    That are its names, the suffix of the token's volume, numbers where a rank is told, uids, and what is told of a pod that runs. What
    it was recognised as was made of them, and is compared. *telling*: labels and annotations that are compared as they are.
    """

    def __init__(self, pod: Object, telling: frozenset[str], *, has_own_node: bool) -> None:
        self._pod, self._telling, self._has_own_node = pod, telling, has_own_node
        self.name, self._host = str(pod["metadata"]["name"]), str(pod["spec"].get("hostname") or "")
        self._numbers = {part for part in f"{self.name}-{self._host}".split("-") if part.isdigit()}
        self._tokens = [
            each["name"]
            for each in podspec.volumes(pod)
            if _TOKEN.fullmatch(each.get("name") or "") and "projected" in each
        ]
        self._own = [*self._tokens, *([self._host] if self._host and self._host != self.name else ())]
        self._blanked = 0

    def write(self, found: TrainingPod | NotTraining) -> bytes:
        """Return a text that is equal for pods that are alike."""
        metadata, spec = self._pod["metadata"], self._pod["spec"]
        labels, annotations = podspec.labels(self._pod), podspec.annotations(self._pod)
        exact = orjson.dumps(
            [(key, texts[key]) for texts in (labels, annotations) for key in texts if key in self._telling]
        )
        text = orjson.dumps(
            [
                _facts(found),
                [self._label(key, value) for key, value in labels.items() if key not in self._telling],
                [self._annotation(key, value) for key, value in annotations.items() if key not in self._telling],
                [
                    (
                        each.get("apiVersion"),
                        each.get("kind"),
                        self._numbered(each.get("name") or ""),
                        each.get("controller"),
                    )
                    for each in metadata.get("ownerReferences") or ()
                ],
                {key: value for key, value in spec.items() if key not in _ELSEWHERE},
                [(key, self._placed(key, value)) for key, value in (spec.get("nodeSelector") or {}).items()],
                [self._container(each) for each in podspec.init_containers(self._pod)],
                [self._container(each) for each in podspec.containers(self._pod)],
            ]
        )
        if self._blanked > _MOST_BLANKED or len(text) > bounds.SMALL:
            return b"%s %s" % (self.name.encode(), text)
        for own, mark in ((self._tokens[0] if self._tokens else "", _VOLUME), (self.name, _NAME), (self._host, _HOST)):
            if "-" in own and _DISTINCT.search(own):  # any other may stand for something else, as 8 does
                text = text.replace(own.encode(), mark)
        return b"%d %s%s" % (self.name[:1].isdigit(), exact, text)

    def holds(self, verdict: Verdict) -> bool:
        """Tell whether the verdict holds for all that are alike: all that it tells of this one is its name."""
        if is_injected(self._pod) and any(each.outcome is Outcome.INJECTED for each in verdict.decisions):
            return False  # the pod that results is compared with this one
        for text in _texts(verdict):
            rest = text.replace(f"pod {self.name}:", "")
            if self.name in rest or any(own in rest for own in self._own):
                return False
            if not self._numbers.isdisjoint(_NUMBER.findall(rest)):
                return False
        return True

    def _blank(self, text: str) -> str:
        self._blanked += len(text)
        return _OWN

    def _number(self, text: str) -> str:
        self._numbers.add(text)
        return _OWN

    def _numbered(self, text: str) -> str:
        """Return a name without the number at its end, where that is one of the pod's own."""
        stem, dash, number = text.rpartition("-")
        return f"{stem}-{_OWN}" if dash and number in self._numbers else text

    def _label(self, key: str, value: str) -> tuple[str, str]:
        if key in _OF_NO_PROFILE:
            return key, self._blank(value)
        return key, self._number(value) if value.isdigit() and _is_numbered(key) else self._numbered(value)

    def _annotation(self, key: str, value: str) -> tuple[str, str]:
        if key in _TOLD_OF_ONE or not key.startswith(_READ):
            return key, self._blank(value)
        return key, value

    def _placed(self, key: str, value: str) -> str:
        """Return what its nodeSelector asks of a label; the node of its own, which a queue has chosen, is left out."""
        if key == _NODE_NAME and self._has_own_node:
            self._own.append(value)
            return self._blank(value)
        return value

    def _container(self, container: Object) -> Object:
        if container.get("name") == names.WAIT_CONTAINER:
            return container  # ours, in which no number is a pod's own
        changed: Object = {
            "env": [
                entry
                if not (value := entry.get("value")) or not value.isdigit()
                else self._variable(entry["name"], value)
                for entry in podspec.env(container)
            ]
        }
        for key in ("command", "args"):
            words = container.get(key)
            if words and any("rank" in word for word in words):
                changed[key] = list(self._words(words))
        return {**container, **changed}

    def _variable(self, name: str, value: str) -> tuple[str, str]:
        if _is_numbered(name) and not name.startswith(_FABRIC_VARIABLES):
            value = self._number(value)
        return name, value

    def _words(self, words: Iterable[str]) -> Iterator[str]:
        before = ""
        for word in words:
            if "rank" in before and word.isdigit():
                yield self._number(word)
            elif "rank" in word:
                self._numbers.update(number for _, number in _RANK.findall(word))
                yield _RANK.sub(rf"\1{_OWN}", word)
            else:
                yield word
            before = word


def _facts(found: TrainingPod | NotTraining) -> list[Any]:
    meets = found.rendezvous if isinstance(found, TrainingPod) else None
    return [
        found.system,
        found.reason,
        found.message,
        found.container if isinstance(found, TrainingPod) else None,
        meets and [meets.job, meets.role, meets.rank_zero, sorted(meets.hosts), meets.by_operator, meets.is_certain],
    ]


@lru_cache(maxsize=4096)
def _is_numbered(key: str) -> bool:
    """Tell what names a number of the pod's own: a label as ``…/job-completion-index``, a variable as ``PET_NODE_RANK``."""
    return _NUMBERED.search(key.rpartition("/")[2]) is not None


def _texts(verdict: Verdict) -> Iterator[str]:
    """Yield what may be told of a verdict: of steps that changed something, or found it there, only that they did."""
    yield verdict.message
    for number, each in enumerate(verdict.decisions):
        if number == 0 or each.outcome not in _QUIET:
            yield each.message


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
