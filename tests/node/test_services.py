"""Services route as in life, by kube-proxy. What the API server calls at a Service is in test_install.py."""

import json

from tests.cluster.client import Client
from tests.cluster.node.images import DASH
from tests.cluster.node.pods import create
from webhook.core.model import Object

from .conftest import NamespaceFactory

PORT, TARGET = 80, 8080
SERVICE = {
    "metadata": {"name": "server"},
    "spec": {"selector": {"app": "serving"}, "ports": [{"port": PORT, "targetPort": TARGET}]},
}
SERVES = f"""\
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["HOSTNAME"].encode())
http.server.HTTPServer(("", {TARGET}), Handler).serve_forever()
"""
CALLS = f"""\
import json, os, socket, ssl, sys, urllib.request
answer = urllib.request.urlopen("http://server:{PORT}/", timeout=20).read().decode()
context = ssl.create_default_context(cafile="/var/run/secrets/kubernetes.io/serviceaccount/ca.crt")
url = f"https://kubernetes.default.svc:{{os.environ['KUBERNETES_SERVICE_PORT']}}/version"
version = json.load(urllib.request.urlopen(url, timeout=20, context=context))["gitVersion"]
print(json.dumps([answer, socket.gethostbyname("server"), version]))
"""


def test_a_pod_reaches_another_and_the_api_server_by_their_services(
    api: Client, namespace: NamespaceFactory
) -> None:
    name = namespace(None)
    service = api.expect("POST", f"/api/v1/namespaces/{name}/services", SERVICE)
    serving = create(api, _pod("serving", SERVES), name)
    serving.wait(_is_ready, "its container to listen")
    calling = create(api, _pod("calling", CALLS), name)
    calling.wait(lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"), "its end")
    assert calling.get()["status"]["phase"] == "Succeeded", calling.describe()
    address = service["spec"]["clusterIP"]
    assert address != serving.get()["status"]["podIP"]
    version = api.expect("GET", "/version")["gitVersion"]
    assert json.loads(calling.log("main")) == ["serving", address, version]


def _pod(name: str, program: str) -> Object:
    container: Object = {"name": "main", "image": DASH, "command": ["python", "-u", "-c", program]}
    if program is SERVES:
        container["readinessProbe"] = {"tcpSocket": {"port": TARGET}, "periodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
