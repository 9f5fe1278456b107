"""Variables that hold the pod's own address on the fabric: addresses.yaml."""

import json
from pathlib import Path

import pytest
import yaml

from tests.core.builders import environment
from tests.core.injection.test_copies import check_starts, opted_out
from tests.core.injection.test_device_variables import admitted
from tests.core.test_review import judge
from tests.core.workloads.rows import build
from tests.profiles import profiles
from tests.worlds import world
from webhook.core import names
from webhook.core.injection import wait
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.core.reconcile import Jobs, read_member
from webhook.diagnose.jobs import ObservedPod

ROWS = yaml.safe_load(Path(__file__).with_name("addresses.yaml").read_text("utf-8"))
NETWORKS = "networks: [{network: default/rdma-net, resource: rdma/hca}]"


def fabric(more: str = "", variables: str = "VLLM_HOST_IP") -> Profiles:
    own = f"pods: accelerators, addressVariables: [{variables}]"
    return profiles(f"{{rdma: {{{own}, {more or NETWORKS}}}}}")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_pod_takes_its_own_address_and_waits_for_it(row: Object) -> None:
    row = json.loads(json.dumps(row))
    waits, value, says = row.pop("waits"), row.pop("is"), row.pop("says", None)
    more = row.pop("profile", "")
    using = fabric(more if not more or "networks" in more else f"{NETWORKS}, {more}")
    verdict = judge(build(row), world(profile="rdma"), using)
    assert verdict.allowed, verdict.message
    pod = verdict.pod
    assert " ".join(wait.needs(pod)) == waits
    assert environment(pod).get("VLLM_HOST_IP") == value
    told = [each for each in verdict.decisions if each.step == "address-variables"]
    said = [f"{each.outcome} {each.reason}: {each.message}" for each in told]
    assert said == ([says] if says else said[:1])
    assert (names.JOB in pod["metadata"]["labels"]) == (not said[0].startswith("skipped"))
    assert admitted(pod, using) == pod


def test_the_controller_tells_a_server_its_own_address_and_nothing_else() -> None:
    pod = _server()
    assert pod["metadata"]["labels"][names.RENDEZVOUS] == "worker"
    status = [{"name": "default/rdma-net", "interface": "net1", "ips": ["192.168.7.9"]}]
    member = read_member(pod)
    assert member is not None
    assert member.lacks_own_address
    pod["metadata"]["annotations"][names.NETWORK_STATUS] = json.dumps(status)
    jobs = Jobs()
    [unit] = jobs.update(("train", pod["metadata"]["name"]), read_member(pod))
    found = jobs.publication(unit)
    assert found is not None
    assert found.annotations == {names.LOCAL_ADDR: "192.168.7.9"}
    assert not ObservedPod(pod, member).is_member, "nobody asks for the rank 0 of a server"


def _server() -> Object:
    row = {key: ROWS["a server"][key] for key in ("owner", "container")}
    return admitted(build(json.loads(json.dumps(row))), fabric())


def test_a_copy_that_opts_out_neither_waits_nor_takes_it() -> None:
    verdict = judge(opted_out(_server()), world(profile="rdma"), fabric())
    check_starts(verdict)
    assert "VLLM_HOST_IP" not in environment(verdict.pod)


def test_a_profile_that_names_it_no_longer_still_tells_it_to_a_pod_that_reads_it() -> None:
    worker = admitted(build({"of": "kubeflow-pytorchjob-1"}), fabric())
    again = admitted(worker, profiles(f"{{rdma: {{{NETWORKS}}}}}"))
    assert wait.needs(again) == ["master-addr", "local-addr:own"]
