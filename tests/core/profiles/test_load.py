"""What is read of a profile, and how the first fault is told: in the object, and with its line in a file."""

import pytest
import yaml

from webhook.core.errors import ProfilesError
from webhook.core.model import Object
from webhook.core.profiles import parse_profiles, read_profile
from webhook.core.profiles.load import parse_configuration
from webhook.core.profiles.template import CLOSED_LIST
from webhook.core.yaml_reader import read_documents
from webhook.presets import Preset, read_presets
from webhook.validate.definition import object_schema

FAULTS = r"""
{networks: [{count: 1}]}
    spec.networks[0].network: is missing; write network: and its value
{networks: [{network: }]}
    spec.networks[0].network: is missing; write network: and its value
{networks: [{network: a/b/c}]}
    spec.networks[0].network: found "a/b/c"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: /c}]}
    spec.networks[0].network: found "/c"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a.b/c}]}
    spec.networks[0].network: found "a.b/c"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a/Rail}]}
    spec.networks[0].network: found "a/Rail"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: rail_0}]}
    spec.networks[0].network: found "rail_0"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: ""}]}
    spec.networks[0].network: found ""; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: 'a,b'}]}
    spec.networks[0].network: found "a,b"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a@b@c}]}
    spec.networks[0].network: found "a@b@c"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a@}]}
    spec.networks[0].network: found "a@"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a@abcdefghijklmnop}]}
    spec.networks[0].network: found "a@abcdefghijklmnop"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a@my_if}]}
    spec.networks[0].network: found "a@my_if"; write [namespace/]name[@interface]; an interface has 1 to 15 of a-z, 0-9, '-'
{networks: [{network: a@eth0}]}
    spec.networks[0].network: found "a@eth0"; every pod already has this interface; write another: rail0
{networks: [{network: 8}]}
    spec.networks[0].network: found a number; write a string in quotes
{networks: default/rail}
    spec.networks: found a string; write a list
{networks: [{network: a, resource: hostdev}]}
    spec.networks[0].resource: found "hostdev"; "hostdev" has no domain; write domain/name, such as rdma/rdma_shared_device_a
{networks: [{network: a, resource: 'rdma/a,'}]}
    spec.networks[0].resource: found "rdma/a,"; "" has no domain; write domain/name, such as rdma/rdma_shared_device_a
{networks: [{network: a, resource: 'r/a, r/a'}]}
    spec.networks[0].resource: found "r/a, r/a"; write r/a once, with count: 2
{networks: [{network: a, resource: [rdma/a]}]}
    spec.networks[0].resource: found a list; write a string in quotes
{networks: [{network: a, count: -1}]}
    spec.networks[0].count: write an integer >= 0
{networks: [{network: a, count: 9223372036854776}]}
    spec.networks[0].count: write an integer <= 9223372036854775
{networks: [{network: a, count: yes}]}
    spec.networks[0].count: found true or false; write an integer
{networks: [{network: a, count: '2'}]}
    spec.networks[0].count: found a string; write an integer
{networks: [{network: a, count: 1.5}]}
    spec.networks[0].count: found a number; write an integer
{container: {resources: {limits: {cpu: 4}}}}
    spec.container.resources.limits.cpu: found "cpu"; write a device, domain/name, or huge pages; cpu and memory belong to the job
{container: {resources: {limits: {gpu: 4}}}}
    spec.container.resources.limits.gpu: found "gpu"; write a device, domain/name, or huge pages; cpu and memory belong to the job
{container: {resources: {limits: {kubernetes.io/a: 4}}}}
    spec.container.resources.limits[kubernetes.io/a]: found "kubernetes.io/a"; the name is in kubernetes.io/, which Kubernetes keeps for itself
{container: {resources: {limits: {rdma/a: -1}}}}
    spec.container.resources.limits[rdma/a]: found "-1"; write a whole number of rdma/a from 0 to 9223372036854775
{container: {resources: {limits: {rdma/a: 1500m}}}}
    spec.container.resources.limits[rdma/a]: found "1500m"; write a whole number of rdma/a from 0 to 9223372036854775
{container: {resources: {limits: {rdma/a: 1K}}}}
    spec.container.resources.limits[rdma/a]: found "1K"; write a number with an optional suffix, such as 1, 8 or 16Gi
{container: {resources: {limits: {rdma/a: on}}}}
    spec.container.resources.limits: a key or a value of it: found true or false; write a number, with a suffix or without
{container: {resources: {limits: {rdma/a: ' 1'}}}}
    spec.container.resources.limits[rdma/a]: found " 1"; write the quantity without spaces
{container: {resources: {limits: {hugepages-2Mi: 3Mi}}}}
    spec.container.resources.limits.hugepages-2Mi: found "3Mi"; write a multiple of the page size, 2Mi
{container: {resources: {limits: {hugepages-big: 1}}}}
    spec.container.resources.limits.hugepages-big: found "hugepages-big"; write hugepages- and the size of a page, such as hugepages-2Mi
{container: {resources: {limits: {hugepages-0: 0}}}}
    spec.container.resources.limits.hugepages-0: found "hugepages-0"; write hugepages- and the size of a page, such as hugepages-2Mi
{container: {resources: {limits: {a.b/c: 9223372036854776}}}}
    spec.container.resources.limits[a.b/c]: found "9223372036854776"; write a whole number of a.b/c from 0 to 9223372036854775
{container: {resources: {limits: {a.b/c: 1e400}}}}
    spec.container.resources.limits[a.b/c]: found "1e400"; write a whole number of a.b/c from 0 to 9223372036854775
{sharedMemory: {sizeLimit: 1e400}}
    spec.sharedMemory.sizeLimit: found "1e400"; write a whole number of bytes up to 8Ei, such as 16Gi, or none
{sharedMemory: {sizeLimit: 512m}}
    spec.sharedMemory.sizeLimit: found "512m"; write a whole number of bytes up to 8Ei, such as 16Gi, or none
{sharedMemory: {sizeLimit: 0}}
    spec.sharedMemory.sizeLimit: found "0"; write a whole number of bytes up to 8Ei, such as 16Gi, or none
{sharedMemory: {sizeLimit: 16GB}}
    spec.sharedMemory.sizeLimit: found "16GB"; write a number with an optional suffix, such as 1, 8 or 16Gi
{rendezvous: {timeout: 30}}
    spec.rendezvous.timeout: found a number; write a string in quotes
{rendezvous: {timeout: 1:30}}
    spec.rendezvous.timeout: found "1:30"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{rendezvous: {timeout: off}}
    spec.rendezvous.timeout: found a boolean; write a string in quotes
{rendezvous: {timeout: 500ms}}
    spec.rendezvous.timeout: found "500ms"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{rendezvous: {timeout: 1.5s}}
    spec.rendezvous.timeout: found "1.5s"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{rendezvous: {timeout: -1m}}
    spec.rendezvous.timeout: found "-1m"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{rendezvous: {timeout: 1d}}
    spec.rendezvous.timeout: found "1d"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{rendezvous: {timeout: .m}}
    spec.rendezvous.timeout: found ".m"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{rendezvous: {timeout: 9999999h}}
    spec.rendezvous.timeout: found "9999999h"; write whole seconds, 1s or more, such as 90s, 30m or 1h30m
{container: {envs: []}}
    spec.container.envs: is not a field; did you mean env?
{container: trainer}
    spec.container: found a string; write an object of fields
{container: {name: trainer}}
    spec.container.name: is not a field; the fields here are env, envFrom, resources, securityContext, volumeMounts
{container: {resources: {requests: {a.b/c: 1}}}}
    spec.container.resources.requests: is not a field; the fields here are limits
{container: {env: {A: b}}}
    spec.container.env: found an object of fields; write a list
{container: {env: [{name: A, value: 1}]}}
    spec.container.env[0].value: found an integer; write a string
{container: {env: [{value: a}]}}
    spec.container.env[0].name: is missing; write name: and its value
{container: {env: [{name: A}, {name: A}]}}
    spec.container.env[1]: is the same as env[0]; keep one of the two
{container: {env: [{name: FABRIC_INJECTOR_JOB, value: a}]}}
    spec.container.env[0].name: found FABRIC_INJECTOR_JOB; names that start with FABRIC_INJECTOR_ are reserved; write another
{container: {volumeMounts: [{name: a}]}}
    spec.container.volumeMounts[0].mountPath: is missing; write mountPath: and its value
{container: {volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /a/}]}}
    spec.container.volumeMounts[1]: is the same as volumeMounts[0]; keep one of the two
{container: {envFrom: [a]}}
    spec.container.envFrom[0]: found a string; write an object of fields
{container: {securityContext: {privileged: 1}}}
    spec.container.securityContext.privileged: found an integer; write true or false
{pod: {spec: {hostNetwork: true}}}
    spec.pod.spec.hostNetwork: is not a field; the fields here are affinity, dnsConfig, imagePullSecrets, initContainers, nodeSelector, runtimeClassName, securityContext, tolerations, topologySpreadConstraints, volumes
{pod: {spec: {containers: []}}}
    spec.pod.spec.containers: is not a field; did you mean initContainers?
{pod: {metadata: {name: a}}}
    spec.pod.metadata.name: is not a field; the fields here are annotations, labels
{pod: {metadata: {labels: {fabric-injector.io/profile: a}}}}
    spec.pod.metadata.labels[fabric-injector.io/profile]: fabric-injector.io/ is reserved; write another key
{pod: {metadata: {annotations: {k8s.v1.cni.cncf.io/networks: a}}}}
    spec.pod.metadata.annotations[k8s.v1.cni.cncf.io/networks]: the profile's networks are merged into it; write them under networks
{pod: {metadata: {annotations: {networking.gke.io/pod-ips: a}}}}
    spec.pod.metadata.annotations[networking.gke.io/pod-ips]: only GKE writes it; leave it out
{pod: {metadata: {annotations: {a: 1}}}}
    spec.pod.metadata.annotations: a key or a value of it: found an integer; write a string
{pod: {spec: {volumes: [{emptyDir: {}}]}}}
    spec.pod.spec.volumes[0].name: is missing; write name: and its value
{pod: {spec: {volumes: [{name: a}, {name: a}]}}}
    spec.pod.spec.volumes[1]: is the same as volumes[0]; keep one of the two
{pod: {spec: {volumes: [{name: fabric-injector-shm}]}}}
    spec.pod.spec.volumes[0].name: found fabric-injector-shm; names that start with fabric-injector are reserved; write another
{pod: {spec: {volumes: [a]}}}
    spec.pod.spec.volumes[0]: found a string; write an object of fields
{pod: {spec: {initContainers: [{name: a}]}}}
    spec.pod.spec.initContainers[0].image: is missing; write image: and its value
{pod: {spec: {initContainers: [{name: fabric-injector-wait, image: a}]}}}
    spec.pod.spec.initContainers[0].name: found fabric-injector-wait; names that start with fabric-injector are reserved; write another
{pod: {spec: {initContainers: [{name: a, image: a, volumeMounts: [{mountPath: /a}]}]}}}
    spec.pod.spec.initContainers[0].volumeMounts[0].name: is missing; write name: and its value
{pod: {spec: {tolerations: [{key: a}, {key: a, operator: Equal}]}}}
    spec.pod.spec.tolerations[1]: is the same as tolerations[0]; keep one of the two
{pod: {spec: {topologySpreadConstraints: [{topologyKey: a}]}}}
    spec.pod.spec.topologySpreadConstraints[0].whenUnsatisfiable: is missing; write whenUnsatisfiable: and its value
{pod: {spec: {nodeSelector: [a]}}}
    spec.pod.spec.nodeSelector: found a list; write an object of fields
{pod: {spec: {runtimeClassName: 1}}}
    spec.pod.spec.runtimeClassName: found an integer; write a string
{tolerations: []}
    spec.tolerations: is not a field; write it as pod.spec.tolerations
{networks: [{netwrk: a}]}
    spec.networks[0].netwrk: is not a field; did you mean network?
{ipcLock: 1}
    spec.ipcLock: found an integer; write true or false
{podSecurity: Skip}
    spec.podSecurity: found "Skip"; write one of deny, skip, ignore; did you mean skip?
{allowedNamespaces: research}
    spec.allowedNamespaces: found "research"; write one of all, [namespace, …]
{allowedNamespaces: [1]}
    spec.allowedNamespaces[0]: found an integer; write a string
{podLabels: {a: b, c: 1}}
    spec.podLabels: a key or a value of it: found an integer; write a string
{accelerators: 0}
    spec.accelerators: write an integer >= 1
{claims: [{name: a, requests: []}]}
    spec.claims[0].requests: write a list of length >= 1
{claims: [{name: a, requests: [{name: r}]}]}
    spec.claims[0].requests[0].deviceClassName: is missing; write deviceClassName: and its value
{claims: [{name: a, requests: [{name: r, deviceClassName: c}], config: [{driver: d, parameters: 1}]}]}
    spec.claims[0].config[0].parameters: found a number; write an object
{quantities: [{resource: a/b, byNodeType: {a: -1}}]}
    spec.quantities[0].byNodeType: a key or a value of it: write an integer >= 0
{rendezvous: {waitImage: instaled}}
    spec.rendezvous.waitImage: found "instaled"; did you mean installed? Else write docker.io/library/instaled
{rendezvous: {waitImage: 'a b'}}
    spec.rendezvous.waitImage: found "a b"; write an image such as busybox:1.37, installed, or none
{deviceVariables: [NCCL_IB_HCAS]}
    spec.deviceVariables[0]: found "NCCL_IB_HCAS"; write one of NCCL_IB_HCA, UCX_NET_DEVICES; did you mean NCCL_IB_HCA?
{name: a}
    spec.name: is not a field; the fields here are pods, podLabels, accelerators, networks, quantities, claims, existingDevices, ipcLock, podSecurity, sharedMemory, deviceVariables, ncclConf, trainingContainer, container, pod, rendezvous, allowedNamespaces
[a]
    spec: found a list; write an object of fields
"""


