"""Every fault of profiles.yaml is told at once, with its path and line, and with what is allowed in its place."""

from __future__ import annotations

import pytest

from tests.core.profiles.texts import assert_says, fault_rows, faults
from webhook.core.errors import ProfilesError
from webhook.core.profiles import parse_profiles

FIELD_FAULTS = {
    **fault_rows(r"""
unknown-top | profile: {}
    profile: is not a field; did you mean profiles?
unknown-far | data: {}
    data: is not a field; the fields here are multus, allowed, profiles
unknown-case | profiles: {a: {ipclock: true}}
    profiles.a.ipclock: is not a field; did you mean ipcLock?
unknown-null | profiles: {a: {foo: }}
    profiles.a.foo: is not a field; the fields here are pods, podLabels, accelerators, networks,
unknown-deep | profiles: {networks: {rendezvous: {ip_family: any}}}
    profiles.networks.rendezvous.ip_family: is not a field; did you mean ipFamily?
unknown-in-list | profiles: {a: {networks: [{network: b, resources: rdma/a}]}}
    profiles.a.networks[0].resources: is not a field; did you mean resource?
name | profiles: {a: {name: b}}
    profiles.a.name: is not a field; the fields here are pods, podLabels,
name-null | profiles: {a: {name: }}
    profiles.a.name: is not a field
network-namespace | profiles: {a: {networks: [{network: b, namespace: c}]}}
    profiles.a.networks[0].namespace: is not a field; the fields here are network, resource, count
profile-none | profiles: {none: {}}
    profiles.none: found "none"; the label fabric-injector.io/profile: none
profile-name | profiles: {a/b: {}}
    profiles[a/b]: found "a/b"; it is a label's value; write 1 to 63
profile-long | profiles: {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: {}}
    it is a label's value; write 1 to 63
profile-empty | profiles: {"": {}}
    profiles[]: found ""; it is a label's value
profile-key | profiles: {on: {}}
    profiles.on: the key is on, which YAML reads as a boolean; write it in quotes: "on"
profile-list | profiles: [a]
    profiles: found a list; write an object
profile-text | profiles: {a: b}
    profiles.a: found "b"; write an object of fields
memory-text | profiles: {a: {sharedMemory: 16Gi}}
    profiles.a.sharedMemory: found "16Gi"; write an object of fields
bool-text | profiles: {a: {ipcLock: 'true'}}
    profiles.a.ipcLock: found "true"; write true or false, without quotes
bool-number | profiles: {a: {ipcLock: 1}}
    found 1, which YAML reads as a number; write true or false
literal | profiles: {a: {podSecurity: Deny}}
    profiles.a.podSecurity: found "Deny"; write one of deny, skip, ignore; did you mean deny?
literal-far | profiles: {a: {pods: some}}
    profiles.a.pods: found "some"; write one of training, all
literal-bool | profiles: {a: {pods: true}}
    found true, which YAML reads as a boolean; write one of
env-number | profiles: {a: {env: {NCCL_DEBUG: 1}}}
    profiles.a.env.NCCL_DEBUG: found 1, which YAML reads as a number; write it in quotes: "1"
env-on | profiles: {a: {env: {X: on}}}
    profiles.a.env.X: found on, which YAML reads as a boolean; write it in quotes: "on"
env-null | profiles: {a: {env: {X: }}}
    profiles.a.env.X: found nothing; write a string in quotes, "" for none
env-list | profiles: {a: {env: [X]}}
    profiles.a.env: found a list; write an object
env-nul | profiles: {a: {env: {X: "\0"}}}
    profiles.a.env.X: found "\u0000"; a variable does not hold NUL
env-name | profiles: {a: {env: {9A: x}}}
    profiles.a.env.9A: found "9A"; write a variable's name
env-key | profiles: {a: {env: {NO: x}}}
    profiles.a.env.NO: the key is NO, which YAML reads as a boolean
env-own | profiles: {a: {env: {FABRIC_INJECTOR_X: x}}}
    are set by the injector itself; write another name
container | profiles: {a: {container: My_C}}
    profiles.a.container: found "My_C"; write 1 to 63 of a-z
selector-key | profiles: {a: {nodeSelector: {a/b/c: x}}}
    profiles.a.nodeSelector[a/b/c]: found "a/b/c"; write a label's key
selector-value | profiles: {a: {nodeSelector: {a: '-'}}}
    profiles.a.nodeSelector.a: found "-"; write a label's value
selector-bool | profiles: {a: {nodeSelector: {a: true}}}
    reads as a boolean; write it in quotes: "true"
settings-list | profiles: {a: {sharedMemory: [1]}}
    profiles.a.sharedMemory: found a list; write an object of fields
image-space | profiles: {a: {rendezvous: {waitImage: a b}}}
    waitImage: found "a b"; write an image reference
image-slip | profiles: {a: {rendezvous: {waitImage: instaled}}}
    waitImage: found "instaled"; did you mean installed? An image of that name is written docker.io/library/instaled
image-empty | profiles: {a: {rendezvous: {waitImage: ''}}}
    waitImage: found ""; write an image reference
rendezvous-network | profiles: {a: {networks: [{network: r/rail-0}, {network: r/rail-1@b}], rendezvous: {network: r/rail-9}}}
    profiles.a.rendezvous.network: found "r/rail-9"; write one of this profile's networks, r/rail-0, r/rail-1; did you mean r/rail-1?
rendezvous-namespace | profiles: {a: {networks: [{network: rail-0}], rendezvous: {network: r/rail-0}}}
    found "r/rail-0"; write one of this profile's networks, rail-0
rendezvous-gke-namespace | profiles: {a: {rendezvous: {addressSource: gke, network: r/rdma-0}}}
    rendezvous.network: found "r/rdma-0"; write the name alone: GKE's networks, addressSource: gke, are in no namespace
address-source | profiles: {a: {rendezvous: {addressSource: gcp}}}
    addressSource: found "gcp"; write one of multus, gke, claim, none
annotation-of-gke | profiles: {a: {annotations: {networking.gke.io/pod-ips: '[]'}}}
    GKE alone writes it; leave it out
rendezvous-interface | profiles: {a: {networks: [{network: rail-0@a}], rendezvous: {network: rail-0@b}}}
    found "rail-0@b"; write one of this profile's networks, rail-0
namespaces-word | profiles: {a: {allowedNamespaces: research}}
    profiles.a.allowedNamespaces: found "research"; write a list of namespaces, such as [research], or the word all
namespaces-item | profiles: {a: {allowedNamespaces: [Foo]}}
    profiles.a.allowedNamespaces[0]: found "Foo"; write 1 to 63
namespaces-mapping | profiles: {a: {allowedNamespaces: {a: b}}}
    allowedNamespaces: found an object; write a list
volume-sources | profiles: {a: {volumes: [{name: x, emptyDir: {}, configMap: {name: y}}]}}
    profiles.a.volumes[0]: found emptyDir and configMap; write one of hostPath, emptyDir, configMap
volume-empty | profiles: {a: {volumes: [{name: x}]}}
    found none of the sources; write one of hostPath
volume-twice | profiles: {a: {volumes: [{name: x, emptyDir: {}}, {name: x, emptyDir: {}}]}}
    profiles.a.volumes[1].name: x is that of volumes[0] already; write another
volume-number | profiles: {a: {volumes: [{name: 1, emptyDir: {}}, {name: 1, emptyDir: {}}]}}
    profiles.a.volumes[0].name: found 1, which YAML reads as a number
volume-ours | profiles: {a: {volumes: [{name: fabric-injector-shm, emptyDir: {}}]}}
    volumes[0].name: found "fabric-injector-shm"; volumes and containers of this name are the injector's own
volume-list | profiles: {a: {volumes: [{name: x, hostPath: [a]}]}}
    hostPath: found a list; write an object
volume-source | profiles: {a: {volumes: [{name: x, hostPath: {path: /a, kind: File}}]}}
    volumes[0].hostPath.kind: is not a field; the fields here are path, type
path-relative | profiles: {a: {volumes: [{name: x, hostPath: {path: dev}}]}}
    hostPath.path: found "dev"; write an absolute path, such as /dev/infiniband
path-up | profiles: {a: {volumes: [{name: x, hostPath: {path: /dev/infiniband/../mem}}]}}
    hostPath.path: found "/dev/infiniband/../mem"; write the path without '..'
path-type | profiles: {a: {volumes: [{name: x, hostPath: {path: /dev, type: directory}}]}}
    hostPath.type: found "directory"; write one of
size-volume | profiles: {a: {volumes: [{name: x, emptyDir: {sizeLimit: big}}]}}
    emptyDir.sizeLimit: found "big"; write a number with an optional suffix
config-map-name | profiles: {a: {volumes: [{name: x, configMap: {name: A}}]}}
    configMap.name: found "A"; write the name of a ConfigMap
mount-root | profiles: {a: {mounts: [{name: x, mountPath: /}]}}
    mounts[0].mountPath: found "/"; write a path below /
mount-colon | profiles: {a: {mounts: [{name: x, mountPath: '/a:b'}]}}
    found "/a:b"; write a path below /
mount-twice | profiles: {a: {mounts: [{name: x, mountPath: /a}, {name: y, mountPath: //a/}]}}
    profiles.a.mounts[1].mountPath: //a/ is that of mounts[0] already; write another
mount-sub-path | profiles: {a: {mounts: [{name: x, mountPath: /a, subPath: ../b}]}}
    subPath: found "../b"; write a relative path without '..'
sidecar-image | profiles: {a: {sidecars: [{name: x, image: 'a/../b'}]}}
    sidecars[0].image: found "a/../b"; write an image reference, such as
sidecar-without-image | profiles: {a: {sidecars: [{name: x}]}}
    sidecars[0].image: is missing; write image:
sidecar-twice | profiles: {a: {sidecars: [{name: x, image: a}, {name: x, image: a}]}}
    profiles.a.sidecars[1].name: x is that of sidecars[0] already; write another
sidecar-wait | profiles: {a: {sidecars: [{name: fabric-injector-wait, image: a}]}}
    containers of this name are the injector's own
sidecar-capability | profiles: {a: {sidecars: [{name: x, image: a, capabilities: [CAP_NET_ADMIN]}]}}
    capabilities[0]: found "CAP_NET_ADMIN"; write the name of a capability in capitals, without CAP_
sidecar-resource | profiles: {a: {sidecars: [{name: x, image: a, resources: {storage: 1}}]}}
    resources.storage: found "storage"; it belongs to the job
sidecar-amount | profiles: {a: {sidecars: [{name: x, image: a, resources: {cpu: '-1'}}]}}
    resources.cpu: found "-1"; write an amount of cpu of 0 or more
sidecar-mounts | profiles: {a: {sidecars: [{name: x, image: a, mounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a/.}]}]}}
    sidecars[0].mounts[1].mountPath: /a/. is that of mounts[0] already
toleration-key | profiles: {a: {tolerations: [{effect: NoExecute}]}}
    tolerations[0]: without key, write operator
toleration-value | profiles: {a: {tolerations: [{key: a, operator: Exists, value: b}]}}
    tolerations[0].value: with operator: Exists, leave value out
toleration-seconds | profiles: {a: {tolerations: [{key: a, tolerationSeconds: 5}]}}
    tolerations[0].tolerationSeconds: with tolerationSeconds, write effect: NoExecute
gke-interfaces-json | profiles: {a: {annotations: {networking.gke.io/interfaces: '[{'}}}
    annotations[networking.gke.io/interfaces]: is no JSON (Expecting property name enclosed in double quotes: line 1 column 3 (char 2)), and GKE would make no pod of the profile; write a list such as [{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"vpc1"}]
gke-interfaces-list | profiles: {a: {annotations: {networking.gke.io/interfaces: '[1]'}}}
    annotations[networking.gke.io/interfaces]: is no JSON list of objects, and GKE would make no pod of the profile; write a list such as [{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"vpc1"}]
gke-interfaces-name | profiles: {a: {annotations: {networking.gke.io/interfaces: '[{"network": "vpc1"}]'}}}
    annotations[networking.gke.io/interfaces]: has an interface without interfaceName, and GKE would make no pod of the profile; write a list such as [{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"vpc1"}]
quantity-way | profiles: {a: {quantities: [{resource: a/b}]}}
    quantities[0]: write perAccelerator, byNodeType, or both
quantity-accelerator | profiles: {a: {quantities: [{resource: nvidia.com/gpu, byNodeType: {p5: 8}}]}}
    quantities[0].resource: nvidia.com/gpu is an accelerator, by which pods are known to train and other devices are counted; leave it out
quantity-resource | profiles: {a: {quantities: [{resource: hugepages-2Mi, perAccelerator: 1}]}}
    quantities[0].resource: found "hugepages-2Mi"; write the extended resource of a device
quantity-beside | profiles: {a: {resources: {a/b: 1}, quantities: [{resource: a/b, perAccelerator: 1}]}}
    quantities[0].resource: a/b stands under resources already; remove one of the two
quantity-type | profiles: {a: {quantities: [{resource: a/b, byNodeType: {'': 1}}]}}
    write a value of the node's label
claim-name | profiles: {a: {claims: [{name: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn, requests: [{name: r, deviceClassName: c}]}]}}
    write at most 40 characters: the name stands in others
claim-without-request | profiles: {a: {claims: [{name: n, requests: []}]}}
    claims[0].requests: found no request; write at least one
claim-request-twice | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c}, {name: r, deviceClassName: d}]}]}}
    claims[0].requests[1].name: r is that of requests[0] already; write another
claim-class | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: Nic}]}]}}
    found "Nic"; write the name of a DeviceClass
claim-count | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c, count: 33}]}]}}
    requests[0].count: found 33; write 32 or less
claim-all | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c, count: 2, allocationMode: All}]}]}}
    requests[0].count: with allocationMode: All, leave count out
claim-expression | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c, selectors: ['  ']}]}]}}
    requests[0].selectors[0]: found "  "; write an expression in CEL
claim-attribute | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c}], constraints: [{matchAttribute: numa}]}]}}
    constraints[0].matchAttribute: found "numa"; write an attribute of devices with its domain
claim-driver | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c}], config: [{driver: D, parameters: {}}]}]}}
    config[0].driver: found "D"; write the name of a DRA driver
claim-parameters | profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c}], config: [{driver: d, parameters: [1]}]}]}}
    config[0].parameters: found a list; write an object
allowed-path | allowed: {hostPaths: [/a/../b]}
    allowed.hostPaths[0]: found "/a/../b"; write the path without
sidecar-limits | profiles: {a: {sidecars: [{name: d, image: a/b, resources: {limits: {cpu: 2}}}]}}
    a.sidecars[0].resources: found "limits"; write cpu: 1 directly, without limits: limits and requests are equal
allowed-path-star | allowed: {hostPaths: [/dev/*]}
    allowed.hostPaths[0]: found "/dev/*"; write /dev/ for all that is below it
allowed-path-all | allowed: {hostPaths: [/*]}
    allowed.hostPaths[0]: found "/*"; write / for all that is below it
allowed-image | allowed: {sidecarImages: ['*']}
    allowed.sidecarImages[0]: found "*"; write an image
allowed-image-tag | allowed: {sidecarImages: ['a/b:1/*']}
    allowed.sidecarImages[0]: found "a/b:1/*"; write an image reference, or the beginning
multus-bool | multus: {namespaceIsolation: 'no'}
    multus.namespaceIsolation: found "no"; write true or false
multus-text | multus: {globalNamespaces: default}
    multus.globalNamespaces: found "default"; write a list
multus-negative | multus: {defaultNetworks: -1}
    multus.defaultNetworks: found -1; write 0 or more
multus-many | multus: {defaultNetworks: 9999999999999999}
    multus.defaultNetworks: found 9999999999999999; write 100 or less
keys-none | multus: {resourceNameKeys: []}
    multus.resourceNameKeys: found a list; write at least one item, or leave the field out
keys-bad | multus: {resourceNameKeys: [a b]}
    multus.resourceNameKeys[0]: found "a b"; write an annotation's key: [domain/]name, such as k8s.v1.cni.cncf.io/resourceName
existing-devices | profiles: {a: {existingDevices: honour}}
    profiles.a.existingDevices: found "honour"; write one of complete, keep, add
pod-label-own | profiles: {a: {podLabels: {fabric-injector.io/profile: b}}}
    podLabels[fabric-injector.io/profile]: found "fabric-injector.io/profile"; labels of fabric-injector.io/ choose
pod-label-key | profiles: {a: {podLabels: {a b: "true"}}}
    write a label's key
pod-label-value | profiles: {a: {podLabels: {a: "b c"}}}
    write a label's value
pod-labels-twice | profiles: {a: {podLabels: {x: "1", y: "2"}}, b: {podLabels: {y: "2", x: "1"}}}
    profiles.b.podLabels: profile a has the same; no pod could choose one of the two
annotation-own | profiles: {a: {annotations: {fabric-injector.io/status: x}}}
    annotations of fabric-injector.io/ are set by the injector itself; write another key
annotation-multus | profiles: {a: {annotations: {k8s.v1.cni.cncf.io/networks: x}}}
    the profile's networks are merged into it; write them under networks
annotation-key | profiles: {a: {annotations: {a b: x}}}
    write an annotation's key
"""),
    "config-map": (
        "apiVersion: v1\nkind: ConfigMap\ndata: {profiles.yaml: ''}",
        'line 2: kind: found "ConfigMap"; give the text that its data holds under profiles.yaml',
    ),
    "path-long": (
        f"profiles: {{a: {{volumes: [{{name: x, hostPath: {{path: /{'a' * 256}}}}}]}}}}",
        "write at most 256 characters",
    ),
    "claim-twice": (
        "profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c}]}, "
        "{name: n, requests: [{name: s, deviceClassName: c}]}]}}",
        "claims[1].name: n is that of claims[0] already; write another",
    ),
    "claim-other-request": (
        "profiles: {a: {claims: [{name: n, requests: [{name: r, deviceClassName: c}], "
        "constraints: [{matchAttribute: a/b, requests: [s]}]}]}}",
        'constraints[0].requests[0]: found "s"; write one of this claim\'s requests, r',
    ),
    "networks-many": (
        f"profiles: {{a: {{networks: [{'{network: a}, ' * 65}]}}}}",
        "profiles.a.networks: found 65 items; write at most 64",
    ),
    "namespaces-many": (
        f"profiles: {{a: {{allowedNamespaces: [{', '.join(f'n{n}' for n in range(1025))}]}}}}",
        "found 1025 namespaces; write at most 1024, or the word all",
    ),
    "env-many": (
        f"profiles: {{a: {{env: {{{', '.join(f'V{n}: x' for n in range(257))}}}}}}}",
        "profiles.a.env: found 257 items; write at most 256",
    ),
    "env-long": (
        f"profiles: {{a: {{env: {{X: {'y' * 32_769}}}}}}}",
        "write at most 32768 characters",
    ),
    "annotation-long": (
        f"profiles: {{a: {{annotations: {{x: {'y' * 262_145}}}}}}}",
        "write at most 262144 bytes",
    ),
}


