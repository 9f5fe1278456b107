"""Say what a pod's resource claims (DRA) wait for: a template, an allocation, or a driver that is to tell the address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from webhook.core.addresses.claim import read_claim
from webhook.core.claim_templates import is_template_name, template_name
from webhook.core.model import Object
from webhook.core.reconcile.complaint import BOUND_SECONDS
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.networks import BEGUN_SECONDS, SANDBOX, failures_of_pods
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.explain.scheduling import scheduler_messages
from webhook.diagnose.wording import listed


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at live pods that have claims, as far as these could be read."""
    if reading.claims is None:
        return
    said = scheduler_messages(reading.events or ())
    failures = failures_of_pods(reading.events or (), SANDBOX)
    for part in parts:
        entries = (part.pod.get("spec") or {}).get("resourceClaims") or ()
        if not part.is_live or not entries:
            continue
        made = {each.get("name"): each.get("resourceClaimName") for each in _statuses(part)}
        for entry in entries:
            named = entry.get("resourceClaimName") or made.get(entry.get("name"))
            if not part.node:
                scheduled = str(part.condition("PodScheduled").get("message") or "")
                yield from _pending(
                    reading, part, entry, named, scheduled or said.get(part.name, "")
                )
        if part.node and part.name not in failures:
            yield from _address(
                reading,
                part,
                [made.get(each["name"]) or each.get("resourceClaimName") for each in entries],
            )


def _statuses(part: Part) -> Iterable[Object]:
    return (part.pod.get("status") or {}).get("resourceClaimStatuses") or ()


def _pending(
    reading: Reading, part: Part, entry: Object, named: str | None, said: str
) -> Iterator[Observation]:
    """Look at one claim of a pod on no node."""
    pods, name = (part.name,), entry.get("name")
    template = entry.get("resourceClaimTemplateName")
    if named is None:
        if (
            template
            and reading.claim_templates is not None
            and template not in reading.claim_templates
        ):
            message = (
                f"asks by claim {name} for ResourceClaimTemplate {template}, which does not exist"
            )
            action = _template_advice(reading, template)
            yield Observation(
                Stage.SCHEDULING, "fail", Code.CLAIM_TEMPLATE_MISSING, message, action, pods
            )
        return
    claim = (reading.claims or {}).get(named)
    if claim is None:
        message = f"asks by claim {name} for a ResourceClaim that does not exist"
        detail = common_form(named, part.name)
        yield Observation(
            Stage.SCHEDULING, "fail", Code.CLAIM_MISSING, message, pods=pods, detail=detail
        )
    elif not (claim.get("status") or {}).get("allocation"):
        yield from _silent(reading, claim)
        message, detail = (
            f"waits for claim {name}, which is not allocated",
            common_form(said, part.name),
        )
        yield Observation(
            Stage.SCHEDULING, "fail", Code.CLAIM_UNALLOCATED, message, pods=pods, detail=detail
        )


def _template_advice(reading: Reading, template: str) -> str:
    """Say what to do about a template that is not there: one of a profile's claims is made by the controller."""
    if not is_template_name(template):
        return (
            f"create it in namespace {reading.namespace}, or correct the name and restart the job"
        )
    for profile in reading.profiles.profiles.values() if reading.profiles else ():
        if template in map(template_name, profile.claims):
            if said := reading.not_ready.get(profile.name):
                return f"correct FabricProfile {profile.name}, which is not Ready: {said}"
            return f"the controller makes it for profile {profile.name}: look at its log"
    return "no profile gives it any more: restart the job"


def _silent(reading: Reading, claim: Object) -> Iterator[Observation]:
    """Name the DeviceClasses of a claim whose drivers publish nothing."""
    wanted = set(_classes(claim))
    for each in reading.device_offers.classes or ():
        if each.name in wanted and (silent := reading.device_offers.silent_drivers(each)):
            message = f"names {listed(silent, 3)}, of which there is no ResourceSlice"
            yield Observation(
                Stage.SCHEDULING,
                "fail",
                Code.DRIVER_SILENT,
                message,
                subject=f"DeviceClass {each.name}",
            )


def _classes(claim: Object) -> Iterator[str]:
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly") or {}
        for each in (exactly, *(request.get("firstAvailable") or ())):
            if isinstance(each, Mapping):
                yield str(each.get("deviceClassName") or "")


def _address(reading: Reading, part: Part, names: Iterable[str | None]) -> Iterator[Observation]:
    """Look at a pod on its node whose claims are to tell its address, and have told none that can be judged."""
    member, pods = part.member, (part.name,)
    if member is None or not member.has_claims or not member.wanted or member.reported:
        return
    seconds = part.seconds_bound(reading)
    if seconds < (BEGUN_SECONDS if part.has_begun else BOUND_SECONDS):
        message = "has just been bound; its network is being made"
        yield Observation(Stage.SUMMARY, "ok", Code.NETWORK_PENDING, message, pods=pods)
        return
    found = [
        read_claim(claim) for name in names if name and (claim := (reading.claims or {}).get(name))
    ]
    devices = [device for claim in found for device in claim.devices]
    if not devices:
        message = "has no claim whose devices are allocated, though it is on a node"
        yield Observation(Stage.NETWORK, "fail", Code.CLAIM_UNALLOCATED, message, pods=pods)
        return
    drivers = dict.fromkeys(device.driver for device in devices if not device.ips)
    message = f"its claims are allocated, and no address was published for {member.wanted} by driver {listed(drivers, 3)}"
    yield Observation(Stage.NETWORK, "fail", Code.CLAIM_ADDRESS_MISSING, message, pods=pods)
