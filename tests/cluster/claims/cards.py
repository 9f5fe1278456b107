"""The node's cards: macvlan interfaces that DRANET moves into pods, and their addresses."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.cluster.node.json_server import json_server
from tests.cluster.node.links import Links

COUNT = 8


class Cards(NamedTuple):
    """Interfaces of the machine, whose names begin with *prefix*.

    *addresses* maps each one's name to its own, as CIDR. An interface loses its addresses where it
    moves into a pod or back: DRANET asks the *url* for them, as its webhook for clouds
    (pkg/cloudprovider/webhook).
    """

    prefix: str
    addresses: Mapping[str, str]
    url: str


@contextmanager
def running_cards(links: Links) -> Iterator[Cards]:
    """Make the interfaces on the links' macvlan parent, which removes them, and answer."""
    prefix, network = links.interface("c"), links.fabric.removesuffix(".0/24")
    addresses = {f"{prefix}{n}": f"{network}.{n + 200}/24" for n in range(COUNT)}
    for name in addresses:
        links.add_macvlan(name)

    def answer(path: str, device: Any) -> object:
        if device is None:
            return {"cloudProvider": True, "profileProvider": False}
        address = addresses.get(device["name"])
        known = path == "/GetDeviceConfig" and address
        return {"interface": {"addresses": [address]}} if known else {}

    with json_server(answer) as url:
        yield Cards(prefix, addresses, url)
