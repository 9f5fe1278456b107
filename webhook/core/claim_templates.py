"""Write the ResourceClaimTemplate of a profile's claim, and know one again: its name carries a digest of its content.

So a changed profile makes another template, and pods of the earlier revision keep theirs. The content is that of resource.k8s.io/v1 and
v1beta2, which are the same in these fields. Source: k8s.io/api resource/v1 types.go.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import sha256
from typing import Any

from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles import ProfileClaim

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "fabric-injector"
PREFIX = "fabric-injector-"
"""Beginning of the templates' names. The ValidatingAdmissionPolicy fabric-injector-claim-templates names it too."""
POD_CLAIM = "fabric-"
"""Beginning of the names that the claims have in a pod."""
CLAIMS_UNSERVED = "the cluster serves neither resource.k8s.io/v1 nor v1beta2 (Kubernetes 1.34 serves v1)"
CLAIMS_OF_A_FILE = (
    "the profile is one of a file, and the controller keeps ResourceClaimTemplates of FabricProfile objects alone"
)
_DIGEST = 16
_NAME = re.compile(rf"{PREFIX}[-a-z0-9]+-[0-9a-f]{{{_DIGEST}}}")


def name_in_pod(claim: ProfileClaim) -> str:
    """Return the name of the claim in a pod, ``fabric-nic``."""
    return POD_CLAIM + claim.name


@lru_cache(256)
def template_name(claim: ProfileClaim) -> str:
    """Return the name of the claim's template, ``fabric-injector-nic-0123456789abcdef``."""
    return _name(claim.name, template_spec(claim))


def _name(claim: str, spec: Any) -> str:
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    return f"{PREFIX}{claim}-{sha256(text.encode()).hexdigest()[:_DIGEST]}"


def is_template_name(name: object) -> bool:
    """Tell whether *name* is one that a template of ours may have."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_ours(pod_claim: Object) -> bool:
    """Tell whether an entry of a pod's ``spec.resourceClaims`` is one that the webhook has added."""
    return str(pod_claim.get("name")).startswith(POD_CLAIM) and is_template_name(
        pod_claim.get("resourceClaimTemplateName")
    )


def template_spec(claim: ProfileClaim) -> Object:
    """Return the template's ``spec``, with the defaults that the API server would fill in: so `stored_spec` of it is equal."""
    devices: Object = {"requests": []}
    for request in claim.requests:
        exactly: Object = {"deviceClassName": request.device_class_name, "allocationMode": request.allocation_mode}
        if request.allocation_mode == "ExactCount":
            exactly["count"] = request.count or 1
        if request.selectors:
            exactly["selectors"] = [{"cel": {"expression": each}} for each in request.selectors]
        devices["requests"].append({"name": request.name, "exactly": exactly})
    if claim.constraints:
        devices["constraints"] = [
            {"matchAttribute": each.match_attribute, **_requests(each.requests)} for each in claim.constraints
        ]
    if claim.config:
        devices["config"] = [
            {"opaque": {"driver": each.driver, "parameters": json.loads(each.parameters)}, **_requests(each.requests)}
            for each in claim.config
        ]
    return {"spec": {"devices": devices}}


def _requests(requests: tuple[str, ...]) -> Object:
    return {"requests": list(requests)} if requests else {}


def make_template(namespace: str, name: str, claim: str, spec: Object, owner: Object | None = None) -> Object:
    """Return the template as the object that is created, without its apiVersion. *claim*: its name in the profile."""
    labels = {MANAGED_BY: MANAGER, names.CLAIM: claim}
    metadata: Object = {"namespace": namespace, "name": name, "labels": labels}
    if owner:
        metadata["ownerReferences"] = [owner]
    return {"kind": "ResourceClaimTemplate", "metadata": metadata, "spec": spec}


def claim_of(name: str) -> str:
    """Return which claim of a profile the template of this *name* is of; empty for a name that is none of ours."""
    return name.removeprefix(PREFIX)[: -1 - _DIGEST] if is_template_name(name) else ""


def stored_spec(spec: Any) -> Any:
    """Return the ``spec`` of a stored template as we write it: API servers add metadata that says nothing.

    ``{}``, or ``{"creationTimestamp": null}``.
    """
    metadata = spec.get("metadata") if isinstance(spec, dict) else None
    if not isinstance(metadata, dict) or any(value is not None for value in metadata.values()):
        return spec
    return {key: value for key, value in spec.items() if key != "metadata"}


def is_true(name: str, spec: Any) -> bool:
    """Tell whether a template holds what its name says; one of another content was not made by the controller."""
    try:
        return is_template_name(name) and isinstance(spec, dict) and name == _name(claim_of(name), stored_spec(spec))
    except RecursionError:  # parameters of another's may be nested as deep as they like
        return False
