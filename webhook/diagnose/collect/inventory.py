"""Read all that is looked at: what depends on nothing first, several kinds at a time, then what that leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from typing import Any

from webhook.core import names
from webhook.core.claim_templates import stored_spec
from webhook.core.cluster.demand import NEVER_REACHED, profile_users
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.profiles.objects import DEFINITION
from webhook.diagnose.check.claims import needed_templates
from webhook.diagnose.check.deployments import Role, read_deployment, read_own_pod
from webhook.diagnose.check.inventory import Account, Installation, Inventory, Subject
from webhook.diagnose.check.namespaces import LabelledNamespace, read_namespace
from webhook.diagnose.check.privileges import EXCESSIVE, Access, Answer, needed, to_install
from webhook.diagnose.check.profiles import read_definition
from webhook.diagnose.check.reachability import Attempt
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.probes import may, try_to_reach
from webhook.diagnose.collect.surroundings import begin_surroundings
from webhook.diagnose.listing import Found, Listing, Unread
from webhook.kube.catalogue import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    PODS,
    POLICIES,
    POLICY_BINDINGS,
    RESOURCE_CLAIM_TEMPLATES,
    SECRETS,
    SERVICES,
    WEBHOOK_CONFIGURATIONS,
)
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader, whole
from webhook.kube.resource import Key
from webhook.kube.tls_secret import read_tls_secret
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import FROM_OBJECTS, OBJECTS, ProfilesRead

MOST_PAGES = 400
"""Two hundred thousand objects of one kind."""
MOST_TEMPLATES = 100
"""How many ResourceClaimTemplates are looked at."""
_TEMPLATES = "ResourceClaimTemplates"
_LEASE = "fabric-injector"
_ACCOUNTS: Mapping[Role, str] = {
    "webhook": "fabric-injector-webhook",
    "controller": "fabric-injector-controller",
}


def take_inventory(
    connection: Connection,
    subject: Subject,
    given: ProfilesRead | None,
    progress: Callable[[str], None] = lambda _: None,
) -> Inventory:
    """Read everything; *given*: the profiles of a file, None for those that are installed.

    Raises Unavailable where the API server gives no answer at all, InputError where it does not know the caller.
    """
    server_time = _server_time(connection)
    here = datetime.now(UTC)
    with Collector(connection, progress, most_pages=MOST_PAGES) as collector:
        namespaces = _namespaces(collector, subject.workload)
        finish_installation = _begin_installation(collector, subject)
        finish_surroundings = begin_surroundings(collector, namespaces, subject.workload)
        installation = finish_installation()
        profiles = _profiles(collector, subject, installation, given)
        finish_templates = _begin_templates(collector, subject, profiles, namespaces.items)
        finish_questions = _begin_questions(collector, subject, installation)
        attempts: tuple[Attempt, ...] = ()
        if (configuration := installation.configuration(subject.configuration)) is not None:
            attempts = try_to_reach(connection, configuration, namespaces.items, profiles.profiles)
        surroundings = finish_surroundings()._replace(claim_templates=finish_templates())
        installation = finish_questions()._replace(attempts=attempts)
    return Inventory(
        subject, here, server_time, profiles, installation, surroundings, collector.notes()
    )


def _namespaces(collector: Collector, workload: str) -> Listing[LabelledNamespace]:
    """Return the labelled namespaces, or *workload* alone; raise InputError where that does not exist."""
    if not workload:
        return collector.list_part("namespaces", NAMESPACES, read_namespace)
    found = collector.find_part(
        "namespaces", NAMESPACES, ("", workload), lambda obj: (read_namespace(obj),)
    )
    if found.absent:
        raise InputError(f"-n {workload}: there is no namespace of this name")
    return Listing(tuple(each for each in found.value or () if each is not None), found.problem)


def _begin_templates(
    collector: Collector,
    subject: Subject,
    read: ProfilesRead,
    namespaces: Iterable[LabelledNamespace],
) -> Callable[[], Mapping[Key, Any] | None]:
    """Begin to ask for the templates of claims that the controller is to keep, the first MOST_TEMPLATES of them."""
    profiles = read.profiles
    if (
        profiles is None
        or profiles.claims_problem
        or not any(each.claims for each in profiles.profiles.values())
    ):
        return lambda: None
    never = (*NEVER_REACHED, subject.namespace)
    users = profile_users((each.name, each.labels) for each in namespaces if each.name not in never)
    wanted = sorted(needed_templates(profiles, users))[:MOST_TEMPLATES]
    try:
        resource = ClaimsApi(collector.reader).served(RESOURCE_CLAIM_TEMPLATES)
    except Unavailable as error:
        collector.note(_TEMPLATES, error)
        return lambda: None
    if resource is None or not wanted:
        return lambda: None
    asked = {
        key: collector.begin(partial(collector.find_part, _TEMPLATES, resource, key, _spec))
        for key in wanted
    }

    def finish() -> Mapping[Key, Any] | None:
        found = {key: each.result() for key, each in asked.items()}
        return {key: each.value for key, each in found.items() if not each.problem}

    return finish


def _spec(template: Object) -> Any:
    return stored_spec(template.get("spec") or {})


def _server_time(connection: Connection) -> datetime | None:
    try:
        return Reader(connection).server_time()
    except RequestFailed as error:
        if error.status == 401:
            raise InputError(f"{error}; log in to the cluster again") from None
        raise


def _begin_installation(collector: Collector, subject: Subject) -> Callable[[], Installation]:
    own = subject.namespace
    configurations = collector.begin_list("webhook configurations", WEBHOOK_CONFIGURATIONS, whole)
    deployments = collector.begin_list("Deployments", DEPLOYMENTS, read_deployment, own)
    pods = collector.begin_list("own pods", PODS, read_own_pod, own)
    services = collector.begin_list("Services", SERVICES, _name, own)
    secret = collector.begin(
        lambda: collector.find_part(
            "certificates", SECRETS, (own, names.TLS_SECRET), read_tls_secret
        )
    )
    lease = collector.begin(lambda: collector.find_part("Lease", LEASES, (own, _LEASE), whole))
    policies = collector.begin_list("admission policies", POLICIES, _name)
    bindings = collector.begin_list(
        "bindings of admission policies",
        POLICY_BINDINGS,
        lambda obj: (obj.get("spec") or {}).get("policyName"),
    )

    definition = collector.begin(
        lambda: collector.find_part(
            "CustomResourceDefinition",
            CUSTOM_RESOURCE_DEFINITIONS,
            ("", DEFINITION),
            read_definition,
        )
    )

    def finish() -> Installation:
        stored = secret.result()
        kept = stored.value
        return Installation(
            configurations.result(),
            deployments.result(),
            pods.result(),
            services.result(),
            Found(kept.data if kept is not None else None, stored.problem),
            lease.result(),
            policies.result(),
            bindings.result(),
            definition.result(),
        )

    return finish


def _profiles(
    collector: Collector, subject: Subject, installation: Installation, given: ProfilesRead | None
) -> ProfilesRead:
    """Read the profiles where the webhook's Deployment says, or what the *given* ones lack."""
    places = [each.profiles for each in installation.deployments.items if each.role == "webhook"]
    place = places[0] if places else FROM_OBJECTS
    try:
        if given is not None:
            read = beside_installed_settings(collector.reader, subject.namespace, given, place)
        else:
            read = installed_profiles(collector.reader, subject.namespace, place)
    except Unavailable as error:
        problem = collector.note("profiles", error)
        return given or ProfilesRead(OBJECTS, problem=problem)
    if read.problem:
        collector.unread.append(
            Unread("profiles", f"{read.source} {read.problem}; give --profiles FILE")
        )
    if read.unread:
        collector.unread.append(Unread("settings", read.unread))
    return read


