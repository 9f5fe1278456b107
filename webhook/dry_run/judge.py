"""Decide about each pod of an input, with the code that admission uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from webhook.core import names, podspec
from webhook.core.model import Decision, Namespace, Object, World
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, decide
from webhook.dry_run.summary import Summary, summarise
from webhook.dry_run.templates import Ignored, Template, Templates, find_templates, parse_documents


@dataclass(frozen=True, slots=True)
class PodResult:
    """Hold the answer about one pod: *before* as it reaches admission, *after* as it leaves, *patch* from one to the other.

    *rendezvous*: ``master``, ``worker`` or empty. *observed*: the namespace only observes; the decisions are what would be done, and
    *would_be* is the pod that would leave admission. *workload*: the object of the input, ``Job/train``. *replicas*: for how many of
    its pods this one stands.
    """

    source: str
    namespace: str
    before: Object
    after: Object
    allowed: bool
    message: str = ""
    system: str = ""
    job: str = ""
    rendezvous: str = ""
    profile: str = ""
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[Object, ...] = ()
    observed: bool = False
    workload: str = ""
    replicas: int = 1
    would_be: Object | None = None

    @property
    def planned(self) -> Object:
        """Return the pod as it leaves admission, or would where the namespace only observes."""
        return self.would_be or self.after

    @property
    def name(self) -> str:
        """Return the pod's name, or its generateName with a star."""
        return podspec.display_name(self.before)

    @property
    def is_injected(self) -> bool:
        """Tell whether the pod leaves admission with what its profile says."""
        return (
            self.allowed and not self.observed and names.STATUS in podspec.annotations(self.after)
        )

    @property
    def decision(self) -> str:
        """Return what was decided: ``injected``, ``left-alone`` or ``denied``."""
        return "denied" if not self.allowed else "injected" if self.is_injected else "left-alone"

    def as_json(self) -> Object:
        """Return the entry of the document."""
        return {
            "source": self.source,
            "namespace": self.namespace,
            "name": self.name,
            "replicas": self.replicas,
            "system": self.system,
            "job": self.job,
            "rendezvous": self.rendezvous,
            "profile": self.profile,
            "allowed": self.allowed,
            "message": self.message,
            "decisions": [
                {
                    "step": decision.step,
                    "outcome": str(decision.outcome),
                    "reason": str(decision.reason),
                    "message": decision.message,
                }
                for decision in self.decisions
            ],
            "warnings": list(self.warnings),
            "patch": list(self.patch),
            "pod": self.after,
        }


@dataclass(frozen=True, slots=True)
class DryRun:
    """Hold the answers about all pods of an input, in its order. *text*: the manifest; empty where it came in several parts."""

    pods: tuple[PodResult, ...]
    ignored: tuple[Ignored, ...]
    text: str = ""

    @property
    def workloads(self) -> tuple[Summary, ...]:
        """Return what the pods of each workload are together."""
        return summarise(self.pods)

    @property
    def is_broken(self) -> bool:
        """Return whether some part of the input has a structure that no cluster would accept."""
        return any(part.broken for part in self.ignored)

    @property
    def is_allowed(self) -> bool:
        """Return whether every pod is allowed."""
        return all(pod.allowed for pod in self.pods)

    @property
    def is_whole(self) -> bool:
        """Return whether no workload is half injected, and none cannot meet."""
        return not any(workload.problem for workload in self.workloads)

    def as_json(self) -> Object:
        """Return the document that ``POST /dry-run`` and ``dry-run -o json`` answer."""
        return {
            "pods": [pod.as_json() for pod in self.pods],
            "ignored": [{"source": part.source, "message": part.message} for part in self.ignored],
            "workloads": [workload.as_json() for workload in self.workloads],
        }


def dry_run(
    text: str, *, namespace: str | None, profile: str | None, profiles: Profiles, world: World
) -> DryRun:
    """Judge every pod that the manifest *text* would make.

    *namespace*: of objects that name none, else ``default``. *profile*: in place of the labels. Raises InputError with line and
    column for text that does not parse, Unavailable where the cluster cannot be asked.
    """
    warnings: dict[int, Sequence[str]] = {}
    templates = find_templates(parse_documents(text, warnings=warnings), namespace, warnings)
    return replace(judge(templates, profile=profile, profiles=profiles, world=world), text=text)


def judge(templates: Templates, *, profile: str | None, profiles: Profiles, world: World) -> DryRun:
    """Judge the pods that were found in an input. Raises Unavailable where the cluster cannot be asked."""
    present = {
        name: None if profile is not None else world.namespace(name) or world.fresh_namespace(name)
        for name in dict.fromkeys(template.namespace for template in templates.pods)
    }
    results = []
    for template in templates.pods:
        namespace = present[template.namespace]
        if profile is None and namespace is None:
            results.append(_in_no_namespace(template))
        else:
            results.append(_judge(template, namespace, profile, profiles, world))
    return DryRun(tuple(results), templates.ignored)


def _judge(
    template: Template,
    namespace: Namespace | None,
    profile: str | None,
    profiles: Profiles,
    world: World,
) -> PodResult:
    verdict = decide(template.pod, template.namespace, profiles, world, profile=profile)
    return PodResult(
        template.source,
        template.namespace,
        template.pod,
        verdict.pod,
        verdict.allowed,
        verdict.message,
        verdict.system,
        verdict.job,
        verdict.role,
        verdict.profile,
        verdict.decisions,
        (*template.notes, *verdict.warnings, *_unsent(namespace, verdict)),
        tuple(verdict.operations),
        verdict.observed,
        template.workload,
        template.replicas,
        verdict.would_be,
    )


def _unsent(namespace: Namespace | None, verdict: Verdict) -> tuple[str, ...]:
    """Return a warning where the webhook may never be called for the pod."""
    if namespace is None or not verdict.profile or names.PROFILE in namespace.labels:
        return ()
    return (
        f"namespace {namespace.name} carries no label {names.PROFILE}: the webhook is called only if component pod-opt-in is "
        "installed, and only for pods that carry the label",
    )


def _in_no_namespace(template: Template) -> PodResult:
    name = podspec.display_name(template.pod)
    remedy = "create it, or name yours: metadata.namespace, or the dry run's namespace"
    message = f"pod {name}: namespace {template.namespace} does not exist; {remedy}"
    return PodResult(
        template.source,
        template.namespace,
        template.pod,
        template.pod,
        False,
        message,
        workload=template.workload,
        replicas=template.replicas,
    )
