"""Names: labels, annotations and the wait protocol are an interface between versions, so they are pinned."""

from webhook.core import names

PINNED = {
    "PROFILE": "fabric-injector.io/profile",
    "PROFILE_NONE": "none",
    "MODE": "fabric-injector.io/mode",
    "MODE_OBSERVE": "observe",
    "CONTAINER": "fabric-injector.io/container",
    "JOB": "fabric-injector.io/job",
    "RENDEZVOUS": "fabric-injector.io/rendezvous",
    "CLAIMS": "fabric-injector.io/claims",
    "CLAIMS_REFERENCED": "referenced",
    "CLAIM": "fabric-injector.io/claim",
    "STATUS": "fabric-injector.io/status",
    "RENDEZVOUS_NETWORK": "fabric-injector.io/rendezvous-network",
    "ADDRESS_SOURCE": "fabric-injector.io/address-source",
    "WAITS_FOR": "fabric-injector.io/waits-for",
    "MASTER_ADDR": "fabric-injector.io/master-addr",
    "MASTER_HOST": "fabric-injector.io/master-host",
    "LOCAL_ADDR": "fabric-injector.io/local-addr",
    "NCCL_IB_HCA": "fabric-injector.io/nccl-ib-hca",
    "UCX_NET_DEVICES": "fabric-injector.io/ucx-net-devices",
    "MASTER_NAME": "fabric-injector.io/master-name",
    "UNREACHABLE": "fabric-injector.io/unreachable",
    "UNREACHABLE_FAIL": "fail",
    "WAIT_ENDS": "fabric-injector.io/wait-ends",
    "ADDED_DEVICES": "fabric-injector.io/added-devices",
    "WAIT_CONTAINER": "fabric-injector-wait",
    "ROTATE": "fabric-injector.io/rotate",
    "TLS_SECRET": "fabric-injector-tls",
    "WEBHOOK_CONFIGURATION": "zz-fabric-injector",
    "ENV_MASTER_NAME": "FABRIC_INJECTOR_MASTER_NAME",
}


def test_names_are_pinned() -> None:
    assert {name: getattr(names, name) for name in PINNED} == PINNED


def test_every_own_key_is_set_or_removed() -> None:
    set_by_user = {names.PROFILE, names.MODE, names.CONTAINER, names.ROTATE}
    of_templates = {names.CLAIM}
    ours = {
        value
        for value in vars(names).values()
        if isinstance(value, str) and value.startswith(names.PREFIX)
    }
    assert ours - {names.PREFIX} - set_by_user - of_templates == {
        *names.OWN_LABELS,
        *names.OWN_ANNOTATIONS,
    }