def rows(table: str) -> list[tuple[str, str]]:
    """Read a table: a spec, and below it what is told of it."""
    lines = table.strip().splitlines()
    return [(spec, told.strip()) for spec, told in zip(lines[::2], lines[1::2], strict=True)]


@pytest.mark.parametrize(("spec", "told"), rows(FAULTS))
def test_tells_what_is_wrong_and_what_is_allowed(spec: str, told: str) -> None:
    with pytest.raises(ProfilesError) as raised:
        read_profile("a", read_documents(f"spec: {spec}")[0].value["spec"])
    [problem] = raised.value.problems
    assert f"{problem.path}: {problem.message}" == f"FabricProfile a: {told}"
    assert str(problem).isprintable()


FILES = r"""
a
    line 1: document: found a string; write an object with apiVersion and kind
{kind: ConfigMap}
    line 1: kind: found "ConfigMap"; write one of FabricProfile, Configuration
{kind: FabricProfile, apiVersion: v1}
    line 1: apiVersion: found "v1"; write fabric-injector.io/v1alpha1
{kind: List, items: [{kind: FabricProfile, apiVersion: fabric-injector.io/v1alpha1, metadata: {name: A}}]}
    line 1: FabricProfile A: metadata.name: found "A"; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev
{kind: FabricProfile, apiVersion: fabric-injector.io/v1alpha1, metadata: {name: none}, spec: {}}
    line 1: FabricProfile none: metadata.name: the label fabric-injector.io/profile: none leaves a pod alone; write another name
{kind: FabricProfile, apiVersion: fabric-injector.io/v1alpha1, metadata: {name: a}}
    line 1: FabricProfile a: spec: is missing; write spec: and its fields, or spec: {}
{kind: FabricProfile, apiVersion: fabric-injector.io/v1alpha1, metadata: {name: a}, specs: {}}
    line 1: FabricProfile a: specs: is not a field; did you mean spec?
{kind: Configuration, apiVersion: config.fabric-injector.io/v1alpha1, allowed: {}}
    line 1: allowed: is not a field; the fields here are apiVersion, kind, metadata, multus
{kind: Configuration, apiVersion: config.fabric-injector.io/v1alpha1, multus: {namespaceIsolatin: true}}
    line 1: multus.namespaceIsolatin: is not a field; did you mean namespaceIsolation?
"""


