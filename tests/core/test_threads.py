"""Any thread may use a type of msgspec first: it crashes where two threads make it learn one."""

import subprocess
import sys

from tests import ROOT

PROGRAM = """
import sys, threading
from webhook.core.pod_check import check_pod
from webhook.core.profiles import read_object
from webhook.kube.catalogue import NODES, PODS

sys.setswitchinterval(1e-6)
start = threading.Barrier(8)
pod = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"containers": [{"name": "c"}]}}

def use():
    start.wait()
    check_pod(pod)
    read_object({"metadata": {"name": "a"}, "spec": {"networks": [{"network": "a/b"}]}})
    for resource in (PODS, NODES):
        resource.check(pod)

threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_may_use_each_type_first() -> None:
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
