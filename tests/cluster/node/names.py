"""The cluster's DNS, as far as tests go: a pod's name or hostname gives its own address."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, UDPServer

from dnslib import QTYPE, RCODE, RR, A, DNSRecord

from tests.cluster.client import Client


@contextmanager
def names(api: Client, address: str) -> Iterator[None]:
    """Answer on UDP port 53 of the address, from the API server's pods."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            query, answers = self.request
            question = DNSRecord.parse(query)
            asked, answer = question.q, question.reply()
            found = _find(api, str(asked.qname).lower().rstrip(".").split("."))
            answer.header.rcode = RCODE.NOERROR if found else RCODE.NXDOMAIN
            if found and asked.qtype == QTYPE.A:
                answer.add_answer(RR(asked.qname, rdata=A(found), ttl=1))
            answers.sendto(answer.pack(), self.client_address)

    with UDPServer((address, 53), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def _find(api: Client, labels: list[str]) -> str:
    """Find the address of the pod HOST[.SUBDOMAIN].NAMESPACE; empty where there is none."""
    if labels[-3:] != ["svc", "cluster", "local"] or len(labels) < 5:
        return ""
    for pod in api.expect("GET", f"/api/v1/namespaces/{labels[-4]}/pods")["items"]:
        if labels[0] in (pod["metadata"]["name"], pod["spec"].get("hostname")):
            return str(pod["status"].get("podIP", ""))
    return ""
