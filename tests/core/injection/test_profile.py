"""What the rows of ``steps/`` do not show: steps beside each other, and what they list."""

from tests.core.builders import attachment, carry_out, plan, profile
from tests.pods import minimal_container, minimal_pod
from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.injection import networks, steps


def test_init_containers_stand_behind_the_wait_step_and_stay_there_in_later_passes() -> None:
    """NcclConf makes the pod wait: the wait step comes first, and neither pass moves anything."""
    pod = minimal_pod(initContainers=[minimal_container("early")])
    daemon = {"name": "daemon", "image": "example.com/daemon:1", "restartPolicy": "Always"}
    given = profile(
        nccl_conf=True, env={"NCCL_DEBUG": "INFO"}, pod={"spec": {"initContainers": [daemon]}}
    )
    drawn = plan(pod, profile=given)
    first = Draft(pod)
    steps.apply(first, drawn, "1")
    order = [each["name"] for each in first.pod["spec"]["initContainers"]]
    assert order == ["early", names.WAIT_CONTAINER, "daemon"]
    again = Draft(first.pod)
    steps.apply(again, drawn, "1")
    assert again.operations == []


def test_ipc_lock_is_added_to_whatever_capabilities_the_profile_gives() -> None:
    pod = minimal_pod()
    context = {"capabilities": {"add": ["NET_ADMIN"]}}
    draft = Draft(pod)
    steps.apply(draft, plan(pod, profile=profile(container={"securityContext": context})), "1")
    [own] = draft.pod["spec"]["containers"]
    assert own["securityContext"]["capabilities"]["add"] == ["NET_ADMIN", "IPC_LOCK"]
    assert context == {"capabilities": {"add": ["NET_ADMIN"]}}, "the profile's own is untouched"


def test_lists_no_more_networks_than_a_reader_can_take() -> None:
    before = minimal_pod(metadata={"annotations": {names.NETWORKS: "as the plan says"}})
    drawn = plan(before, *[attachment(interface="x" * 60)] * 100)
    [told] = carry_out(networks.inject, before, drawn)[1]
    assert told.message.endswith(" and 80 more already")
