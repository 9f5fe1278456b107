"""A small API server on loopback: lists in pages, watches from a version on, and misbehaves as it is told to."""

import json
import re
import socket
import ssl
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/pods"
NETWORKS = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
FABRIC_PROFILES = "/apis/fabric-injector.io/v1alpha1/fabricprofiles"
NODES = "/api/v1/nodes"
DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
DEVICE_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
EVENTS = "/api/v1/events"
RESOURCE_CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"
CLAIM_TEMPLATES = "/apis/resource.k8s.io/v1/resourceclaimtemplates"
LISTED = (
    NAMESPACES,
    EVENTS,
    PODS,
    NETWORKS,
    FABRIC_PROFILES,
    NODES,
    DEVICE_CLASSES,
    DEVICE_SLICES,
    RESOURCE_CLAIMS,
    CLAIM_TEMPLATES,
)
NOT_INSTALLED = "404 page not found\n"


@dataclass(frozen=True)
class Request:
    """One request that came in; `kind` is list, watch or get, for other methods their name."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        if self.method != "GET":
            return self.method
        return "watch" if "watch" in self.query else "list" if self.path in LISTED else "get"


class Exchange:
    """One request being answered: what a behaviour acts on."""

    def __init__(
        self, server: "FakeApiServer", handler: BaseHTTPRequestHandler, request: Request
    ) -> None:
        self.server = server
        self.request = request
        self.generation = 0
        self._handler = handler

    def answer(self, status: int, body: object, **headers: str) -> None:
        """Send a whole answer: JSON, or text where the body is text."""
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        kind = "text/plain" if isinstance(body, str) else "application/json"
        self._handler.send_response(status)
        for key, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **headers,
        }.items():
            self._handler.send_header(key.replace("_", "-"), value)
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def open(self) -> None:
        """Begin a chunked answer."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()

    def write(self, data: bytes) -> None:
        """Send one chunk."""
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, kind: str, obj: object) -> None:
        """Send one event of a watch."""
        self.write(json.dumps({"type": kind, "object": obj}).encode() + b"\n")

    def end(self) -> None:
        """End a chunked answer as it should."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Close the connection, whatever has been sent."""
        self._handler.close_connection = True

    def hang(self) -> None:
        """Send nothing any more until the server closes."""
        self.server.closing.wait(60)
        self.cut()


Behaviour = Callable[[Exchange], None]