@pytest.mark.parametrize(("text", "message"), FIELD_FAULTS.values(), ids=FIELD_FAULTS)
def test_says_what_is_wrong_and_what_is_allowed(text: str, message: str) -> None:
    assert_says(text, message)


def test_names_every_fault_at_once_with_its_line() -> None:
    text = """\
multus:
  defaultNetworks: many
profiles:
  none: {}
  first:
    networks:
      - network: default/rail-0
        resource: rail
      - resource: rdma/a
    ipclock: true
    env:
      NCCL_DEBUG: 1
      NCCL_DEBUG: 2
  second:
    networks:
      - network: default/rail-0
    resources:
      rdma/a: 1.5
    rendezvous:
      network: default/rail-1
      timeout: 5
"""
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(text)
    assert [(problem.line, problem.path) for problem in raised.value.problems] == [
        (2, "multus.defaultNetworks"),
        (4, "profiles.none"),
        (8, "profiles.first.networks[0].resource"),
        (9, "profiles.first.networks[1].network"),
        (10, "profiles.first.ipclock"),
        (12, "profiles.first.env.NCCL_DEBUG"),
        (13, "profiles.first.env.NCCL_DEBUG"),
        (18, "profiles.second.resources[rdma/a]"),
        (20, "profiles.second.rendezvous.network"),
        (21, "profiles.second.rendezvous.timeout"),
    ]


def test_shows_the_line_of_a_key_that_is_no_field() -> None:
    assert faults("profiles:\n  a:\n    nets:\n      - x\n")[0].startswith(
        "line 3: profiles.a.nets: is not a field"
    )


def test_says_how_nothing_is_written_only_where_nothing_stands() -> None:
    [told] = faults("profiles: {a: {env: {X: [y]}}}")
    assert told.endswith("profiles.a.env.X: found a list; write a string in quotes")


def test_says_the_same_twice() -> None:
    text = "profiles: {a: {x: 1, y: 2, z: 3, env: {A: 1, B: 2}}}"
    assert faults(text) == faults(text)
