"""Answer an AdmissionReview: bytes in, decision, bytes out. Answers are built only here."""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

import orjson
from msgspec import Meta, ValidationError, convert
from pybase64 import b64encode

from webhook import __version__
from webhook.core import bounds, names, podspec
from webhook.core.accelerators import may_have_accelerator
from webhook.core.decide import Skip, give_way, make_plan
from webhook.core.draft import Draft
from webhook.core.errors import Denied, MalformedReview, Unavailable
from webhook.core.injection import copies, own_keys, steps
from webhook.core.model import Decision, Namespace, Object, Outcome, Reason, World
from webhook.core.plan import Plan
from webhook.core.pod_check import check_pod
from webhook.core.pod_types import LONGEST_NAME, Name, Read
from webhook.core.printable import printable
from webhook.core.profiles import Profiles
from webhook.core.value_types import learn

_UNPROCESSABLE: Final = 422
_POD: Final = {"group": "", "version": "v1", "resource": "pods"}
_STEP: Final = "profile"
_OR: Final = f"or label it {names.PROFILE}={names.PROFILE_NONE} to leave it alone"
_UID: Final = re.compile(rb'"request"\s*:\s*\{\s*"uid"\s*:\s*"([!#-\[\]-~]{1,256})"')
_UNCERTAIN: Final = (Outcome.WARNED, Reason.UNKNOWN_QUANTITY)
_LONGEST_MESSAGE: Final = 16_384


class _Request(Read):
    uid: Annotated[str, Meta(min_length=1, max_length=256)]
    namespace: Annotated[str, Meta(max_length=63)] | None = None
    name: Name | None = None
    operation: str | None = None
    sub_resource: str | None = None


class _Review(Read):
    kind: Literal["AdmissionReview"]
    api_version: Literal["admission.k8s.io/v1"]
    request: _Request


learn(_Review)


@dataclass(slots=True)
class Verdict:
    """Hold the answer about one pod, for admission and dry run alike.

    *reason*: metric label, ``injected``, ``unchanged``, or the Reason of a skip or denial.
    *operations* lead from the input to *pod*.
    *job* and *role* (``master`` or ``worker``) are empty where the pod's rendezvous is not moved.
    *observed*: the namespace only observes; *would_be*: the pod as it would be otherwise.
    """

    allowed: bool
    pod: Object
    operations: list[Object]
    decisions: tuple[Decision, ...]
    reason: str
    code: int = 200
    message: str = ""
    warnings: tuple[str, ...] = ()
    system: str = ""
    job: str = ""
    role: str = ""
    profile: str = ""
    revision: str = ""
    observed: bool = False
    would_be: Object | None = None

    @property
    def told(self) -> list[str]:
        """Return what each step did, for the log: ``["networks:injected", "devices:kept"]``."""
        return [each.step + ":" + each.outcome for each in self.decisions]

    @property
    def injected(self) -> list[str]:
        """Return the steps that changed the pod, or would where the namespace only observes."""
        injected = Outcome.INJECTED
        return [each.step for each in self.decisions if each.outcome is injected]


@dataclass(slots=True)
class Answer:
    """Hold an answered AdmissionReview: *body* for the API server, the rest for the log."""

    body: bytes
    verdict: Verdict | None
    uid: str
    namespace: str
    name: str
    dry_run: bool


def decide(
    pod: Object, namespace: str, profiles: Profiles, world: World, *, profile: str | None = None
) -> Verdict:
    """Decide about a pod whose structure was checked; *pod* is left as it is.

    Raises Unavailable where the cluster cannot be asked.
    """
    space = _look_up(pod, namespace, world, profile)
    verdict = _judge(pod, space, profiles, world, profile)
    return _observe(verdict, pod) if space.labels.get(names.MODE) == names.MODE_OBSERVE else verdict


def _judge(
    pod: Object, space: Namespace, profiles: Profiles, world: World, profile: str | None
) -> Verdict:
    draft = Draft(pod)
    try:
        plan = make_plan(pod, space, profiles, world, profile)
        return _skip(draft, plan) if isinstance(plan, Skip) else _carry_out(draft, plan, pod)
    except Denied as denied:
        return _denial([denied, *denied.further], pod)


def _skip(draft: Draft, skip: Skip) -> Verdict:
    decisions = (skip.decision, *copies.undo(draft, skip.decision.message))
    why = skip.decision
    if (why.outcome, why.reason) == _UNCERTAIN and may_have_accelerator(draft.pod):
        own_keys.write_left_alone(draft, why)
    else:
        own_keys.remove(draft)
    verdict = _allowed(draft, decisions, skip.decision.reason)
    verdict.system, verdict.profile = skip.system, skip.profile
    return verdict


def _carry_out(draft: Draft, plan: Plan, pod: Object) -> Verdict:
    decisions = (*plan.warnings, *steps.apply(draft, plan, __version__))
    if less := give_way(pod, draft.pod, plan):
        again = Draft(pod)
        return _skip(again, less) if isinstance(less, Skip) else _carry_out(again, less, pod)
    verdict = _allowed(draft, decisions, "injected" if draft.operations else "unchanged")
    verdict.profile, verdict.revision = plan.profile.name, plan.profile.revision
    verdict.system = plan.system
    if plan.rendezvous:
        verdict.job, verdict.role = plan.rendezvous.job, plan.rendezvous.role
    return verdict


def _allowed(draft: Draft, decisions: tuple[Decision, ...], reason: str) -> Verdict:
    warned = [printable(each.message) for each in decisions if each.outcome is Outcome.WARNED]
    return Verdict(True, draft.pod, draft.operations, decisions, reason, warnings=tuple(warned))


