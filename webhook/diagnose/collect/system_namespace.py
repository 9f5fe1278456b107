"""Find the namespace that fabric-injector is installed in, where nobody names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.diagnose.check.deployments import read_deployment
from webhook.kube.catalogue import DEPLOYMENTS, WEBHOOK_CONFIGURATIONS
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader, whole

DEFAULT = "fabric-injector"
_OURS = DEPLOYMENTS.select(labels="app.kubernetes.io/name=fabric-injector")


def find_system_namespace(connection: Connection, configuration: str) -> str:
    """Return the namespace of our Deployments, else of the Service that webhook *configuration* calls, else DEFAULT.

    Of several namespaces with such Deployments that of the Service is meant, else DEFAULT, else the first by name. What may not be
    read says nothing.
    """
    reader = Reader(connection)
    found = sorted(set(_of_deployments(reader)))
    if len(found) == 1:
        return found[0]
    for each in (*_of_service(reader, configuration), DEFAULT):
        if not found or each in found:
            return each
    return found[0]


def _of_deployments(reader: Reader) -> Iterator[str]:
    try:
        for page in reader.pages(_OURS, _namespace, most=4):
            yield from (each for each in page.objects if each)
    except Unavailable:
        return


def _namespace(deployment: Object) -> str:
    return (
        str(deployment["metadata"]["namespace"]) if read_deployment(deployment) is not None else ""
    )


def _of_service(reader: Reader, configuration: str) -> Iterator[str]:
    try:
        found = reader.find(WEBHOOK_CONFIGURATIONS, ("", configuration), whole)
    except Unavailable:
        return
    for entry in (found or {}).get("webhooks") or ():
        service = (
            (entry.get("clientConfig") or {}).get("service") if isinstance(entry, Mapping) else None
        )
        if isinstance(service, Mapping) and service.get("namespace"):
            yield str(service["namespace"])
