"""Read all that is looked at: what depends on nothing first, several kinds at a time, then what that leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime

from webhook.control.certificates.secret import SecretStore, StoredSecret
from webhook.core import names
from webhook.core.errors import ProfilesError, Unavailable
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles
from webhook.diagnose.check.deployments import PROFILES, ConfigMapKey, Role, read_deployment, read_own_pod
from webhook.diagnose.check.inventory import Account, Installation, Inventory, ProfilesRead, Subject
from webhook.diagnose.check.namespaces import read_namespace
from webhook.diagnose.check.privileges import EXCESSIVE, Access, Answer, needed, to_install
from webhook.diagnose.check.probes import may, try_to_reach
from webhook.diagnose.check.reachability import Attempt
from webhook.diagnose.check.reader import Found, Progress, Reader, read_time
from webhook.diagnose.check.surroundings import begin_surroundings, config_map_data
from webhook.kube.connection import Connection
from webhook.kube.resource import Resource
from webhook.kube.webhook_configuration import CONFIGURATIONS
from webhook.world.cluster import NAMESPACES
from webhook.world.installed_profiles import CONFIG_MAPS

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_DEPLOYMENTS = Resource("deployments", "/apis/apps/v1")
_PODS = Resource("pods", "/api/v1")
_SERVICES = Resource("services", "/api/v1", metadata_only=True)
_LEASES = Resource("leases", "/apis/coordination.k8s.io/v1")
_LEASE = "fabric-injector"
_POLICIES = Resource("validatingadmissionpolicies", _ADMISSION, metadata_only=True)
_BINDINGS = Resource("validatingadmissionpolicybindings", _ADMISSION)
_ACCOUNTS: Mapping[Role, str] = {"webhook": "fabric-injector-webhook", "controller": "fabric-injector-controller"}


def take_inventory(
    connection: Connection, subject: Subject, given: ProfilesRead | None, progress: Progress | None = None
) -> Inventory:
    """Read everything; *given*: the profiles of a file, None for those that are installed.

    Raises Unavailable where the API server gives no answer at all, InputError where it does not know the caller.
    """
    server_time = read_time(connection)
    here = datetime.now(UTC)
    with Reader(connection, progress) as reader:
        namespaces = reader.read_list(NAMESPACES, read_namespace)
        finish_installation = _begin_installation(reader, subject)
        finish_surroundings = begin_surroundings(reader, namespaces)
        installation = finish_installation()
        profiles = given or _installed_profiles(reader, subject, installation)
        finish_questions = _begin_questions(reader, subject, installation)
        attempts: tuple[Attempt, ...] = ()
        if (configuration := installation.configuration(subject.configuration)) is not None:
            attempts = try_to_reach(connection, configuration, namespaces.items, profiles.profiles)
        surroundings = finish_surroundings()
        installation = finish_questions()._replace(attempts=attempts)
    return Inventory(subject, here, server_time, profiles, installation, surroundings)


def _begin_installation(reader: Reader, subject: Subject) -> Callable[[], Installation]:
    own = subject.namespace
    configurations = reader.list(CONFIGURATIONS, _whole)
    deployments = reader.list(_DEPLOYMENTS, read_deployment, own)
    pods = reader.list(_PODS, read_own_pod, own)
    services = reader.list(_SERVICES, _name, own)
    secret = reader.begin("secrets", lambda: _read_secret(reader, own))
    lease = reader.get(_LEASES, (own, _LEASE), _whole)
    policies = reader.list(_POLICIES, _name)
    bindings = reader.list(_BINDINGS, lambda obj: (obj.get("spec") or {}).get("policyName"))

    def finish() -> Installation:
        stored = secret.result()
        kept = stored.value
        return Installation(
            configurations.result(),
            deployments.result(),
            pods.result(),
            services.result(),
            Found(kept.data if kept is not None and kept.exists else None, stored.problem),
            kept.keeper if kept is not None else "",
            lease.result(),
            policies.result(),
            bindings.result(),
        )

    return finish


def _read_secret(reader: Reader, namespace: str) -> Found[StoredSecret]:
    try:
        return Found(SecretStore(reader.connection, namespace, names.TLS_SECRET).read())
    except Unavailable as error:
        return Found(problem=str(error))


def _installed_profiles(reader: Reader, subject: Subject, installation: Installation) -> ProfilesRead:
    """Read the profiles that the webhook's Deployment mounts; where there is none, those of the usual ConfigMap."""
    sources = [each.profiles for each in installation.deployments.items if each.profiles is not None]
    place = sources[0] if sources else ConfigMapKey(*PROFILES)
    source = f"ConfigMap {subject.namespace}/{place.name}, {place.key}"
    found = reader.read_one(CONFIG_MAPS, (subject.namespace, place.name), config_map_data)
    if found.problem:
        return ProfilesRead(source, problem=found.problem)
    if found.value is None or place.key not in found.value:
        return ProfilesRead(source)
    return _judge_profiles(source, found.value[place.key])


def _judge_profiles(source: str, text: str) -> ProfilesRead:
    """Parse profiles; their faults are kept, not raised."""
    try:
        return ProfilesRead(source, parse_profiles(text))
    except ProfilesError as error:
        return ProfilesRead(source, faults=error.problems)


def _begin_questions(reader: Reader, subject: Subject, installation: Installation) -> Callable[[], Installation]:
    """Begin to ask what the accounts may do, or, where nothing is installed, whether the caller may install."""

    def ask(access: Access, user: str = "") -> Future[Answer]:
        return reader.begin("access reviews", lambda: may(reader.connection, access, user))

    if not installation.is_there(subject):
        own = {access: ask(access) for access in to_install(subject.namespace)}
        return lambda: installation._replace(installer=_answers(own))
    accounts = dict(_ACCOUNTS) | {each.role: each.account for each in installation.deployments.items}
    keeps = all(each.keeps_certificates for each in installation.deployments.items)
    asked = []
    for role, name in accounts.items():
        user = f"system:serviceaccount:{subject.namespace}:{name}"
        needs = needed(role, subject.namespace, subject.configuration, keeps_certificates=keeps)
        wanted = {access: ask(access, user) for access in needs}
        asked.append((role, name, wanted, {access: ask(access, user) for access in EXCESSIVE[role]}))

    def finish() -> Installation:
        told = [Account(role, name, _answers(wanted), _answers(more)) for role, name, wanted, more in asked]
        return installation._replace(accounts=tuple(told))

    return finish


def _answers(asked: Mapping[Access, Future[Answer]]) -> Mapping[Access, Answer]:
    return {access: answer.result() for access, answer in asked.items()}


def _whole(obj: Object) -> Object:
    return obj


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
