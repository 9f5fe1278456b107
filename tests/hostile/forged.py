"""Forge pods: our names where a user may put them too, names twice, variables in circles."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from tests.hostile import SPACES
from tests.tables import read
from webhook.core import names
from webhook.core.model import Object

_VOLUMES = (names.WAIT_VOLUME, names.NCCL_CONF_VOLUME, names.SHM_VOLUME, f"{names.SHM_VOLUME}-2")
_PATHS = (
    names.WAIT_MOUNT_PATH,
    names.NCCL_CONF_PATH,
    names.NCCL_CONF_WRITE_PATH,
    names.SHM_MOUNT_PATH,
    "/etc",
    "/data",
    "/var/run/secrets/kubernetes.io/serviceaccount",
)
_VARIABLES = (
    names.ENV_MASTER_NAME,
    names.ENV_NCCL_CONF,
    names.ENV_NCCL_SOCKET_IFNAME,
    names.ENV_GLOO_SOCKET_IFNAME,
    names.ENV_NCCL_CONF_FILE,
    names.ENV_NCCL_IB_DISABLE,
    *("MASTER_ADDR", "MASTER_PORT", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT", "PET_RDZV_CONF"),
    *("PET_LOCAL_ADDR", "PET_NNODES", "LEADER", "NCCL_DEBUG"),
)
_ANNOTATIONS = (
    *names.OWN_ANNOTATIONS,
    names.NETWORKS,
    names.CONTAINER,
    names.ISTIO_EXCLUDE_INTERFACES,
)
_TABLES = read(__file__, "forged.yaml")


def forged(pod: Object, random: Random, changes: int = 1) -> Object:
    """Return a copy of *pod* with so many forgeries, fewer where one finds no place for itself."""
    changed = copy.deepcopy(pod)
    for _ in range(changes):
        random.choice(_FORGERIES)(changed, random)
    return changed


def _containers(pod: Object) -> list[Object]:
    spec = pod.get("spec") or {}
    return [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]


def _lists(pod: Object) -> list[list[Any]]:
    """Return the lists of named things."""
    spec = pod.get("spec") or {}
    found = [spec.get(key) for key in ("containers", "initContainers", "volumes")]
    found += [
        container.get(key) for container in _containers(pod) for key in ("env", "volumeMounts")
    ]
    return [each for each in found if each]


def _held(holder: Object, key: str, empty: Any) -> Any:
    """Return what stands there; *empty*, which is put there, where nothing does."""
    if not holder.get(key):
        holder[key] = empty
    return holder[key]


def _put(items: list[Any], item: Any, random: Random) -> None:
    items.insert(random.choice((0, len(items), random.randint(0, len(items)))), item)


def _repeat(pod: Object, random: Random) -> None:
    """Put one of the named things twice, at another place."""
    if lists := _lists(pod):
        items = random.choice(lists)
        _put(items, copy.deepcopy(random.choice(items)), random)


def _rename(pod: Object, random: Random) -> None:
    """Give one of the named things the name of another one, or one of ours."""
    if lists := _lists(pod):
        items = random.choice(lists)
        others = [item["name"] for item in items]
        random.choice(items)["name"] = random.choice(
            [*others, *_VOLUMES, *_VARIABLES, names.WAIT_CONTAINER]
        )


def _exchange(pod: Object, random: Random) -> None:
    """Give one of the named things the content of another one."""
    if lists := _lists(pod):
        items = random.choice(lists)
        place = random.randrange(len(items))
        items[place] = {**copy.deepcopy(random.choice(items)), "name": items[place]["name"]}


def _add_volume(pod: Object, random: Random) -> None:
    volume = {"name": random.choice(_VOLUMES), **copy.deepcopy(random.choice(_TABLES["sources"]))}
    _put(_held(pod.setdefault("spec", {}), "volumes", []), volume, random)


def _add_mount(pod: Object, random: Random) -> None:
    if found := _containers(pod):
        volumes = [each["name"] for each in (pod["spec"].get("volumes") or ())]
        mount = {"name": random.choice([*_VOLUMES, *volumes]), "mountPath": random.choice(_PATHS)}
        _put(_held(random.choice(found), "volumeMounts", []), mount, random)


def _value(pod: Object, random: Random) -> Object:
    entries = [entry for container in _containers(pod) for entry in container.get("env") or ()]
    name = random.choice([*_VARIABLES, *(entry["name"] for entry in entries)])
    literal = random.choice(_TABLES["values"])
    values = ["", literal, f"$({name})", f"$$({name})", f"$({name}):29500"]
    values += [f"{literal}.$({name})", f"{literal}:29500"]
    values += [entry["value"] for entry in entries if entry.get("value")]
    paths = [f"metadata.annotations['{key}']" for key in _ANNOTATIONS]
    paths += ["metadata.name", "status.podIP", "metadata.labels['example.com/a']"]
    return random.choice(
        [
            *[{"value": random.choice(values)}] * 3,
            {"valueFrom": {"fieldRef": {"fieldPath": random.choice(paths)}}},
            {"valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}},
            {"valueFrom": {}},
            {"valueFrom": None, "value": None},
            {},
        ]
    )


def _add_variable(pod: Object, random: Random) -> None:
    if found := _containers(pod):
        entry = {"name": random.choice(_VARIABLES), **_value(pod, random)}
        _put(_held(random.choice(found), "env", []), entry, random)


def _change_variable(pod: Object, random: Random) -> None:
    if entries := [entry for container in _containers(pod) for entry in container.get("env") or ()]:
        entry = random.choice(entries)
        changed = {"name": entry["name"], **_value(pod, random)}
        entry.clear()
        entry.update(changed)


def _add_container(pod: Object, random: Random) -> None:
    spec = pod.setdefault("spec", {})
    there = _containers(pod)
    name = random.choice(
        (names.WAIT_CONTAINER, names.ISTIO_PROXY_CONTAINER, names.ISTIO_INIT_CONTAINER, "side", "")
    )
    more = copy.deepcopy(random.choice([*_TABLES["parts"], *there[:1]]))
    kind = random.choice(("containers", "initContainers", "initContainers"))
    _put(_held(spec, kind, []), {**more, "name": name, "image": "a"}, random)


def _change_command(pod: Object, random: Random) -> None:
    if found := _containers(pod):
        container = random.choice(found)
        container[random.choice(("command", "args"))] = [*random.choice(_TABLES["commands"])]


def _add_annotation(pod: Object, random: Random) -> None:
    named = [container["name"] for container in _containers(pod) if container.get("name")]
    metadata = pod.setdefault("metadata", {})
    annotations = _held(metadata, "annotations", {})
    annotations[random.choice(_ANNOTATIONS)] = random.choice((*_TABLES["marks"], *named))


def _add_label(pod: Object, random: Random) -> None:
    key = random.choice(
        (names.JOB, names.RENDEZVOUS, names.PROFILE, names.ISTIO_INJECT, names.ISTIO_REVISION)
    )
    labels = _held(pod.setdefault("metadata", {}), "labels", {})
    labels[key] = random.choice((*SPACES, "master", "worker", "true", "none"))


def _change_spec(pod: Object, random: Random) -> None:
    pod.setdefault("spec", {}).update(copy.deepcopy(random.choice(_TABLES["specs"])))


def _change_devices(pod: Object, random: Random) -> None:
    if found := _containers(pod):
        held = random.choice(found).setdefault("resources", {})
        if held is not None:
            amounts = _held(held, random.choice(("limits", "requests")), {})
            amounts[random.choice(_TABLES["resources"])] = random.choice(_TABLES["amounts"])


_FORGERIES: tuple[Callable[[Object, Random], None], ...] = (
    _repeat,
    _rename,
    _exchange,
    _add_volume,
    _add_mount,
    _add_variable,
    _add_variable,
    _change_variable,
    _change_variable,
    _add_container,
    _change_command,
    _add_annotation,
    _add_label,
    _change_spec,
    _change_devices,
)
