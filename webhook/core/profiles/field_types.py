"""Name the kinds of text that profiles.yaml holds: for each its check, and the pattern that editors apply."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from webhook.core import names
from webhook.core.profiles import annotation_checks, checks
from webhook.core.qualified_name import DNS_LABEL, ENV_NAME, LABEL_NAME

_LABEL = {"type": "string", "pattern": f"^({LABEL_NAME})?$", "maxLength": 63}
_LABEL_KEY = {"type": "string", "pattern": f"^([-.a-z0-9]+/)?{LABEL_NAME}$"}
_NOT_OURS = {"not": {"pattern": f"^{names.PREFIX}"}}
_DNS_LABEL = {"type": "string", "pattern": f"^{DNS_LABEL}$", "maxLength": 63}
_SIGNLESS = r"[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?"

ProfileName = Annotated[
    str, AfterValidator(checks.check_profile_name), WithJsonSchema({**_LABEL, "minLength": 1, "not": {"const": "none"}})
]
Name = Annotated[str, AfterValidator(checks.check_dns_label), WithJsonSchema(_DNS_LABEL)]
NetworkText = Annotated[
    str,
    AfterValidator(checks.check_network),
    WithJsonSchema({"type": "string", "pattern": "^([-a-z0-9]+/)?[-.a-z0-9]+(@[-a-z0-9]{1,15})?$"}),
]
ResourceList = Annotated[
    str,
    AfterValidator(checks.check_resources),
    WithJsonSchema({"type": "string", "pattern": "^ *[^/, ]+/[^/, ]+ *(, *[^/, ]+/[^/, ]+ *)*$"}),
]
ResourceName = Annotated[
    str,
    AfterValidator(checks.check_resource_name),
    WithJsonSchema({"type": "string", "pattern": "^([^/]+/[^/]+|hugepages-[^/]+)$"}),
]
Quantity = Annotated[
    str,
    BeforeValidator(checks.number_as_text),
    AfterValidator(checks.check_quantity),
    WithJsonSchema({"type": ["string", "number"], "minimum": 0, "pattern": f"^{_SIGNLESS}$"}),
]
Size = Annotated[
    str,
    BeforeValidator(checks.number_as_text),
    AfterValidator(checks.check_size),
    WithJsonSchema({"type": ["string", "number"], "minimum": 1, "pattern": f"^(none|{_SIGNLESS})$"}),
]
Duration = Annotated[
    str,
    BeforeValidator(checks.refuse_bare_number),
    AfterValidator(checks.check_duration),
    WithJsonSchema({"type": "string", "pattern": "^[+]?([0-9.]+(h|m|s|ms|us|µs|ns))+$"}),
]
Image = Annotated[str, AfterValidator(checks.check_image), WithJsonSchema({"type": "string", "pattern": r"^\S+$"})]
EnvName = Annotated[
    str,
    AfterValidator(checks.check_env_name),
    WithJsonSchema({"type": "string", "pattern": f"^{ENV_NAME}$", "not": {"pattern": "^FABRIC_INJECTOR_"}}),
]
EnvValue = Annotated[str, AfterValidator(checks.check_env_value)]
LabelKey = Annotated[
    str,
    AfterValidator(checks.check_label_key),
    WithJsonSchema(_LABEL_KEY),
]
SelectingLabelKey = Annotated[
    str,
    AfterValidator(annotation_checks.check_selecting_label),
    WithJsonSchema({**_LABEL_KEY, **_NOT_OURS}),
]
AnnotationKey = Annotated[
    str,
    AfterValidator(annotation_checks.check_annotation_key),
    WithJsonSchema(_LABEL_KEY),
]
SetAnnotationKey = Annotated[
    str,
    AfterValidator(annotation_checks.check_set_annotation),
    WithJsonSchema({**_LABEL_KEY, **_NOT_OURS}),
]
AnnotationValue = Annotated[str, AfterValidator(annotation_checks.check_annotation_value)]
LabelValue = Annotated[str, AfterValidator(checks.check_label_value), WithJsonSchema(_LABEL)]
NamespaceList = Annotated[
    list[Name] | None,
    BeforeValidator(checks.all_as_none),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": _DNS_LABEL}]}),
]