@pytest.mark.parametrize(("text", "told"), rows(FILES))
def test_tells_the_line_of_a_fault_in_a_file(text: str, told: str) -> None:
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(text)
    assert str(raised.value) == told


def test_a_line_is_that_of_the_value_or_key_in_its_document() -> None:
    fine = read_presets()[0].text
    wrong = "\n---\n" + fine.replace("value: SYS", "value: 8").replace("name: aks", "name: bks")
    with pytest.raises(ProfilesError) as raised:
        parse_profiles(fine + wrong)
    line = (fine + wrong).splitlines().index("      - {name: NCCL_NET_GDR_LEVEL, value: 8}") + 1
    assert raised.value.problems[0].line == line


def test_a_name_and_pod_labels_stand_once() -> None:
    text = read_presets()[0].text
    with pytest.raises(ProfilesError, match="stands at line 1 already"):
        parse_profiles(f"{text}\n---\n{text}")
    item = {"kind": "FabricProfile", "apiVersion": "fabric-injector.io/v1alpha1"}
    items = [{**item, "metadata": {"name": n}, "spec": {"podLabels": {"a": "b"}}} for n in "xy"]
    others = [{**each, "spec": {"podLabels": {"a": str(n)}}} for n, each in enumerate(items)]
    assert list(parse_profiles(yaml.safe_dump_all(others)).profiles) == ["x", "y"]
    with pytest.raises(ProfilesError, match="profile x has the same"):
        parse_profiles(yaml.safe_dump_all(items))


