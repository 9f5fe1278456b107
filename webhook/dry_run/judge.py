"""Decide about each pod of an input, with the code that admission uses."""

from dataclasses import asdict, dataclass
from functools import cached_property

from webhook.core import names, podspec
from webhook.core.model import Decision, Namespace, Object, Outcome, World
from webhook.core.profiles import Profiles
from webhook.core.review import Verdict, decide
from webhook.dry_run.summary import Summary, summarise
from webhook.dry_run.templates import Ignored, Template, Templates, find_templates, parse_documents

_TOLD = (
    *("source", "namespace", "name", "replicas", "system", "job", "rendezvous", "profile"),
    *("allowed", "message"),
)


@dataclass(frozen=True, slots=True)
class PodResult:
    """Hold the answer about one pod.

    *before* reaches admission, *after* leaves it, and *patch* leads from one to the other.
    *rendezvous* is ``master``, ``worker`` or empty. *observed*: the namespace only observes; then
    the decisions and *would_be* say what would happen. *workload* is the object of the input,
    ``Job/train``; *replicas* counts the pods of it that this one stands for.
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
    def name(self) -> str:
        """Return the pod's name, or its generateName with a star."""
        return podspec.display_name(self.before)

    @property
    def decision(self) -> str:
        """Return what was decided: ``injected``, ``left-alone`` or ``denied``."""
        is_marked = names.STATUS in podspec.annotations(self.after) and not self.observed
        return "denied" if not self.allowed else "injected" if is_marked else "left-alone"

    @property
    def is_injected(self) -> bool:
        """Tell whether the pod leaves admission with what its profile says."""
        return self.decision == "injected"

    @property
    def faults(self) -> list[str]:
        """Return why the pod is denied, or would be; empty for one that is allowed."""
        denied = [each.message for each in self.decisions if each.outcome is Outcome.DENIED]
        return denied or ([] if self.allowed else [self.message])

    def as_json(self) -> Object:
        """Return the entry of the document."""
        return {key: getattr(self, key) for key in _TOLD} | {
            "decisions": list(map(asdict, self.decisions)),
            "warnings": list(self.warnings),
            "patch": list(self.patch),
            "pod": self.after,
        }


@dataclass(frozen=True)
class DryRun:
    """Hold the answers about all pods of an input, in its order."""

    pods: tuple[PodResult, ...]
    ignored: tuple[Ignored, ...]

    @cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Return what the pods of each workload are together."""
        return summarise(self.pods)

    @property
    def workloads(self) -> tuple[Summary, ...]:
        """Return the workloads that a profile is for, or should be: one without it is denied."""
        return tuple(
            each
            for each in self.summaries
            if any(pod.profile or not pod.allowed for pod in each.pods)
        )

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

    *namespace* is for objects that name none, else ``default``; *profile* replaces the labels.
    Raises InputError with line and column for text that does not parse, Unavailable where the
    cluster gives no answer.
    """
    templates = find_templates(parse_documents(text), namespace)
    return judge(templates, profile=profile, profiles=profiles, world=world)


def judge(templates: Templates, *, profile: str | None, profiles: Profiles, world: World) -> DryRun:
    """Judge the pods that an input holds. Raises Unavailable where the cluster gives no answer."""
    present = {
        name: None if profile is not None else world.namespace(name) or world.fresh_namespace(name)
        for name in dict.fromkeys(template.namespace for template in templates.pods)
    }
    results = []
    for template in templates.pods:
        namespace = present[template.namespace]
        if profile is None and namespace is None:
            verdict = _in_no_namespace(template)
        else:
            verdict = decide(template.pod, template.namespace, profiles, world, profile=profile)
        results.append(pod_result(template, verdict, *_unsent(namespace, verdict)))
    return DryRun(tuple(results), templates.ignored)


def pod_result(template: Template, verdict: Verdict, *warnings: str) -> PodResult:
    """Return the *verdict* about the pod of a template; *warnings* are further ones."""
    return PodResult(
        source=template.source,
        namespace=template.namespace,
        before=template.pod,
        after=verdict.pod,
        allowed=verdict.allowed,
        message=verdict.message,
        system=verdict.system,
        job=verdict.job,
        rendezvous=verdict.role,
        profile=verdict.profile,
        decisions=verdict.decisions,
        warnings=(*template.notes, *verdict.warnings, *warnings),
        patch=tuple(verdict.operations),
        observed=verdict.observed,
        workload=template.workload,
        replicas=template.replicas,
        would_be=verdict.would_be,
    )


def _unsent(namespace: Namespace | None, verdict: Verdict) -> tuple[str, ...]:
    """Return a warning where the API server may never call the webhook for the pod."""
    if namespace is None or not verdict.profile or names.PROFILE in namespace.labels:
        return ()
    return (
        f"namespace {namespace.name} has no label {names.PROFILE}: the webhook gets this pod "
        "only if component pod-opt-in is installed and the pod carries the label",
    )


def _in_no_namespace(template: Template) -> Verdict:
    message = (
        f"pod {podspec.display_name(template.pod)}: namespace {template.namespace} does not exist; "
        "create it, or name yours: metadata.namespace, or the dry run's namespace"
    )
    return Verdict(False, template.pod, [], (), "", message=message)