def status(code: int, message: str = "", *, reason: str = "", **headers: str) -> Behaviour:
    """Answer with a Status object."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "code": code,
        "message": message,
        "reason": reason,
    }
    return lambda exchange: exchange.answer(code, body, **headers)


def text(code: int, body: str) -> Behaviour:
    """Answer with plain text."""
    return lambda exchange: exchange.answer(code, body)


def hang(exchange: Exchange) -> None:
    """Take the request and never answer."""
    exchange.hang()


def expired(exchange: Exchange) -> None:
    """Open a watch and say in it that the version is too old."""
    exchange.open()
    exchange.event(
        "ERROR",
        {"kind": "Status", "metadata": {}, "code": 410, "message": "too old resource version"},
    )
    exchange.end()


def lines(*sent: bytes, then: str = "end") -> Behaviour:
    """Open a watch, send the raw bytes, each as a chunk, then `end`, `cut` or `hang`."""

    def behave(exchange: Exchange) -> None:
        exchange.open()
        for data in sent:
            exchange.write(data)
        getattr(exchange, then)()

    return behave


@dataclass
class _Collection:
    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    events: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)


class FakeApiServer:
    """Serve while the `with` block lasts. `requests` are all that came; `misbehave` changes the next answers of a kind.

    `groups`: the versions of each group that is served, `{"/apis/resource.k8s.io": ["v1"]}`.
    `clock`: the time that its answers tell, the real one where it is None.
    `refusal`: what it answers all requests with that are not misbehaved about.
    """

    clock: Callable[[], datetime] | None = None

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.refusal: Behaviour | None = None
        self.connections = 0
        self.groups: dict[str, list[str]] = {}
        self._tls = tls
        self.closing = threading.Event()
        self._collections: defaultdict[str, _Collection] = defaultdict(_Collection)
        self._version = 100
        self._oldest = 0
        self._changed = threading.Condition()
        self._next: dict[tuple[str, str], deque[Behaviour]] = defaultdict(deque)
        self._watch_generation = 0
        self._pages: dict[str, list[dict[str, Any]]] = {}
        self._server = self._make()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        with self._changed:
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def connection(self) -> Connection:
        """Give a connection of ours to it, as nobody."""
        return Connection(Credentials("test", self.url))

    def put(self, path: str, name: str, namespace: str = "", **parts: Any) -> dict[str, Any]:
        """Create or change an object; parts are fields of metadata, but `spec` and `status`."""
        with self._changed:
            self._version += 1
            collection = self._collections[path]
            known = (namespace, name) in collection.objects
            body: dict[str, Any] = {
                key: parts.pop(key) for key in ("spec", "status") if key in parts
            }
            metadata: dict[str, Any] = {
                "name": name,
                "resourceVersion": str(self._version),
                **parts,
            }
            if namespace:
                metadata["namespace"] = namespace
            managed: list[dict[str, Any]] = [{"manager": "test", "fieldsV1": {"f:metadata": {}}}]
            metadata.setdefault("managedFields", managed)
            obj = {"metadata": metadata, **body}
            collection.objects[namespace, name] = obj
            collection.events.append((self._version, "MODIFIED" if known else "ADDED", obj))
            self._changed.notify_all()
            return obj

    def delete(self, path: str, name: str, namespace: str = "") -> None:
        """Delete an object, or let it leave what the selectors choose: a watch cannot tell the two apart."""
        with self._changed:
            self._version += 1
            obj = self._collections[path].objects.pop((namespace, name))
            gone = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self._version)}}
            self._collections[path].events.append((self._version, "DELETED", gone))
            self._changed.notify_all()

    def bookmark(self, path: str) -> str:
        """Send a bookmark to the watches of the path; give its version."""
        with self._changed:
            self._version += 1
            obj = {"metadata": {"resourceVersion": str(self._version)}}
            self._collections[path].events.append((self._version, "BOOKMARK", obj))
            self._changed.notify_all()
            return str(self._version)

    def compact(self) -> None:
        """Forget all history: watches from an older version get 410, and so do pages of lists under way."""
        with self._changed:
            self._version += 1
            self._oldest = self._version
            self._pages.clear()

    def forget(self) -> None:
        """Forget objects, requests and behaviours, as if nothing had been: another test begins."""
        with self._changed:
            self.refusal, self.clock = None, None
            for held in (self.requests, self.groups, self._collections, self._next, self._pages):
                held.clear()

    def end_watches(self) -> None:
        """End all watches as they end when their time is over."""
        with self._changed:
            self._watch_generation += 1
            self._changed.notify_all()

    def misbehave(self, kind: str, path: str, *behaviours: Behaviour) -> None:
        """Answer the next requests of the kind (list, watch, get) for the path so, one behaviour each."""
        with self._changed:
            self._next[kind, path].extend(behaviours)

    def asked(self, kind: str, path: str = "") -> list[Request]:
        """Give the requests of the kind so far."""
        return [
            request
            for request in self.requests
            if request.kind == kind and request.path.startswith(path)
        ]

    def _make(self) -> ThreadingHTTPServer:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                headers = {key.title(): value for key, value in self.headers.items()}
                request = Request(
                    self.command, unquote(url.path), dict(parse_qsl(url.query)), headers, body
                )
                with suppress(ConnectionError):
                    fake._serve(Exchange(fake, self, request))

            do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815  # as the base class calls them

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string(
                    fake.clock().timestamp() if fake.clock else timestamp
                )

            def setup(self) -> None:
                fake.connections += 1
                super().setup()

            def handle(self) -> None:
                with suppress(ConnectionError, ssl.SSLError):
                    super().handle()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as the base class calls it
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64
            block_on_close = False

            def get_request(self) -> tuple[socket.socket, object]:
                connection, address = super().get_request()
                if fake._tls is None:
                    return connection, address
                return fake._tls.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                ), address

        return Server(("127.0.0.1", 0), Handler)

    def _serve(self, exchange: Exchange) -> None:
        request = exchange.request
        usual = {"list": self._list, "watch": self._watch, "PATCH": self._patch}.get(
            request.kind, self._get
        )
        if request.path.startswith("/apis/resource.k8s.io/") and request.method in (
            "PATCH",
            "DELETE",
        ):
            usual = self._write
        with self._changed:
            waiting = self._next[request.kind, request.path]
            behaviour = waiting.popleft() if waiting else self.refusal or usual
            exchange.generation = self._watch_generation
            self.requests.append(request)
        behaviour(exchange)

    def _list(self, exchange: Exchange) -> None:
        query = exchange.request.query
        with self._changed:
            objects = self._objects(exchange.request.path, query)
            version = str(self._version)
            if token := query.get("continue"):
                if token not in self._pages:
                    status(410, "the provided continue parameter is too old")(exchange)
                    return
                objects = self._pages.pop(token)
                version = token.split("-")[0]
            limit = int(query.get("limit", "0")) or len(objects)
            metadata: dict[str, str] = {"resourceVersion": version}
            if objects[limit:]:
                metadata["continue"] = f"{version}-{len(objects)}-{exchange.request.path}"
                self._pages[metadata["continue"]] = objects[limit:]
        items = [_trimmed(obj, exchange.request) for obj in objects[:limit]]
        exchange.answer(200, {"metadata": metadata, "items": items})

    def _objects(self, path: str, query: dict[str, str]) -> list[dict[str, Any]]:
        if "/namespaces/" in path and not path.startswith(NAMESPACES):
            group, _, rest = path.partition("/namespaces/")
            namespace, _, name = rest.partition("/")
            return [
                obj
                for key, obj in self._collections[f"{group}/{name}"].objects.items()
                if key[0] == namespace
            ]
        if path.startswith(f"{NAMESPACES}/"):
            namespace, _, kind = path.removeprefix(f"{NAMESPACES}/").rpartition("/")
            held = self._collections[f"/api/v1/{kind}"].objects
            found = [obj for key, obj in held.items() if key[0] == namespace]
            return [obj for obj in found if _is_chosen(obj["metadata"], query)]
        objects = list(self._collections[path].objects.values())
        return (
            [obj for obj in objects if _is_chosen(obj["metadata"], query)]
            if path == CLAIM_TEMPLATES
            else objects
        )

    def _watch(self, exchange: Exchange) -> None:
        query = exchange.request.query
        since = int(query["resourceVersion"])
        deadline = time.monotonic() + int(query["timeoutSeconds"])
        if since < self._oldest:
            status(410, "too old resource version")(exchange)
            return
        exchange.open()
        for _, kind, obj in self._events(
            exchange.request.path, since, deadline, exchange.generation
        ):
            exchange.event(kind, obj if kind == "BOOKMARK" else _trimmed(obj, exchange.request))
        exchange.cut() if self.closing.is_set() else exchange.end()

    def _events(
        self, path: str, since: int, deadline: float, generation: int
    ) -> Iterator[tuple[int, str, dict[str, Any]]]:
        sent = since
        while True:
            with self._changed:
                found = [event for event in self._collections[path].events if event[0] > sent]
                if not found:
                    left = deadline - time.monotonic()
                    if self.closing.is_set() or generation != self._watch_generation or left <= 0:
                        return
                    self._changed.wait(left)
            for event in found:
                yield event
                sent = event[0]

    def _patch(self, exchange: Exchange) -> None:
        """Merge a status into an object that has no namespace; whatever else is patched stays as it is."""
        path, name, subresource = exchange.request.path.rsplit("/", 2)
        body = json.loads(exchange.request.body)
        with self._changed:
            found = self._collections[path].objects.get(("", name))
            if found is None or subresource != "status":
                self._get(exchange)
                return
            metadata = found["metadata"]
            if (
                body["metadata"].get("resourceVersion", metadata["resourceVersion"])
                != metadata["resourceVersion"]
            ):
                status(409, "the object has been modified", reason="Conflict")(exchange)
                return
            kept = {
                key: value
                for key, value in metadata.items()
                if key not in ("name", "resourceVersion")
            }
            merged = {**(found.get("status") or {}), **body["status"]}
            exchange.answer(
                200,
                self.put(
                    path,
                    name,
                    **kept,
                    **({"spec": found["spec"]} if "spec" in found else {}),
                    status=merged,
                ),
            )

    def _write(self, exchange: Exchange) -> None:
        """Apply or delete an object of a namespace, whose spec cannot be changed; a precondition holds."""
        body, parts = json.loads(exchange.request.body), exchange.request.path.split("/")
        index = parts.index("namespaces")
        namespace, path = parts[index + 1], "/".join([*parts[:index], parts[index + 2]])
        name, applied = parts[-1], exchange.request.method == "PATCH"
        with self._changed:
            found = self._collections[path].objects.get((namespace, name))
            if applied and found and found["spec"] != body["spec"]:
                status(422, "spec: field is immutable", reason="Invalid")(exchange)
            elif applied:
                metadata = {
                    key: value
                    for key, value in body["metadata"].items()
                    if key not in ("name", "namespace")
                }
                metadata["uid"] = found["metadata"]["uid"] if found else f"uid-{self._version}"
                exchange.answer(
                    200 if found else 201,
                    self.put(path, name, namespace, **metadata, spec=body["spec"]),
                )
            elif not found:
                status(404, f"{name!r} not found", reason="NotFound")(exchange)
            elif found["metadata"]["uid"] != body.get("preconditions", {}).get(
                "uid", found["metadata"]["uid"]
            ):
                status(409, "the UID in the precondition does not match", reason="Conflict")(
                    exchange
                )
            else:
                self.delete(path, name, namespace)
                exchange.answer(200, {"kind": "Status", "status": "Success"})

    def _get(self, exchange: Exchange) -> None:
        collection = self._collections.get(
            re.sub(r"/namespaces/[^/]+/", "/", exchange.request.path)
        )
        is_list = exchange.request.path.endswith(
            ("/pods", "/events", "/resourceclaims", "/network-attachment-definitions")
        )
        if is_list or (collection is not None and collection.objects):
            self._list(exchange)
            return
        if versions := self.groups.get(exchange.request.path):
            exchange.answer(
                200, {"kind": "APIGroup", "versions": [{"version": each} for each in versions]}
            )
            return
        parts = exchange.request.path.split("/")
        path = exchange.request.path.rsplit("/", 1)[0]
        namespace = ""
        if len(parts) > 5 and "namespaces" in parts:
            index = parts.index("namespaces")
            namespace = parts[index + 1]
            path = "/".join([*parts[:index], parts[index + 2]])
        with self._changed:
            obj = self._collections[path].objects.get((namespace, parts[-1]))
        if obj is None:
            status(404, f"{parts[-1]!r} not found", reason="NotFound")(exchange)
        else:
            exchange.answer(200, _trimmed(obj, exchange.request))


def _is_chosen(metadata: dict[str, Any], query: dict[str, str]) -> bool:
    """Apply label selectors KEY, !KEY, KEY=VALUE, KEY!=VALUE, and field selector metadata.name=NAME; others choose everything."""
    labels = metadata.get("labels") or {}
    selector = re.sub(
        r"\(.*?\)", lambda found: found[0].replace(",", "|"), query.get("labelSelector", "")
    )
    for part in filter(None, selector.split(",")):
        if " in (" in part:
            key, _, values = part.removesuffix(")").partition(" in (")
            if labels.get(key) not in values.split("|"):
                return False
            continue
        if "!=" in part:
            key, _, value = part.partition("!=")
            if labels.get(key) == value:
                return False
            continue
        key, equals, value = part.removeprefix("!").partition("=")
        if (key in labels) is part.startswith("!") or (equals and labels[key] != value):
            return False
    named = [
        each
        for each in query.get("fieldSelector", "").split(",")
        if each.startswith("metadata.name=")
    ]
    return all(each == f"metadata.name={metadata['name']}" for each in named)


def _trimmed(obj: dict[str, Any], request: Request) -> dict[str, Any]:
    return (
        {"metadata": obj["metadata"]}
        if "PartialObjectMetadata" in request.headers.get("Accept", "")
        else obj
    )