def test_a_configuration_stands_alone_in_its_file() -> None:
    with pytest.raises(ProfilesError, match="to hold one object"):
        parse_configuration(read_presets()[0].text)
    said = "kind: Configuration\napiVersion: config.fabric-injector.io/v1alpha1\n"
    assert parse_configuration(said).multus.global_namespaces == ("default",)
    assert parse_configuration(said + "multus: {defaultNetworks: 2}").multus.default_networks == 2


@pytest.mark.parametrize("preset", read_presets(), ids=lambda preset: preset.name)
def test_a_preset_is_the_same_from_a_file_and_from_an_object(preset: Preset) -> None:
    found = parse_profiles(preset.text).profiles[preset.name]
    assert found == read_profile(preset.name, preset.profile["spec"])
    assert len(found.revision) == 12


def test_what_others_read_of_a_profile_is_what_kubernetes_words_say() -> None:
    [found] = [each for each in read_presets() if each.name == "gke-tcpxo"]
    profile = read_profile("p", found.profile["spec"])
    assert profile.env["NCCL_SOCKET_IFNAME"] == "eth0"
    assert list(profile.mounts) == ["/usr/local/nvidia/lib64", "/dev/aperture_devices"]
    assert list(profile.sidecars) == ["tcpxo-daemon"]
    assert "tcpxo-sys" in profile.volumes
    assert profile.annotations["networking.gke.io/default-interface"] == "eth0"
    spec = {"container": {"resources": {"limits": {"a.b/c": 2}}}, "pod": None}
    assert read_profile("p", spec).resources == {"a.b/c": "2"}


def test_the_definition_takes_the_same_fields() -> None:
    def fields(schema: Object, known: Object) -> Object:
        below = schema["properties"]
        return {key: fields(below[key], known[key]) if known.get(key) else None for key in below}

    parts = object_schema()["properties"]["spec"]["properties"]
    found = {part: fields(parts[part], known) for part, known in CLOSED_LIST.items()}
    assert found == CLOSED_LIST
