"""Describe what is asked of each source of secondary addresses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.core.model import Object, Reason
from webhook.core.networks import Attachment, ResolvedNetworks
from webhook.core.networks.status import Secondary, Wanted
from webhook.core.profiles import Profile


class Words(NamedTuple):
    """Hold what messages say of a source.

    *look*: where to look for a fault. *asked*: the annotation by which a pod asks for networks.
    *told*: the annotation that holds its addresses, *told_before*: its former key. *writer*: who
    writes that one. *no_interface*: why NCCL and Gloo get no interface. *place*: what holds the
    addresses in place of an annotation.
    """

    look: str
    asked: str = ""
    told: str = ""
    told_before: str = ""
    writer: str = "nobody"
    no_interface: tuple[Reason, str] = (Reason.NO_IPAM, "no network with IPAM is attached")
    place: str = ""

    def read(self, annotations: Mapping[str, str]) -> str:
        """Return the text that tells a pod's addresses; empty where there is none yet."""
        return annotations.get(self.told) or annotations.get(self.told_before) or ""

    @property
    def told_at(self) -> str:
        """Return what holds the addresses, ``annotation k8s.v1.cni.cncf.io/network-status``."""
        return self.place or f"annotation {self.told}"


@dataclass(slots=True)
class Choice:
    """Say at admission which network's address counts.

    Where *network* is None, *reason* and *problem*, a sentence, say why. *interfaces*: those of
    networks that Multus does not attach, which the pod gets besides.
    """

    network: Attachment | None = None
    reason: Reason = Reason.NO_ADDRESS
    problem: str = ""
    interfaces: tuple[str, ...] = ()


class Source(NamedTuple):
    """Hold what is asked of each source; no function of it raises.

    Most find addresses in an annotation of the pod itself. Others, as claims, find them in a text
    of other objects: who reads the cluster brings it to *secondary*. *choose*: choose at admission,
    beside what Multus attaches. *secondary*: find the address of the wanted network in that text;
    ``Secondary()`` where none is.
    """

    words: Words
    choose: Callable[[Object, Profile, ResolvedNetworks], Choice]
    secondary: Callable[[str, Wanted], Secondary]
