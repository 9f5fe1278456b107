"""Ask the API server what only it can tell: who may do what, and whether it reaches the webhook. Nothing is ever created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from webhook.core import names
from webhook.core.errors import MalformedReview, Unavailable
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.core.profiles import Profiles
from webhook.diagnose.check.configuration import NAME_LABEL, entries_of, reaches
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.check.privileges import Access, Answer
from webhook.diagnose.check.reachability import Attempt, is_telling, probe_pod
from webhook.kube.connection import Connection, RequestFailed

_REVIEWS = "/apis/authorization.k8s.io/v1"
MOST_ATTEMPTS = 3
"""Namespaces in which a dry run is tried until one tells."""
REQUEST_SECONDS = 15.0
"""More than a webhook is ever waited for by default."""


def may(connection: Connection, access: Access, user: str = "") -> Answer:
    """Ask whether *user* (``system:serviceaccount:NAMESPACE:NAME``) may do this; without one, whether the caller may.

    An access review is answered and forgotten, not stored. Source: kubernetes.io/docs/reference/access-authn-authz/authorization.
    """
    spec: Object = {"resourceAttributes": access.attributes()}
    kind = "SelfSubjectAccessReview"
    if user:
        namespace = user.split(":")[2]
        groups = [
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        ]
        spec |= {"user": user, "groups": groups}
        kind = "SubjectAccessReview"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    try:
        response = connection.request(
            "POST", f"{_REVIEWS}/{kind.lower()}s", body=body, timeout=REQUEST_SECONDS
        )
        if response.status != 201:
            return "unknown"
        status = response.json().get("status") or {}
        return (
            "unknown"
            if not isinstance(status, dict)
            else "yes"
            if status.get("allowed") is True
            else "no"
        )
    except Unavailable:
        return "unknown"


def try_to_reach(
    connection: Connection,
    configuration: Object,
    namespaces: Iterable[LabelledNamespace],
    profiles: Profiles | None,
) -> tuple[Attempt, ...]:
    """Try until an attempt tells: dry runs of a pod in labelled namespaces, then the proxy to the Service."""
    webhooks = [str(entry.get("name")) for entry in entries_of(configuration)]
    attempts: list[Attempt] = []
    for attempt in _attempts(
        connection, configuration, _suitable(configuration, namespaces, profiles)
    ):
        attempts.append(attempt)
        if is_telling(attempt, webhooks):
            break
    return tuple(attempts)


def _suitable(
    configuration: Object, namespaces: Iterable[LabelledNamespace], profiles: Profiles | None
) -> list[LabelledNamespace]:
    """Choose where the configuration lets a pod be injected; those that only observe, or enforce PodSecurity, last."""
    found = []
    for namespace in namespaces:
        labels = {**namespace.labels, NAME_LABEL: namespace.name}
        pod = {names.PROFILE: namespace.profile}
        called = any(reaches(entry, labels, pod) for entry in entries_of(configuration))
        profile = profiles.profiles.get(namespace.profile) if profiles else None
        allowed = profile is None or profile.is_for(namespace.name)
        if called and namespace.profile and allowed and (profiles is None or profile):
            found.append(namespace)
    return sorted(
        found, key=lambda each: (each.observes, names.POD_SECURITY_ENFORCE in each.labels)
    )[:MOST_ATTEMPTS]


def _attempts(
    connection: Connection, configuration: Object, namespaces: Sequence[LabelledNamespace]
) -> Iterator[Attempt]:
    for namespace in namespaces:
        yield _dry_run(connection, namespace)
    services = [
        (entry.get("clientConfig") or {}).get("service") for entry in entries_of(configuration)
    ]
    if service := next(filter(None, services), None):
        yield _proxy(connection, service)


def _dry_run(connection: Connection, namespace: LabelledNamespace) -> Attempt:
    path = f"/api/v1/namespaces/{namespace.name}/pods"
    try:
        response = connection.request(
            "POST",
            path,
            query={"dryRun": "All"},
            body=probe_pod(namespace.profile),
            timeout=REQUEST_SECONDS,
        )
        returned = response.json()
        if response.status != 201:
            return Attempt(
                "dry-run",
                namespace.name,
                response.status,
                str(returned.get("message") or response.problem),
            )
        check_pod(returned)
    except RequestFailed as error:
        return Attempt("dry-run", namespace.name, error.status, str(error))
    except MalformedReview as error:
        return Attempt(
            "dry-run", namespace.name, 0, f"{response.request} answered with no pod: {error}"
        )
    return Attempt(
        "dry-run", namespace.name, response.status, returned=returned, warnings=response.warnings
    )


def _proxy(connection: Connection, service: Object) -> Attempt:
    """Ask for the path that takes POST alone: the answer 405 is the webhook's own, and nothing is admitted."""
    namespace, name, port = (
        service.get("namespace"),
        service.get("name"),
        service.get("port") or 443,
    )
    path = f"/api/v1/namespaces/{namespace}/services/https:{name}:{port}/proxy{service.get('path') or '/'}"
    try:
        response = connection.request("GET", path, timeout=REQUEST_SECONDS)
    except RequestFailed as error:
        return Attempt("proxy", f"{namespace}/{name}", error.status, str(error))
    return Attempt("proxy", f"{namespace}/{name}", response.status, response.problem)