def _begin_questions(
    collector: Collector, subject: Subject, installation: Installation
) -> Callable[[], Installation]:
    """Begin to ask what the accounts may do, or, where nothing is installed, whether the caller may install."""

    def ask(access: Access, user: str = "") -> Future[Answer]:
        return collector.begin(lambda: may(collector.reader.connection, access, user))

    if not installation.is_there(subject):
        own = {access: ask(access) for access in to_install(subject.namespace)}
        return lambda: installation._replace(installer=_answers(own))
    accounts = dict(_ACCOUNTS) | {
        each.role: each.account for each in installation.deployments.items
    }
    keeps = all(each.keeps_certificates for each in installation.deployments.items)
    asked = []
    for role, name in accounts.items():
        user = f"system:serviceaccount:{subject.namespace}:{name}"
        needs = needed(role, subject.namespace, subject.configuration, keeps_certificates=keeps)
        wanted = {access: ask(access, user) for access in needs}
        asked.append(
            (role, name, wanted, {access: ask(access, user) for access in EXCESSIVE[role]})
        )

    def finish() -> Installation:
        told = [
            Account(role, name, _answers(wanted), _answers(more))
            for role, name, wanted, more in asked
        ]
        return installation._replace(accounts=tuple(told))

    return finish


def _answers(asked: Mapping[Access, Future[Answer]]) -> Mapping[Access, Answer]:
    return {access: answer.result() for access, answer in asked.items()}


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
