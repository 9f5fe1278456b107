"""Hold what `decide.py` decided about a pod, so that each step only has to carry it out."""

from dataclasses import dataclass

from webhook.core.addresses import Source, source_named
from webhook.core.model import Decision, Namespace, Object
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod


@dataclass(slots=True)
class Plan:
    """Hold the decisions that all steps of one pod share.

    *container*: index of the training container in ``spec.containers``. *networks*: the resulting
    value of the networks annotation, ``None`` where it stays as it is. *attachments*: of the
    resulting annotations, in Multus' order; empty with hostNetwork. *rendezvous_network*: the
    attachment whose address counts, as the source of addresses chooses it. *other_interfaces*: the
    secondary ones that Multus does not attach. *training_pod* is None for a pod of no known system.
    *rendezvous*: the training pod's, where it is moved to the secondary network; None where not,
    and *why_no_rendezvous* says why. *local_address_everywhere*: c10d would order the ranks
    differently unless every rank gives its own address. *own_image*: this program's image, empty
    where unknown. *chosen_by*: whose word chose the profile. *warnings*: of the decisions
    themselves. *claims_problem*: why no pod gets the claims of its profile.
    """

    profile: Profile
    namespace: Namespace
    pod_name: str
    container: int
    container_name: str
    host_network: bool = False
    networks: str | None = None
    attachments: tuple[Attachment, ...] = ()
    rendezvous_network: Attachment | None = None
    other_interfaces: tuple[str, ...] = ()
    training_pod: TrainingPod | None = None
    rendezvous: Rendezvous | None = None
    why_no_rendezvous: Decision | None = None
    local_address_everywhere: bool = False
    own_image: str = ""
    chosen_by: str = ""
    warnings: tuple[Decision, ...] = ()
    claims_problem: str = ""

    @property
    def system(self) -> str:
        """Return the training system's name; empty for a pod of none."""
        return self.training_pod.system if self.training_pod else ""

    def trainer(self, pod: Object) -> Object:
        """Return the training container of *pod*."""
        own: Object = pod["spec"]["containers"][self.container]
        return own

    def in_trainer(self, *keys: str) -> tuple[str | int, ...]:
        """Return the path of a field of the training container, for a draft."""
        return ("spec", "containers", self.container, *keys)

    @property
    def source(self) -> Source:
        """Return where the profile says that addresses come from."""
        return source_named(self.profile.rendezvous.address_source)

    @property
    def fabric_resources(self) -> list[str]:
        """Return the devices that the profile and the attachments ask for, each once."""
        attached = (device for each in self.attachments for device in each.resources)
        named = [resource for resource, count in attached if count]
        asked = [resource for resource in self.profile.resources if "/" in resource]
        counted = [each.resource for each in self.profile.quantities]
        return list(dict.fromkeys([*named, *asked, *counted]))