def _denial(faults: list[Denied], pod: Object) -> Verdict:
    denied = Outcome.DENIED
    denials = tuple([Decision(one.step, denied, one.reason, one.message) for one in faults])
    first, *further = dict.fromkeys(fault.message for fault in faults)
    who = f"pod {podspec.display_name(pod)}: "  # which only the first names
    told = ". Also: ".join([first, *(message.removeprefix(who) for message in further)])
    message = printable(told, limit=_LONGEST_MESSAGE)
    return Verdict(False, pod, [], denials, faults[0].reason, _UNPROCESSABLE, message)


def answer_review(body: bytes, profiles: Profiles, world: World) -> Answer:
    """Answer an AdmissionReview v1; one of more than ``bounds.REVIEW_BYTES`` is denied unread.

    Raises MalformedReview for other bytes, Unavailable where the answer cannot be known now.
    """
    if len(body) > bounds.REVIEW_BYTES:
        return deny_unread(body, len(body))
    request = _parse_review(body)
    subject = request["object"] if _is_new_pod(request) else None
    uid, namespace = request["uid"], request.get("namespace") or ""
    dry_run = bool(request.get("dryRun"))
    if subject is None:
        name = request.get("name") or ""
        return Answer(_respond(uid, {"allowed": True}, b""), None, uid, namespace, name, dry_run)
    verdict = decide(subject, namespace, profiles, world)
    patch = orjson.dumps(verdict.operations) if verdict.operations else b""
    if len(patch) > bounds.PATCH_BYTES:
        most = f"at most {bounds.PATCH_BYTES} are made; make it smaller, {_OR}"
        who = f"pod {podspec.display_name(subject)}: its injection would take"
        message = f"{who} {len(patch)} bytes of changes, and {most}"
        verdict, patch = _denial([Denied(_STEP, Reason.TOO_LARGE, message)], subject), b""
    metadata = subject.get("metadata") or {}
    name = request.get("name") or metadata.get("name") or metadata.get("generateName") or ""
    name = name[:LONGEST_NAME]
    return Answer(_respond(uid, _response(verdict), patch), verdict, uid, namespace, name, dry_run)


def _parse_review(body: bytes) -> Object:
    """Return the request of an AdmissionReview v1, the structure of its pod checked.

    Raises MalformedReview naming what is wrong, never anything else.
    """
    try:
        review = orjson.loads(body)
    except ValueError as error:
        raise MalformedReview(f"the body is not JSON: {printable(str(error))}") from None
    try:
        convert(review, _Review)
    except ValidationError as error:
        raise MalformedReview(
            f"expected an AdmissionReview of admission.k8s.io/v1: {error}"
        ) from None
    request: Object = review["request"]
    if _is_new_pod(request):
        if not request.get("namespace"):
            raise MalformedReview("request.namespace: expected the pod's namespace")
        check_pod(request.get("object"), "request.object")
    return request


def _is_new_pod(request: Object) -> bool:
    """Tell whether a request is about a pod that is to be made: nothing else is decided."""
    return (
        request.get("operation") == "CREATE"
        and request.get("resource") == _POD
        and not request.get("subResource")
    )


def deny_unread(beginning: bytes, length: int) -> Answer:
    """Deny a review by its *length* in bytes.

    Only ``request.uid`` is looked for in its *beginning*: the API server writes it first. Raises
    MalformedReview where it does not stand there.
    """
    size = f"the AdmissionReview has {length} bytes, and at most {bounds.REVIEW_BYTES} are read"
    found = _UID.search(beginning, 0, bounds.UID_BYTES)
    if found is None:
        where = f"request.uid does not stand in its first {bounds.UID_BYTES} bytes"
        raise MalformedReview(f"{size}; {where}")
    uid = found[1].decode("ascii")
    verdict = _denial([Denied(_STEP, Reason.TOO_LARGE, f"{size}: make the pod smaller, {_OR}")], {})
    return Answer(_respond(uid, _response(verdict), b""), verdict, uid, "", "", False)


def _response(verdict: Verdict) -> Object:
    """Return the answer to the API server, without uid and patch."""
    response: Object = {"allowed": verdict.allowed}
    if not verdict.allowed:
        failure = {"status": "Failure", "reason": "Invalid"}
        response["status"] = {"code": verdict.code, **failure, "message": verdict.message}
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    return response


def _look_up(pod: Object, namespace: str, world: World, override: str | None) -> Namespace:
    space = world.namespace(namespace)
    if override is None and (space is None or names.PROFILE not in space.labels):
        labels = (pod.get("metadata") or {}).get("labels") or {}
        if space is None or names.PROFILE not in labels:
            space = world.fresh_namespace(namespace)
    if space is None:
        if override is None:
            raise Unavailable(f"namespace {namespace} is not known yet")
        return Namespace(namespace)
    return space


def _observe(verdict: Verdict, pod: Object) -> Verdict:
    told = [
        f"observe mode: {each.step} would be {each.outcome}: {each.message}"
        for each in verdict.decisions
    ]
    unchanged = replace(verdict, allowed=True, code=200, message="", pod=pod, operations=[])
    warnings = tuple(map(printable, told))
    return replace(unchanged, warnings=warnings, observed=True, would_be=verdict.pod)


def _respond(uid: str, response: Object, patch: bytes) -> bytes:
    """Write the answer; base64 needs no escaping, so that the patch is put in as it is."""
    parts = [
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":',
        orjson.dumps(uid),
    ]
    if patch:
        parts += [b',"patchType":"JSONPatch","patch":"', b64encode(patch), b'"']
    parts += [b",", orjson.dumps(response)[1:], b"}"]
    return b"".join(parts)  # each + would copy the patch once more
