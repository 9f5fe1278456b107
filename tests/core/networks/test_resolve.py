"""What Multus attaches to a pod once a profile's networks are added: found, named, counted, or denied."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.builders import network, profile
from tests.pods import minimal_pod
from webhook.core import names
from webhook.core.errors import Denied, Unavailable
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks import Attachment, ResolvedNetworks, resolve_networks
from webhook.core.profiles import (
    Multus,
    NetworkName,
    Profile,
    ProfileNetwork,
    RendezvousSettings,
)
from webhook.core.profiles.grammar import ResourceNames

KNOWN = {
    one.namespace + "/" + one.name: one
    for one in (
        network("rails/rail-0", resources=("nvidia.com/rail_0",)),
        network("rails/rail-1", resources=("nvidia.com/rail_1", "rdma/shared")),
        network("rails/rail.2"),
        network("research/own"),
        network("research/bridged", annotations={"example.com/bridge": "ovs.io/br0"}),
        network("research/layer-2", has_ipam=False),
        network("default/global"),
        network("kube-system/calico", resources=("example.com/nic",)),
        network(
            "rails/undevised",
            resource_problem="annotation k8s.v1.cni.cncf.io/resourceName is 'x': 'x' has no domain",
        ),
        network(
            "rails/broken",
            problem="annotation k8s.v1.cni.cncf.io/resourceName is 'x': 'x' has no domain",
        ),
    )
}
ISOLATED = Multus(namespace_isolation=True)


def lookup(namespace: str, name: str) -> NetworkDefinition | None:
    return KNOWN.get(f"{namespace}/{name}")


def pod(networks: str | None = None, default: str | None = None, **spec: Any) -> Object:
    texts = {names.NETWORKS: networks, names.DEFAULT_NETWORK: default}
    annotations = {key: text for key, text in texts.items() if text is not None}
    return minimal_pod(annotations=annotations or None, **spec)


def entry(path: str, *resources: str, count: int = 1) -> ProfileNetwork:
    return ProfileNetwork(NetworkName(path), ResourceNames(resources), count)


def entries(*paths: str) -> Profile:
    """Return a profile with networks ``rails/rail-0``."""
    return profile(networks=tuple(map(entry, paths)))


def resolve(a_pod: Object, a_profile: Profile, multus: Multus = Multus()) -> ResolvedNetworks:  # noqa: B008  # frozen
    return resolve_networks(a_pod, a_profile, multus, "research", lookup)


def denial(a_pod: Object, a_profile: Profile, multus: Multus = Multus()) -> Denied:  # noqa: B008  # frozen
    with pytest.raises(Denied) as found:
        resolve(a_pod, a_profile, multus)
    assert found.value.step == "networks"
    assert found.value.message.isprintable()
    assert found.value.message.startswith("pod train-0: ")
    return found.value


def test_attaches_the_networks_of_the_profile() -> None:
    found = resolve(pod(), entries("rails/rail-0", "rails/rail-1"))
    zero = Attachment(KNOWN["rails/rail-0"], "net1", (("nvidia.com/rail_0", 1),), added=True)
    one = Attachment(
        KNOWN["rails/rail-1"], "net2", (("nvidia.com/rail_1", 1), ("rdma/shared", 1)), added=True
    )
    assert found == ResolvedNetworks("rails/rail-0,rails/rail-1", (zero, one), zero)


def test_counts_the_resources_of_every_key_that_names_one() -> None:
    keys = Multus(resource_name_keys=("example.com/bridge", names.RESOURCE_NAME))
    found = resolve(pod("rails/rail-1,bridged"), profile(), keys)
    assert [one.resources for one in found.attachments] == [
        (("nvidia.com/rail_1", 1), ("rdma/shared", 1)),
        (("ovs.io/br0", 1),),
    ]
    only = resolve(
        pod("rails/rail-1,bridged"), profile(), Multus(resource_name_keys=("example.com/bridge",))
    )
    assert [one.resources for one in only.attachments] == [(), (("ovs.io/br0", 1),)]
    assert [one.resources for one in resolve(pod("bridged"), profile()).attachments] == [()]


def test_takes_the_default_network_of_the_profiles_annotations() -> None:
    of_profile = profile(pod={"metadata": {"annotations": {names.DEFAULT_NETWORK: "calico"}}})
    found = resolve(pod("own"), of_profile)
    assert [(one.key, one.default) for one in found.attachments] == [
        ("kube-system/calico", True),
        ("research/own", False),
    ]
    of_pod = resolve(pod("own", "default/global"), of_profile)
    assert of_pod.attachments[0].key == "default/global"


def test_leaves_an_annotation_that_holds_them_already() -> None:
    found = resolve(pod("own, rails/rail-0@rdma0"), entries("rails/rail-0"))
    assert found.value is None
    assert [(one.key, one.interface, one.added) for one in found.attachments] == [
        ("research/own", "net1", False),
        ("rails/rail-0", "rdma0", False),
    ]
    assert found.rendezvous_network == found.attachments[1]


@pytest.mark.parametrize("annotation", [None, ""])
def test_attaches_nothing_where_nobody_asks(annotation: str | None) -> None:
    found = resolve(pod(annotation), profile())
    assert found == ResolvedNetworks(problem="no secondary network is attached to the pod")


def test_completes_what_the_pod_asks_for_with_a_profile_of_no_networks() -> None:
    found = resolve(pod("layer-2,rails/rail-0"), profile())
    assert found.value is None
    assert [one.resources for one in found.attachments] == [(), (("nvidia.com/rail_0", 1),)]
    assert found.rendezvous_network == found.attachments[1]


def test_never_asks_for_the_networks_of_a_pod_on_the_host_network() -> None:
    broken = pod("a//b", "", hostNetwork=True)
    found = resolve_networks(
        broken, entries("rails/rail-0"), Multus(), "research", lambda *_: pytest.fail("asked")
    )
    assert found == ResolvedNetworks(
        problem="the pod uses the node's network, where Multus attaches nothing"
    )


def test_passes_on_that_the_cluster_cannot_be_asked() -> None:
    def cannot(namespace: str, name: str) -> NetworkDefinition | None:
        raise Unavailable(f"{namespace}/{name}")

    with pytest.raises(Unavailable, match="rails/rail-0"):
        resolve_networks(pod(), entries("rails/rail-0"), Multus(), "research", cannot)


def test_writes_json_for_a_name_with_a_dot() -> None:
    found = resolve(pod("own"), entries("rails/rail.2"))
    assert (
        found.value
        == '[{"name":"own","namespace":"research"},{"name":"rail.2","namespace":"rails"}]'
    )


def test_counts_the_default_networks_of_multus() -> None:
    found = resolve(pod(), entries("rails/rail-0"), Multus(default_networks=2))
    assert found.attachments[0].interface == "net3"


@pytest.mark.parametrize(
    ("annotation", "networks", "resources"),
    [
        pytest.param(
            None,
            (entry("rails/rail-0", count=2),),
            [{"nvidia.com/rail_0": 2}],
            id="own name, count",
        ),
        pytest.param(
            None,
            (entry("rails/rail-1", "rdma/ib", count=3),),
            [{"rdma/ib": 3}],
            id="the profile's name",
        ),
        pytest.param(
            None,
            (
                entry("rails/rail-0", "a/x", "a/y"),
                entry("rails/rail-0", "a/z"),
            ),
            [{"a/x": 1, "a/y": 1}, {"a/z": 1}],
            id="k-th entry",
        ),
        pytest.param(
            "rails/rail-0,rails/rail-0,own,rails/rail-0",
            (
                entry("rails/rail-0", "a/x", count=2),
                entry("rails/rail-0", "a/z"),
            ),
            [{"a/x": 2}, {"a/z": 1}, {}, {"a/x": 2}],
            id="the first entry speaks for the surplus",
        ),
        pytest.param(
            "rails/rail-1",
            (entry("own"),),
            [{"nvidia.com/rail_1": 1, "rdma/shared": 1}, {}],
            id="no entry",
        ),
        pytest.param(
            "rails/rail-1,rails/rail-0",
            (entry("rails/rail-0", "a/x"),),
            [{"nvidia.com/rail_1": 1, "rdma/shared": 1}, {"a/x": 1}],
            id="no entry, but for its neighbour",
        ),
        pytest.param(
            "own,own",
            (entry("own", "a/x"),),
            [{"a/x": 1}] * 2,
            id="entry of the pod's",
        ),
    ],
)
def test_counts_what_each_attachment_takes(
    annotation: str | None, networks: tuple[ProfileNetwork, ...], resources: list[dict[str, int]]
) -> None:
    found = resolve(pod(annotation), profile(networks=networks))
    assert [dict(one.resources) for one in found.attachments] == resources


def test_meets_on_a_network_of_the_pods_own_namespace() -> None:
    of_profile = profile(
        networks=(entry("rails/rail-0"), entry("own")),
        rendezvous=RendezvousSettings(network=NetworkName("own")),
    )
    found = resolve(pod(), of_profile)
    assert found.rendezvous_network == found.attachments[1]


@pytest.mark.parametrize(
    ("default", "interface"),
    [("calico", "eth0"), ("kube-system/calico@eth1", "eth1"), ('[{"name":"calico"}]', "eth0")],
)
def test_attaches_the_default_network_first(default: str, interface: str) -> None:
    found = resolve(pod("own", default), entries("rails/rail-0"))
    assert [(one.key, one.interface, one.default, one.added) for one in found.attachments] == [
        ("kube-system/calico", interface, True, False),
        ("research/own", "net1", False, False),
        ("rails/rail-0", "net2", False, True),
    ]
    assert found.attachments[0].resources == (("example.com/nic", 1),)
    assert found.value == "own,rails/rail-0"
    assert found.rendezvous_network == found.attachments[2]


def test_never_meets_on_the_default_network() -> None:
    found = resolve(pod(default="calico"), profile(), ISOLATED)
    assert len(found.attachments) == 1
    assert found.rendezvous_network is None


@pytest.mark.parametrize(
    ("default", "found"),
    [
        pytest.param(
            "", "names 0 networks; name exactly one, or remove the annotation", id="empty"
        ),
        pytest.param(
            "[]", "names 0 networks; name exactly one, or remove the annotation", id="empty list"
        ),
        pytest.param(
            "calico,calico",
            "names 2 networks; name exactly one, or remove the annotation",
            id="two",
        ),
        pytest.param(
            "a//b", "element 1: 'a//b' has more than one '/'; Multus refuses it", id="refused"
        ),
    ],
)
def test_denies_a_default_network_that_multus_refuses(default: str, found: str) -> None:
    denied = denial(pod(default=default), profile())
    assert denied.reason is Reason.BAD_NETWORKS
    assert denied.message.startswith(f"pod train-0: annotation {names.DEFAULT_NETWORK}")
    assert found in denied.message


def test_denies_an_annotation_that_multus_refuses() -> None:
    denied = denial(pod("own,[x"), profile())
    assert denied.reason is Reason.BAD_NETWORKS
    assert denied.message == (
        f"pod train-0: annotation {names.NETWORKS}: holds '[', '{{' or '\"' and is not a JSON list; "
        'write [{"name": ...}], or names and commas alone; Multus refuses it: correct or remove it'
    )


@pytest.mark.parametrize(
    ("networks", "default", "found"),
    [
        pytest.param(
            '[{"name":"own","default-route":["10.0.0.1","10.0.0.2"]}]',
            None,
            "2 IPv4 gateways",
            id="one network",
        ),
        pytest.param(
            '[{"name":"own","default-route":["fd00::1"]},{"name":"own","default-route":["fd00::2"]}]',
            None,
            "2 IPv6 gateways",
            id="two networks",
        ),
        pytest.param(
            '[{"name":"own","default-route":["10.0.0.1"]}]',
            '[{"name":"calico","default-route":["10.0.0.2"]}]',
            "2 IPv4 gateways",
            id="with the default network",
        ),
    ],
)
def test_denies_two_default_routes_of_one_family(
    networks: str, default: str | None, found: str
) -> None:
    denied = denial(pod(networks, default), profile())
    assert denied.reason is Reason.BAD_NETWORKS
    assert denied.message == (
        f"pod train-0: annotation {names.NETWORKS}: default-route holds {found} in all, and Multus takes one; remove the others"
    )


def test_judges_the_default_network_alone_by_what_is_added_to_it() -> None:
    default = '[{"name":"calico","default-route":["10.0.0.1","10.0.0.2"]}]'
    assert resolve(pod(default=default), profile()).attachments
    assert "2 IPv4 gateways" in denial(pod(default=default), entries("rails/rail-0")).message


def test_takes_one_default_route_of_each_family() -> None:
    found = resolve(pod('[{"name":"own","default-route":["10.0.0.1","fd00::1"]}]'), profile())
    assert len(found.attachments) == 1


@pytest.mark.parametrize(
    ("a_pod", "a_profile", "found"),
    [
        pytest.param(
            pod("own, rails/rail-9"),
            profile(),
            f"annotation {names.NETWORKS}: element 2 names network rails/rail-9, which does not exist; "
            "create NetworkAttachmentDefinition rail-9 in namespace rails, or correct the name",
            id="of the pod",
        ),
        pytest.param(
            pod(),
            entries("rails/rail-9"),
            "profile rdma names network rails/rail-9, which does not exist; "
            "create NetworkAttachmentDefinition rail-9 in namespace rails, or correct the name",
            id="of the profile",
        ),
        pytest.param(
            pod(default="rail-9"),
            profile(),
            f"annotation {names.DEFAULT_NETWORK} names network kube-system/rail-9, which does not exist; "
            "create NetworkAttachmentDefinition rail-9 in namespace kube-system, or correct the name",
            id="default network",
        ),
        pytest.param(
            pod("own,"),
            profile(),
            f"annotation {names.NETWORKS}: element 2 names network research/, which has no name; "
            "write namespace/name, or remove the element and its comma",
            id="empty element",
        ),
        pytest.param(
            pod('[{"name":"../pods","namespace":"x\\ny"}]'),
            profile(),
            f"annotation {names.NETWORKS}: element 1 names network 'x\\ny/../pods', which does not exist; "
            "create NetworkAttachmentDefinition ../pods in namespace 'x\\ny', or correct the name",
            id="a name that no object has",
        ),
        pytest.param(
            pod("x" * 111),
            profile(),
            f"annotation {names.NETWORKS}: element 1 names network research/{'x' * 111}, which does not exist; "
            f"create NetworkAttachmentDefinition {'x' * 111} in namespace research, or correct the name",
            id="the longest text that is shown whole",
        ),
        pytest.param(
            pod("x" * 112),
            profile(),
            f"annotation {names.NETWORKS}: element 1 names network 'research/{'x' * 111}', which does not exist; "
            f"create NetworkAttachmentDefinition {'x' * 112} in namespace research, or correct the name",
            id="a longer one",
        ),
    ],
)
def test_denies_a_network_that_does_not_exist(
    a_pod: Object, a_profile: Profile, found: str
) -> None:
    denied = denial(a_pod, a_profile)
    assert denied.reason is Reason.NETWORK_ABSENT
    assert denied.message == f"pod train-0: {found}"


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("rails", "../rail-0"),
        ("rails", "a/b"),
        ("Rails", "a"),
        ("a.b", "a"),
        ("rails", "a?x=y"),
        ("n" * 64, "a"),
        ("", "a"),
        ("rails", "a" * 254),
        ("rails", "a."),
        ("rails", "a%2fb"),
    ],
)
def test_asks_only_for_names_that_objects_may_have(namespace: str, name: str) -> None:
    text = f'[{{"name":"{name}","namespace":"{namespace}"}}]'
    with pytest.raises(Denied):
        resolve_networks(pod(text), profile(), Multus(), "", lambda *_: pytest.fail("asked"))


def test_denies_a_network_whose_annotation_cannot_be_used() -> None:
    denied = denial(pod(), entries("rails/broken"))
    assert denied.reason is Reason.BAD_RESOURCE
    assert denied.message == (
        "pod train-0: profile rdma names network rails/broken, whose annotation k8s.v1.cni.cncf.io/resourceName is 'x': "
        "'x' has no domain; correct the NetworkAttachmentDefinition"
    )


@pytest.mark.parametrize(
    ("annotation", "networks", "multus", "allowed"),
    [
        pytest.param("own", (), ISOLATED, True, id="the pod's own namespace"),
        pytest.param("default/global", (), ISOLATED, True, id="a global namespace"),
        pytest.param("rails/rail-0", (), ISOLATED, False, id="another namespace"),
        pytest.param(
            None, ("rails/rail-0",), ISOLATED, False, id="another namespace, of the profile"
        ),
        pytest.param(
            None, ("default/global",), ISOLATED, True, id="a global namespace, of the profile"
        ),
        pytest.param(
            "rails/rail-0",
            (),
            Multus(True, ("rails",)),
            True,
            id="a global namespace by configuration",
        ),
        pytest.param(
            "default/global",
            (),
            Multus(True, ("rails",)),
            False,
            id="default is not global by itself",
        ),
        pytest.param("own", (), Multus(True, ()), True, id="no global namespace"),
        pytest.param("rails/rail-0", (), Multus(False, ()), True, id="no isolation"),
        pytest.param("rails/rail-9", (), ISOLATED, False, id="before it is looked up"),
    ],
)
def test_keeps_the_isolation_of_multus(
    annotation: str | None, networks: tuple[str, ...], multus: Multus, allowed: bool
) -> None:
    if allowed:
        assert resolve(pod(annotation), entries(*networks), multus).attachments
    else:
        assert denial(pod(annotation), entries(*networks), multus).reason is Reason.NETWORK_ISOLATED


def test_says_which_namespaces_isolation_leaves() -> None:
    assert denial(pod("own,rails/rail-0"), profile(), ISOLATED).message == (
        f"pod train-0: annotation {names.NETWORKS}: element 2 names network rails/rail-0, but Multus keeps namespaces apart here; "
        "use a network of namespace research, default"
    )


def test_lets_the_default_network_through_isolation_but_not_its_repetition() -> None:
    assert resolve(pod(default="calico"), profile(), ISOLATED).attachments
    repeated = denial(pod("kube-system/calico", "calico"), profile(), ISOLATED)
    assert repeated.reason is Reason.NETWORK_ISOLATED


def test_denies_an_interface_that_is_taken() -> None:
    a_profile = profile(networks=(entry("rails/rail-0@net1"),))
    denied = denial(pod("own"), a_profile)
    assert denied.reason is Reason.INTERFACE_CONFLICT
    assert denied.message == (
        "pod train-0: profile rdma attaches network rails/rail-0 as interface net1, but element 1 (research/own) of annotation "
        "k8s.v1.cni.cncf.io/networks has that name; name another interface in one of the two"
    )


NETWORKS = st.sampled_from(
    ["own", "rails/rail-0", "rails/rail-1@x", "default/global@net3", "layer-2"]
)
ENTRIES = st.builds(
    lambda path, interface: entry(path + interface),
    st.sampled_from(["rails/rail-0", "rails/rail.2", "research/own", "rails/rail-1"]),
    st.sampled_from(["", "", "", "@net2", "@x"]),
)


@settings(deadline=None)
@given(
    st.none() | st.lists(NETWORKS, max_size=3).map(",".join),
    st.lists(ENTRIES, max_size=3),
    st.sampled_from([Multus(), Multus(default_networks=1)]),
    st.none() | st.just("calico"),
)
def test_changes_nothing_the_second_time(
    annotation: str | None, wanted: list[ProfileNetwork], multus: Multus, default: str | None
) -> None:
    a_profile = profile(networks=tuple(wanted))
    try:
        first = resolve(pod(annotation, default), a_profile, multus)
    except Denied as denied:
        assert denied.reason is Reason.INTERFACE_CONFLICT  # noqa: PT017  # the other way out
        return
    second = resolve(pod(first.value or annotation, default), a_profile, multus)
    assert second.value is None
    assert [(one.key, one.interface, one.resources) for one in second.attachments] == [
        (one.key, one.interface, one.resources) for one in first.attachments
    ]
    assert (second.rendezvous_network and second.rendezvous_network.interface) == (
        first.rendezvous_network and first.rendezvous_network.interface
    )
    assert second.problem == first.problem
    assert bool(first.rendezvous_network) is not bool(first.problem)


def test_a_resource_that_nobody_can_ask_for_is_denied_unless_the_profile_names_another() -> None:
    denied = denial(pod("rails/undevised"), entries())
    assert denied.reason is Reason.BAD_RESOURCE
    assert denied.message == (
        "pod train-0: network rails/undevised, whose annotation k8s.v1.cni.cncf.io/resourceName is 'x': 'x' has no domain; "
        "correct the NetworkAttachmentDefinition, or name the network and its resource in profile rdma"
    )
    assert denial(pod(default="rails/undevised"), entries()).message == denied.message
    named = profile(networks=(entry("rails/undevised", "rdma/hca"),))
    assert [one.resources for one in resolve(pod(), named).attachments] == [(("rdma/hca", 1),)]
