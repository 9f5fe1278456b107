"""The small languages inside profiles.yaml: networks, resources and their amounts, sizes, durations."""

from __future__ import annotations

import pytest

from tests.core.profiles.texts import assert_says, fault_rows, one


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("30m", 1800),
        ("1h30m", 5400),
        ("90s", 90),
        ("1.5h", 5400),
        ("1000ms", 1),
        ("0h1m", 60),
        ("+2m.5m", 150),
    ],
)
def test_reads_a_duration_as_go_does(text: str, seconds: int) -> None:
    assert one(f"rendezvous: {{timeout: {text}}}").rendezvous.timeout_seconds == seconds


GRAMMAR_FAULTS = fault_rows(r"""
network-missing | profiles: {a: {networks: [{count: 1}]}}
    profiles.a.networks[0].network: is missing; write
network-null | profiles: {a: {networks: [{network: }]}}
    profiles.a.networks[0].network: is missing; write
network-slashes | profiles: {a: {networks: [{network: a/b/c}]}}
    profiles.a.networks[0].network: found "a/b/c"; "a/b" is not the name of a namespace; write [namespace/]name[@interface]
network-no-namespace | profiles: {a: {networks: [{network: /c}]}}
    "" is not the name of a namespace
network-dotted-namespace | profiles: {a: {networks: [{network: a.b/c}]}}
    "a.b" is not the name of a namespace
network-case | profiles: {a: {networks: [{network: a/Rail}]}}
    "Rail" is not the name of a network
network-underscore | profiles: {a: {networks: [{network: rail_0}]}}
    "rail_0" is not the name of a network
network-empty | profiles: {a: {networks: [{network: ""}]}}
    "" is not the name of a network
network-comma | profiles: {a: {networks: [{network: 'a,b'}]}}
    "a,b" is not the name of a network
network-ats | profiles: {a: {networks: [{network: a@b@c}]}}
    "b@c" is not a portable interface name
network-at-end | profiles: {a: {networks: [{network: a@}]}}
    "" is not a portable interface name
interface-long | profiles: {a: {networks: [{network: a@abcdefghijklmnop}]}}
    is not a portable interface name
interface-underscore | profiles: {a: {networks: [{network: a@my_if}]}}
    "my_if" is not a portable interface name
interface-taken | profiles: {a: {networks: [{network: a@eth0}]}}
    every pod already has an interface eth0
interface-twice | profiles: {a: {networks: [{network: a@r0}, {network: b@r1}, {network: c@r0}]}}
    profiles.a.networks[2].network: interface r0 is that of networks[0] already; write another
network-number | profiles: {a: {networks: [{network: 8}]}}
    profiles.a.networks[0].network: found 8, which YAML reads as a number; write it in quotes: "8"
network-text | profiles: {a: {networks: default/rail}}
    profiles.a.networks: found "default/rail"; write a list
resource-plain | profiles: {a: {networks: [{network: a, resource: hostdev}]}}
    profiles.a.networks[0].resource: found "hostdev"; "hostdev" has no domain; write domain/name
resource-list | profiles: {a: {networks: [{network: a, resource: 'rdma/a,'}]}}
    "" is empty; write names with
resource-twice | profiles: {a: {networks: [{network: a, resource: 'r/a, r/a'}]}}
    r/a is there twice; write it once, with count: 2
resource-yaml-list | profiles: {a: {networks: [{network: a, resource: [rdma/a]}]}}
    profiles.a.networks[0].resource: found a list; write a string in quotes
count-negative | profiles: {a: {networks: [{network: a, count: -1}]}}
    count: found -1; write 0 or more
count-beyond | profiles: {a: {networks: [{network: a, count: 9223372036854776}]}}
    count: found 9223372036854776; write 9223372036854775 or less
count-bool | profiles: {a: {networks: [{network: a, count: yes}]}}
    found yes, which YAML reads as a boolean; write an integer
count-text | profiles: {a: {networks: [{network: a, count: '2'}]}}
    found "2"; write an integer, without quotes
count-fraction | profiles: {a: {networks: [{network: a, count: 1.5}]}}
    found 1.5, which YAML reads as a number
resources-native | profiles: {a: {resources: {cpu: 4}}}
    profiles.a.resources.cpu: found "cpu"; it belongs to the job
resources-plain | profiles: {a: {resources: {gpu: 4}}}
    found "gpu"; the resource's name has no domain
resources-native-domain | profiles: {a: {resources: {kubernetes.io/a: 4}}}
    which Kubernetes keeps for itself
resources-negative | profiles: {a: {resources: {rdma/a: -1}}}
    profiles.a.resources[rdma/a]: found "-1"; write a whole number of rdma/a, 0 or more
resources-fraction | profiles: {a: {resources: {rdma/a: 1500m}}}
    found "1500m"; write a whole number of rdma/a
resources-suffix | profiles: {a: {resources: {rdma/a: 1K}}}
    found "1K"; write a number with an optional suffix
resources-bool | profiles: {a: {resources: {rdma/a: on}}}
    found on, which YAML reads as a boolean; write a number with an optional suffix
resources-null | profiles: {a: {resources: {rdma/a: }}}
    found nothing; write a number with an optional suffix
resources-space | profiles: {a: {resources: {rdma/a: ' 1'}}}
    found " 1"; write the quantity without spaces
hugepages-part | profiles: {a: {resources: {hugepages-2Mi: 3Mi}}}
    profiles.a.resources.hugepages-2Mi: found "3Mi"; write a multiple of the page size, 2Mi
hugepages-size | profiles: {a: {resources: {hugepages-big: 1}}}
    write hugepages- and the size of a page
hugepages-zero | profiles: {a: {resources: {hugepages-0: 0}}}
    write hugepages- and the size of a page
amount-beyond | profiles: {a: {resources: {a.b/c: 9223372036854776}}}
    resources[a.b/c]: found "9223372036854776"; write at most 9223372036854775
amount-exponent | profiles: {a: {resources: {a.b/c: 1e400}}}
    found "1e400"; write at most 9223372036854775
size-beyond | profiles: {a: {sharedMemory: {sizeLimit: 1e400}}}
    found "1e400"; write at most 8Ei, or none
size-milli | profiles: {a: {sharedMemory: {sizeLimit: 512m}}}
    profiles.a.sharedMemory.sizeLimit: found "512m"; write a whole number of bytes above 0, such as 16Gi, or none (the suffix m means thousandths; M and Mi mean mega)
size-zero | profiles: {a: {sharedMemory: {sizeLimit: 0}}}
    found "0"; write a whole number of bytes above 0
size-unit | profiles: {a: {sharedMemory: {sizeLimit: 16GB}}}
    found "16GB"; write a number with an optional suffix
timeout-number | profiles: {a: {rendezvous: {timeout: 30}}}
    profiles.a.rendezvous.timeout: found 30, which YAML reads as a number; write a duration with its unit
timeout-clock | profiles: {a: {rendezvous: {timeout: 1:30}}}
    found "1:30"; write a duration of whole seconds
timeout-bool | profiles: {a: {rendezvous: {timeout: off}}}
    found off, which YAML reads as a boolean
timeout-short | profiles: {a: {rendezvous: {timeout: 500ms}}}
    write a duration of whole seconds, 1s or more
timeout-fraction | profiles: {a: {rendezvous: {timeout: 1.5s}}}
    write a duration of whole seconds
timeout-negative | profiles: {a: {rendezvous: {timeout: -1m}}}
    write a duration of whole seconds
timeout-unit | profiles: {a: {rendezvous: {timeout: 1d}}}
    found "1d"; write a duration
timeout-no-digit | profiles: {a: {rendezvous: {timeout: .m}}}
    found ".m"; write a duration
timeout-huge | profiles: {a: {rendezvous: {timeout: 9999999h}}}
    found "9999999h"; write a duration
""")


@pytest.mark.parametrize(("text", "message"), GRAMMAR_FAULTS.values(), ids=GRAMMAR_FAULTS)
def test_says_what_is_wrong_and_what_is_allowed(text: str, message: str) -> None:
    assert_says(text, message)
