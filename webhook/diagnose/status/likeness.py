"""Write what can matter of a pod, but for what is written on each pod of its own: equal for pods that are alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from webhook.core import bounds, names, podspec
from webhook.core.addresses import multus
from webhook.core.model import Object, Outcome
from webhook.core.reconcile import Member
from webhook.core.review import Verdict
from webhook.core.workloads import NotTraining, TrainingPod
from webhook.diagnose.explain.observation import common_form
from webhook.diagnose.explain.part import Part, attached_networks
from webhook.diagnose.injected import is_injected
from webhook.diagnose.status.jobs import KeptPod
from webhook.diagnose.status.outline import OWN, is_numbered

_READ = (names.PREFIX, names.GKE_NETWORKING, "k8s.v1.cni.cncf.io/", "v1.multus-cni.io/", "traffic.sidecar.istio.io/")
"""Beginnings of annotations whose text a decision reads, beside those that profiles name and those of training systems."""
LOOKED_UP = frozenset((names.PROFILE, names.NETWORKS, names.DEFAULT_NETWORK, names.GKE_INTERFACES, names.ISTIO_INJECT))
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
_NUMBER = re.compile("(?<![A-Za-z0-9_])[0-9]+(?![A-Za-z0-9_])")
_QUIET = (Outcome.INJECTED, Outcome.KEPT)
_MOST_BLANKED = 16_384
"""Characters that are not compared: with more, one pod may be too large for admission where another is not."""


class Likeness:
    """Write what a decision about a pod, and what is found of it, can depend on, but for what is written on each pod of its own.

    That are its names, the suffix of the token's volume, numbers where a rank is told, uids, and what is told of a pod that runs.
    *telling*: labels and annotations that are compared as they are.
    """

    def __init__(self, kept: KeptPod, rest: Object, telling: frozenset[str]) -> None:
        self.name, self._kept, self._rest, self._telling = kept.name, kept, rest, telling
        own = kept.own
        self._numbers = {*(each.decode() for each in own.values + own.ranks)}
        self._numbers.update(
            part for part in f"{kept.name}-{own.host.decode()}".split("-") if part.isdigit() and part.strip("0")
        )
        self._blanked = 0
        self.attached: list[Object] | None = None
        labels = podspec.labels(rest)
        self.is_worker = bool(labels.get(names.JOB)) and labels.get(names.RENDEZVOUS) == "worker"
        """Tell a pod whose labels say that it is not rank 0, and of which job, whatever it is recognised as."""

    def of_decision(
        self, found: TrainingPod | NotTraining | None, *, places_by_node: bool
    ) -> tuple[object, ...] | None:
        """Return what is equal for pods of which the same is decided; None for one that is decided about by itself."""
        metadata, kept, labels = self._rest["metadata"], self._kept, podspec.labels(self._rest)
        annotations = podspec.annotations(self._rest)
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
            ]
        )
        if self._blanked > _MOST_BLANKED or len(text) + len(kept.outline.text) > bounds.SMALL:
            return None
        places = kept.own.places if places_by_node or not kept.own.nodes else ()
        return kept.outline, self.name[:1].isdigit(), places, exact, kept.own.hide(text)

    def of_state(self, member: Member | None, said: Iterable[tuple[str, str]]) -> str:
        """Return what is equal for live pods that are alike, of which the same is found; *said*: what Events say of it."""
        status, annotations = self._rest.get("status") or {}, podspec.annotations(self._rest)
        attached = self.attached = attached_networks(self._rest)
        secondary = member and member.secondary
        return repr(  # JSON could not write all that network-status may hold
            [
                status.get("phase"),
                [
                    [each.get("name"), self._state(each.get("state")), self._state(each.get("lastState"))]
                    for key in ("initContainerStatuses", "containerStatuses")
                    for each in status.get(key) or ()
                ],
                bool(multus.told(annotations)),
                attached is not None
                and [(each.get("name"), each.get("interface"), bool(each.get("ips"))) for each in attached],
                secondary and (bool(secondary.address), secondary.interface, secondary.problem),
                member and member.reported,
                list(said),
            ]
        )

    def spec_like(self, example: Part) -> Object:
        """Return its spec: that of the pod that it is like, but for its node, where no more of it is looked at."""
        spec, nodes = example.pod["spec"], self._kept.own.nodes
        if len(nodes) != 1 or "nodeName" not in spec or spec.get("resourceClaims"):
            return self._kept.read_spec()
        return {**spec, "nodeName": nodes[0].decode()}

    def holds(self, verdict: Verdict, pod: Object) -> bool:
        """Tell whether the verdict holds for all that are alike: all that it tells of this one is its name."""
        if is_injected(pod) and any(each.outcome is Outcome.INJECTED for each in verdict.decisions):
            return False  # the pod that results is compared with this one
        return not self.tells(text.replace(f"pod {self.name}:", "") for text in told_of(verdict))

    def tells(self, texts: Iterable[str]) -> bool:
        """Tell whether something of the pod's own is in one of the texts."""
        words = {self.name, *self._kept.own.words()}
        return any(
            any(word in text for word in words) or not self._numbers.isdisjoint(_NUMBER.findall(text)) for text in texts
        )

    def _state(self, state: Mapping[str, Object | None] | None) -> list[Any]:
        return [
            (key, each.get("reason"), each.get("exitCode"), general(each.get("message"), self.name))
            for key in ("waiting", "running", "terminated")
            if (each := (state or {}).get(key)) is not None
        ]

    def _blank(self, text: str) -> str:
        self._blanked += len(text)
        return OWN

    def _numbered(self, text: str) -> str:
        """Return a name without the number at its end, where that is one of the pod's own."""
        stem, dash, number = text.rpartition("-")
        return f"{stem}-{OWN}" if dash and number in self._numbers else text

    def _label(self, key: str, value: str) -> tuple[str, str]:
        if key in _OF_NO_PROFILE:
            return key, self._blank(value)
        if value.isdigit() and value.strip("0") and is_numbered(key):
            self._numbers.add(value)
            return key, OWN
        return key, self._numbered(value)

    def _annotation(self, key: str, value: str) -> tuple[str, str]:
        if key in _TOLD_OF_ONE or not key.startswith(_READ):
            return key, self._blank(value)
        return key, value


def general(message: object, pod: str) -> str:
    """Return a message as it is told of many pods, whole."""
    text = str(message or "")
    return common_form(text, pod, limit=len(text) + 1) if text else ""


def _facts(found: TrainingPod | NotTraining | None) -> list[Any] | None:
    if found is None:
        return None
    meets = found.rendezvous if isinstance(found, TrainingPod) else None
    return [
        found.system,
        found.reason,
        found.message,
        found.container if isinstance(found, TrainingPod) else None,
        meets and [meets.job, meets.role, meets.rank_zero, sorted(meets.hosts), meets.by_operator, meets.is_certain],
    ]


def told_of(verdict: Verdict) -> Iterator[str]:
    """Yield what may be told of a verdict: of steps that changed something, or found it there, only that they did."""
    yield verdict.message
    yield podspec.annotations(verdict.pod).get(names.RENDEZVOUS_NETWORK) or ""
    for number, each in enumerate(verdict.decisions):
        if number == 0 or each.outcome not in _QUIET:
            yield each.message
