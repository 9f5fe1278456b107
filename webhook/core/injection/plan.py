"""Hold what was decided about a pod, so that each step only has to carry it out."""

from __future__ import annotations

from typing import NamedTuple

from webhook.core.model import Decision, MasterAddress, Namespace
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod


class Plan(NamedTuple):
    """Hold the decisions that all steps of one pod share.

    *container*: index of the training container in ``spec.containers``. *networks*: the resulting value of the networks annotation,
    ``None`` where it stays as it is. *attachments*: of the resulting annotations, in Multus' order; empty with hostNetwork.
    *rendezvous*: the attachment whose address counts: the profile's rendezvous network, else its first network with IPAM (with no
    networks in the profile: the first attachment with IPAM). *member* is None for a pod of no known system. *meets* is the member's
    rendezvous where it is moved to the secondary network, else None and *stays* says why. *local_address_everywhere*: c10d would
    order the ranks differently unless every member gives its own address.
    """

    profile: Profile
    namespace: Namespace
    pod_name: str
    container: int
    container_name: str
    host_network: bool = False
    networks: str | None = None
    attachments: tuple[Attachment, ...] = ()
    rendezvous: Attachment | None = None
    member: TrainingPod | None = None
    meets: Rendezvous | None = None
    stays: Decision | None = None
    local_address_everywhere: bool = False
    master: MasterAddress | None = None

    @property
    def fabric_resources(self) -> list[str]:
        """Return the devices that the profile and the attachments ask for, each once."""
        named = [resource for attachment in self.attachments for resource, count in attachment.resources if count]
        return list(dict.fromkeys([*named, *(resource for resource in self.profile.resources if "/" in resource)]))
