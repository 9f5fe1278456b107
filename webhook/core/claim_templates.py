"""Write the ResourceClaimTemplate of a profile's claim, and know one again.

Its name carries a digest of its content. So a changed profile makes another template, and pods keep
the one that they name. The content is that of resource.k8s.io/v1.
Source: k8s.io/api resource/v1 types.go.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import Profile, ProfileClaim

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "fabric-injector"
PREFIX = "fabric-injector-"
"""Beginning of the templates' names, also in policy fabric-injector-claim-templates."""
_POD_CLAIM = "fabric-"
"""Beginning of the names that the claims have in a pod."""
CLAIMS_UNSERVED = "the cluster does not serve resource.k8s.io/v1, as Kubernetes 1.34 does"
CLAIMS_OF_A_FILE = (
    "the profile is one of a file, and the controller keeps ResourceClaimTemplates of "
    "FabricProfile objects only"
)
_DIGEST = 16
_NAME = re.compile(rf"{PREFIX}[-a-z0-9]+-[0-9a-f]{{{_DIGEST}}}")


def name_in_pod(claim: ProfileClaim) -> str:
    """Return the name of the claim in a pod, ``fabric-nic``."""
    return _POD_CLAIM + claim.name


@lru_cache(256)
def template_name(claim: ProfileClaim) -> str:
    """Return the name of the claim's template: the one that the profile names, or that we keep.

    As ``fabric-injector-nic-0123456789abcdef``.
    """
    if claim.resource_claim_template_name:
        return claim.resource_claim_template_name
    text = json.dumps(template_spec(claim), sort_keys=True, separators=(",", ":"))
    return f"{PREFIX}{claim.name}-{sha256(text.encode()).hexdigest()[:_DIGEST]}"


def is_template_name(name: object) -> bool:
    """Tell whether *name* is one that a template of ours may have."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_ours(pod_claim: Object, claims: Iterable[ProfileClaim] = ()) -> bool:
    """Tell whether an entry of a pod's ``spec.resourceClaims`` is one that the webhook has added.

    It is of a template that the controller keeps, or of one of *claims*.
    """
    name, template = pod_claim.get("name"), pod_claim.get("resourceClaimTemplateName")
    is_kept = str(name).startswith(_POD_CLAIM) and is_template_name(template)
    given = [(name_in_pod(each), template_name(each)) for each in claims]
    return is_kept or (name, template) in given


def template_spec(claim: ProfileClaim) -> Object:
    """Return the template's ``spec``, with the defaults that the API server would fill in."""
    devices: Object = {"requests": []}
    for request in claim.requests:
        mode = request.allocation_mode
        exactly: Object = {"deviceClassName": request.device_class_name, "allocationMode": mode}
        if mode == "ExactCount":
            exactly["count"] = request.count or 1
        if request.selectors:
            exactly["selectors"] = [{"cel": {"expression": each}} for each in request.selectors]
        devices["requests"].append({"name": request.name, "exactly": exactly})
    if claim.constraints:
        devices["constraints"] = [
            {"matchAttribute": each.match_attribute, **_requests(each.requests)}
            for each in claim.constraints
        ]
    if claim.config:
        devices["config"] = []
        for each in claim.config:
            opaque = {"driver": each.driver, "parameters": json.loads(each.parameters)}
            devices["config"].append({"opaque": opaque, **_requests(each.requests)})
    return {"spec": {"devices": devices}}


def _requests(requests: tuple[str, ...]) -> Object:
    return {"requests": list(requests)} if requests else {}


def make_template(namespace: str, claim: ProfileClaim) -> Object:
    """Return the template as the object that is applied, without its apiVersion."""
    labels = {MANAGED_BY: MANAGER, names.CLAIM: claim.name}
    metadata = {"namespace": namespace, "name": template_name(claim), "labels": labels}
    return {"kind": "ResourceClaimTemplate", "metadata": metadata, "spec": template_spec(claim)}


def wanted_templates(
    profiles: Iterable[Profile], namespaces: Mapping[str, str], named: Collection[tuple[str, str]]
) -> dict[tuple[str, str], ProfileClaim]:
    """Return the claims whose templates are to be there, by namespace and name of the template.

    *namespaces*: the profile that each labelled namespace names. *named*: what pods name. They are
    not trusted: one is made where a profile that gives it is for their namespace.
    """
    found: dict[tuple[str, str], ProfileClaim] = {}
    for profile in profiles:
        users = [space for space, name in namespaces.items() if name == profile.name]
        for claim in profile.kept_claims:
            name = template_name(claim)
            spaces = {*users, *(space for space, each in named if each == name)}
            found |= {(space, name): claim for space in spaces if profile.is_for(space)}
    return found
