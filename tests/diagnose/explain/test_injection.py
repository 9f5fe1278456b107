"""What `explain` finds of pods that were not injected, or not wholly: a job that trains well, with one thing broken."""

from __future__ import annotations

from tests.diagnose.hostile import cluster_of
from tests.diagnose.scenes import SPACE, Scene
from webhook.diagnose.collect.jobs import Target, read_job
from webhook.diagnose.snapshot import Snapshot


def test_whether_the_webhook_configuration_is_there_is_asked_where_a_pod_lacks_injection() -> None:
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-fabric-injector"
    scene = Scene()
    connection = cluster_of(scene)
    assert read_job(Snapshot(connection, SPACE), Target("job", "bert"))[0].configured is None
    assert f"GET {path}" not in connection.asked, "all are injected"
    scene.pods["bert-worker-1"] = scene.created(2)
    connection = cluster_of(scene)
    assert read_job(Snapshot(connection, SPACE), Target("job", "bert"))[0].configured is False
    connection.objects[path] = {"metadata": {"name": "zz-fabric-injector"}}
    assert read_job(Snapshot(connection, SPACE), Target("job", "bert"))[0].configured is True
    connection.spoil = lambda request, *answer: (403, b"{}") if request.endswith(path) else answer
    read, _ = read_job(Snapshot(connection, SPACE), Target("job", "bert"))
    assert (
        read.configured,
        [each for each in read.unread if "configuration" in each.what.lower()],
    ) == (None, [])
