"""Define the kinds of value that profiles.yaml holds: for each its check, and the pattern that editors apply.

A check returns the value as the program uses it, or raises ValueError with what was found and what is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from webhook.core import names, qualified_name
from webhook.core.profiles.grammar import (
    HUGE_PAGES,
    IMAGE,
    INSTALLED,
    LONGEST_IMAGE,
    normalize_path,
    parse_duration,
    parse_page_size,
    parse_resources,
    refused,
    split_image,
)
from webhook.core.qualified_name import DNS_LABEL, ENV_NAME, LABEL_NAME
from webhook.core.quantity import parse_quantity

NONE = "none"
"""Written for "no value" where a field's table says so."""
MAX_AMOUNT = (2**63 - 1) // 1000
"""The API server counts devices in thousandths. Source: k8s.io/kubernetes pkg/apis/core/validation ValidateResourceQuantityValue."""
_MAX_SIZE = 2**63 - 1
_MAX_ANNOTATIONS = 262_144
"""Bytes of all annotations of an object together. Source: k8s.io/apimachinery pkg/api/validation TotalAnnotationSizeLimitB."""
_NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage", "storage", "pods")
_OWN_VARIABLES = "FABRIC_INJECTOR_"
_OWN_NAME = "fabric-injector"
_CAPABILITY = "[A-Z][A-Z0-9_]{0,62}"
_WRITTEN_ELSEWHERE = {
    names.NETWORKS: "the profile's networks are merged into it; write them under networks",
    names.NETWORK_STATUS: "Multus alone writes it; leave it out",
    names.NETWORKS_STATUS: "Multus alone writes it; leave it out",
    names.GKE_POD_IPS: "GKE alone writes it; leave it out",
}
RULES = "x-kubernetes-validations"
"""Rules in CEL, by which the API server checks what a pattern cannot say. Source: kubernetes.io/docs/reference/using-api/cel."""


def rule(expression: str, message: str) -> dict[str, str]:
    """Return a rule in CEL about ``self``, a value or a key."""
    return {"rule": expression, "message": message}


_LABEL = {"type": "string", "pattern": f"^({LABEL_NAME})?$", "maxLength": 63}
_LABEL_KEY = {"type": "string", "pattern": f"^([-.a-z0-9]+/)?{LABEL_NAME}$", "maxLength": 317}
_NOT_OURS = {"not": {"pattern": f"^{names.PREFIX}"}}
_DNS_LABEL = {"type": "string", "pattern": f"^{DNS_LABEL}$", "maxLength": 63}
_SIGNLESS = r"[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)?"
NETWORK_SCHEMA = {
    "type": "string",
    "pattern": "^([-a-z0-9]+/)?[-.a-z0-9]+(@[-a-z0-9]{1,15})?$",
    "maxLength": 333,
    RULES: [
        rule(
            "!self.endsWith('@eth0') && !self.endsWith('@lo')",
            "every pod already has this interface",
        )
    ],
}
_RESOURCES_SCHEMA = {
    "type": "string",
    "pattern": "^ *[^/, ]+/[^/, ]+ *(, *[^/, ]+/[^/, ]+ *)*$",
    "maxLength": 1024,
}
_LIKE_INSTALLED = "[Ii][Nn][Ss][A-Za-z]*"
_MAX_ENV_VALUE = 32_768
_MAX_NAMESPACES = 1024
_MAX_PATH = 256
_MAX_CLAIM_NAME = 40
_MAX_DRIVER = 63
_MAX_EXPRESSION = 4096
_MAX_PARAMETERS = 10 * 1024
"""Source: k8s.io/api resource/v1 DriverNameMaxLength, OpaqueParametersMaxLength, CELSelectorExpressionMaxLength (more)."""
_ATTRIBUTE = "[A-Za-z_][A-Za-z0-9_]{0,31}"
_SUBDOMAIN = "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$"
PRESERVED = "x-kubernetes-preserve-unknown-fields"
COMPUTE = ("cpu", "memory", "ephemeral-storage")
_PATH = {"type": "string", "pattern": "^/", "maxLength": _MAX_PATH}
_NO_STEP_UP = rule("!(self + '/').contains('/../')", "write the path without '..'")
_IMAGE_PATTERN = "".join(IMAGE).replace(
    "(?=/)", ""
)  # which the API server's regular expressions do not know


def _refuse_in_file(_: Any) -> None:
    raise PydanticCustomError("extra_forbidden", "not a field of the file")


def _check_profile_name(text: str) -> str:
    if text == names.PROFILE_NONE:
        raise refused(
            text,
            f"the label {names.PROFILE}: {names.PROFILE_NONE} leaves a pod alone; write another name",
        )
    if not text or not qualified_name.is_label_value(text):
        raise refused(
            text,
            "it is a label's value; write 1 to 63 letters, digits, '-', '_', '.', a letter or digit at both ends",
        )
    return text


def _check_dns_label(text: str) -> str:
    if not qualified_name.is_dns_label(text):
        raise refused(text, "write 1 to 63 of a-z, 0-9, '-', with a letter or digit at both ends")
    return text


def _all_as_none(value: Any) -> Any:
    """Turn the word ``all`` into None; any other word is not a list."""
    if value == "all":
        return None
    if isinstance(value, str):
        example = value if value.isprintable() else "research"
        raise refused(value, f"write a list of namespaces, such as [{example}], or the word all")
    return value


def _check_many(namespaces: frozenset[str] | None) -> frozenset[str] | None:
    if namespaces and len(namespaces) > _MAX_NAMESPACES:
        raise ValueError(
            f"found {len(namespaces)} namespaces; write at most {_MAX_NAMESPACES}, or the word all"
        )
    return namespaces


def _resources_of(value: Any) -> Any:
    return parse_resources(value) if isinstance(value, str) else _not_a_string(value)


def _not_a_string(_: Any) -> Any:
    raise PydanticCustomError("string_type", "not a string")


def check_resource_name(text: str) -> str:
    """Accept an extended resource or huge pages."""
    if text in _NATIVE_RESOURCES:
        raise refused(
            text,
            "it belongs to the job, not to the fabric; write it in the job, or in a LimitRange of the namespace",
        )
    if text.startswith(HUGE_PAGES):
        parse_page_size(text)
        return text
    problem = qualified_name.extended_resource_problem(text)
    if problem:
        raise refused(text, f"the resource's name {problem}")
    return text


def check_quantity(value: Any) -> str:
    """Accept a quantity without spaces around it, or a number; return its text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PydanticCustomError("quantity_type", "not a quantity")
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    if text != text.strip():
        raise refused(text, "write the quantity without spaces")
    try:
        parse_quantity(text)
    except ValueError:
        raise refused(
            text, "write a number with an optional suffix, such as 1, 8 or 16Gi"
        ) from None
    return text


def check_amount(resource: str, text: str) -> None:
    """Refuse an amount of *resource* that the API server would refuse in a pod."""
    amount = parse_quantity(text)
    if amount < 0 or amount.denominator != 1:
        raise refused(text, f"write a whole number of {resource}, 0 or more")
    if amount > MAX_AMOUNT:
        raise refused(
            text, f"write at most {MAX_AMOUNT}, beyond which Kubernetes does not count {resource}"
        )
    if resource.startswith(HUGE_PAGES) and amount.numerator % parse_page_size(resource):
        raise refused(
            text, f"write a multiple of the page size, {resource.removeprefix(HUGE_PAGES)}"
        )


def _check_size(value: Any) -> str | None:
    """Accept ``none``, or a whole number of bytes above 0."""
    if value == NONE:
        return None
    text = check_quantity(value)
    size = parse_quantity(text)
    if size <= 0 or size.denominator != 1:
        hint = " (the suffix m means thousandths; M and Mi mean mega)" if text.endswith("m") else ""
        raise refused(text, f"write a whole number of bytes above 0, such as 16Gi, or none{hint}")
    if size > _MAX_SIZE:
        raise refused(text, "write at most 8Ei, or none")
    return text


def _check_duration(value: Any) -> int:
    """Read a duration; a number without a unit is none."""
    if isinstance(value, int | float):
        raise PydanticCustomError("duration_type", "not a duration")
    return parse_duration(value) if isinstance(value, str) else _not_a_string(value)


def _check_image(value: Any) -> Any:
    """Accept an image reference, ``installed``, or ``none``."""
    if isinstance(value, str) and (
        len(value.split()) != 1 or value != value.strip() or not value.isprintable()
    ):
        raise refused(
            value,
            "write an image reference without spaces, such as docker.io/library/busybox:1.37, installed, or none",
        )
    if isinstance(value, str) and value != INSTALLED and re.fullmatch(_LIKE_INSTALLED, value):
        raise refused(
            value,
            f"did you mean {INSTALLED}? An image of that name is written docker.io/library/{value}",
        )
    return None if value == NONE else value


def _check_env_name(text: str) -> str:
    if text.startswith(_OWN_VARIABLES):
        raise refused(
            text,
            f"names that start with {_OWN_VARIABLES} are set by the injector itself; write another name",
        )
    if not qualified_name.is_env_name(text):
        raise refused(
            text,
            "write a variable's name of letters, digits, '_', '-', '.', not starting with a digit",
        )
    return text


def _check_env_value(text: str) -> str:
    if "\0" in text:
        raise refused(text, "a variable does not hold NUL; write other text")
    if len(text) > _MAX_ENV_VALUE:
        raise refused(text, f"write at most {_MAX_ENV_VALUE} characters")
    return text


def _check_label_key(text: str) -> str:
    if not qualified_name.is_label_key(text):
        raise refused(text, "write a label's key: [domain/]name, such as node.example.com/fabric")
    return text


def _check_selecting_label(text: str) -> str:
    if text.startswith(names.PREFIX):
        raise refused(
            text, f"labels of {names.PREFIX} choose for themselves; write another label of the pods"
        )
    return _check_label_key(text)


def _check_label_value(text: str) -> str:
    if not qualified_name.is_label_value(text):
        raise refused(
            text,
            "write a label's value: at most 63 letters, digits, '-', '_', '.', a letter or digit at both ends",
        )
    return text


def _check_annotation_key(text: str) -> str:
    if not qualified_name.is_label_key(text):
        raise refused(
            text, f"write an annotation's key: [domain/]name, such as {names.RESOURCE_NAME}"
        )
    return text


def _check_set_annotation(text: str) -> str:
    """Accept an annotation's key that neither we nor Multus nor GKE write."""
    if text.startswith(names.PREFIX):
        raise refused(
            text, f"annotations of {names.PREFIX} are set by the injector itself; write another key"
        )
    if text in _WRITTEN_ELSEWHERE:
        raise refused(text, _WRITTEN_ELSEWHERE[text])
    return _check_annotation_key(text)


def _check_annotation_value(text: str) -> str:
    if len(text.encode()) > _MAX_ANNOTATIONS:
        raise refused(text, f"write at most {_MAX_ANNOTATIONS} bytes, which the API server takes")
    return text


def _check_own_name(text: str) -> str:
    """Accept the name of a volume or a container that is none of ours."""
    if text.startswith(_OWN_NAME):
        raise refused(
            text, "volumes and containers of this name are the injector's own; write another"
        )
    return _check_dns_label(text)


def _check_path(text: str) -> str:
    if len(text) > _MAX_PATH:
        raise refused(text, f"write at most {_MAX_PATH} characters")
    return normalize_path(text)


def _check_mount_path(text: str) -> str:
    path = _check_path(text)
    if path == "/" or ":" in path:
        raise refused(text, "write a path below /, without ':'")
    return path


def _check_sub_path(text: str) -> str:
    """Accept a path within a volume. Source: kubernetes pkg/apis/core/validation validateLocalDescendingPath."""
    if not text or text.startswith("/") or ".." in text.split("/") or not text.isprintable():
        raise refused(text, "write a relative path without '..'")
    return text


def _check_allowed_path(text: str) -> str:
    """Return a path, or one with a slash behind it for all that is below it."""
    path = _check_path(text)
    if path.endswith("/*"):
        raise refused(text, f"write {path[:-1]} for all that is below it")
    return f"{path.rstrip('/')}/" if text.endswith("/") else path


def _check_reference(text: str) -> str:
    split_image(text)
    return text


def _check_allowed_image(text: str) -> str:
    """Accept an image reference, or the beginning of some with ``/*`` behind it."""
    try:
        split_image(f"{text[:-1]}x" if text.endswith("/*") else text)
    except ValueError:
        raise refused(
            text,
            "write an image reference, or the beginning of some and /*, as registry.example.com/team/*",
        ) from None
    return text


def _check_device_name(text: str) -> str:
    if "/" not in text:
        raise refused(
            text, "write the extended resource of a device, such as vpc.amazonaws.com/efa"
        )
    return check_resource_name(text)


def _check_container_resource(text: str) -> str:
    return text if text in COMPUTE else check_resource_name(text)


def _check_flat(value: Any) -> Any:
    """Refuse resources as a container has them."""
    for key in ("limits", "requests"):
        if isinstance(value, dict) and isinstance(value.get(key), dict):
            raise refused(
                key, f"write cpu: 1 directly, without {key}: limits and requests are equal"
            )
    return value


def _check_capability(text: str) -> str:
    if not re.fullmatch(_CAPABILITY, text) or text.startswith("CAP_"):
        raise refused(
            text, "write the name of a capability in capitals, without CAP_, such as NET_ADMIN"
        )
    return text


def _check_config_map(text: str) -> str:
    if not qualified_name.is_dns_subdomain(text):
        raise refused(
            text,
            "write the name of a ConfigMap: a-z, 0-9, '-', '.', a letter or digit at both ends",
        )
    return text


def _check_claim_name(text: str) -> str:
    if len(_check_dns_label(text)) > _MAX_CLAIM_NAME:
        raise refused(
            text, f"write at most {_MAX_CLAIM_NAME} characters: the name stands in others"
        )
    return text


def _check_device_class(text: str) -> str:
    if not qualified_name.is_dns_subdomain(text):
        raise refused(
            text,
            "write the name of a DeviceClass: a-z, 0-9, '-', '.', a letter or digit at both ends",
        )
    return text


def _check_driver(text: str) -> str:
    if not qualified_name.is_dns_subdomain(text) or len(text) > _MAX_DRIVER:
        raise refused(
            text,
            f"write the name of a DRA driver: at most {_MAX_DRIVER} of a-z, 0-9, '-', '.', such as dra.net",
        )
    return text


def _check_attribute(text: str) -> str:
    """Accept a fully qualified name. Source: k8s.io/kubernetes pkg/apis/resource/validation validateFullyQualifiedName."""
    domain, slash, name = text.partition("/")
    is_domain = (
        bool(slash) and qualified_name.is_dns_subdomain(domain) and len(domain) <= _MAX_DRIVER
    )
    if not is_domain or not re.fullmatch(_ATTRIBUTE, name):
        raise refused(
            text,
            "write an attribute of devices with its domain, such as resource.kubernetes.io/pcieRoot",
        )
    return text


def _check_expression(text: str) -> str:
    if not text.strip() or len(text) > _MAX_EXPRESSION:
        raise refused(text, f"write an expression in CEL of at most {_MAX_EXPRESSION} characters")
    return text


def _whole(value: Any) -> Any:
    """Return *value* with its whole numbers as such: the API server turns 1.0 into 1 on some ways and not on others."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_parameters(value: Any) -> str:
    """Return an object as JSON in one form, so that equal ones are equal."""
    if not isinstance(value, dict):
        raise PydanticCustomError("dict_type", "not an object")
    text = json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if len(text.encode()) > _MAX_PARAMETERS:
        raise ValueError(
            f"found an object of more than {_MAX_PARAMETERS} bytes, which the API server refuses"
        )
    return text


def _check_node_type(text: str) -> str:
    if not text:
        raise refused(text, "write a value of the node's label, such as p5.48xlarge")
    return _check_label_value(text)


_T = TypeVar("_T")
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
NotInFile = Annotated[SkipJsonSchema[_T], BeforeValidator(_refuse_in_file), Field(default=None)]
"""A field of the object that comes from elsewhere: the file does not have it."""
Table = Annotated[Mapping[_Key, _Value], AfterValidator(MappingProxyType)]
Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0, le=MAX_AMOUNT)]
Accelerators = Annotated[int, Strict(), Field(ge=1, le=64)]
ProfileName = Annotated[
    str,
    AfterValidator(_check_profile_name),
    WithJsonSchema({**_LABEL, "minLength": 1, "not": {"const": "none"}}),
]
Name = Annotated[str, AfterValidator(_check_dns_label), WithJsonSchema(_DNS_LABEL)]
NamespaceList = Annotated[
    frozenset[Name] | None,
    BeforeValidator(_all_as_none),
    AfterValidator(_check_many),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "all"},
                {"type": "array", "items": _DNS_LABEL, "maxItems": _MAX_NAMESPACES},
            ]
        }
    ),
    Field(json_schema_extra={"default": "all"}),
]
ResourceList = Annotated[
    tuple[str, ...],
    BeforeValidator(_resources_of),
    WithJsonSchema({"anyOf": [_RESOURCES_SCHEMA, {"type": "null"}]}),
    Field(json_schema_extra={"default": None}),
]
ResourceName = Annotated[
    str,
    AfterValidator(check_resource_name),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^([^/]+/[^/]+|hugepages-[^/]+)$",
            "maxLength": 317,
            RULES: [
                rule(
                    "!self.contains('kubernetes.io/')",
                    "kubernetes.io/ is Kubernetes' own; write a device's resource",
                ),
                rule(
                    "!self.startsWith('hugepages-') || isQuantity(self.substring(10)) && "
                    "quantity(self.substring(10)).isInteger() && quantity(self.substring(10)).isGreaterThan(quantity('0'))",
                    "write hugepages- and the size of a page, such as hugepages-2Mi",
                ),
            ],
        }
    ),
]
Quantity = Annotated[
    str,
    BeforeValidator(check_quantity),
    WithJsonSchema(
        {"type": ["string", "number"], "minimum": 0, "maxLength": 64, "pattern": f"^{_SIGNLESS}$"}
    ),
]
Size = Annotated[
    str | None,
    BeforeValidator(_check_size),
    WithJsonSchema(
        {
            "type": ["string", "number"],
            "minimum": 1,
            "maxLength": 64,
            "pattern": f"^(none|{_SIGNLESS})$",
            RULES: [
                rule(
                    "type(self) == int ? self > 0 : self == 'none' || "
                    "isQuantity(self) && quantity(self).isInteger() && quantity(self).isGreaterThan(quantity('0'))",
                    "write a whole number of bytes above 0, such as 16Gi, or none (the suffix m means thousandths)",
                )
            ],
        }
    ),
    Field(json_schema_extra={"default": NONE}),
]
Seconds = Annotated[
    int,
    BeforeValidator(_check_duration),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[+]?([0-9.]+(h|m|s|ms|us|µs|ns))+$",
            "maxLength": 40,
            RULES: [
                rule(
                    "duration(self) >= duration('1s') && duration(self).getMilliseconds() % 1000 == 0",
                    "write a duration of whole seconds, 1s or more, such as 90s, 30m or 1h30m",
                )
            ],
        }
    ),
]
Image = Annotated[
    str | None,
    BeforeValidator(_check_image),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^\S+$",
            "maxLength": 1024,
            "not": {"pattern": f"^(?!{INSTALLED}$){_LIKE_INSTALLED}$"},
            RULES: [
                rule(
                    f"self == '{INSTALLED}' || !self.matches('^{_LIKE_INSTALLED}$')",
                    f"did you mean {INSTALLED}?",
                )
            ],
        }
    ),
    Field(json_schema_extra={"default": NONE}),
]
EnvName = Annotated[
    str,
    AfterValidator(_check_env_name),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": 253,
            "pattern": f"^{ENV_NAME}$",
            "not": {"pattern": "^FABRIC_INJECTOR_"},
        }
    ),
]
EnvValue = Annotated[
    str,
    AfterValidator(_check_env_value),
    WithJsonSchema({"type": "string", "maxLength": _MAX_ENV_VALUE, "pattern": r"^[^\x00]*$"}),
]
LabelKey = Annotated[str, AfterValidator(_check_label_key), WithJsonSchema(_LABEL_KEY)]
SelectingLabelKey = Annotated[
    str, AfterValidator(_check_selecting_label), WithJsonSchema({**_LABEL_KEY, **_NOT_OURS})
]
LabelValue = Annotated[str, AfterValidator(_check_label_value), WithJsonSchema(_LABEL)]
AnnotationKey = Annotated[str, AfterValidator(_check_annotation_key), WithJsonSchema(_LABEL_KEY)]
_NOT_MULTUS = {
    RULES: [rule(f"!(self in {sorted(_WRITTEN_ELSEWHERE)})", "networks are written under networks")]
}
SetAnnotationKey = Annotated[
    str,
    AfterValidator(_check_set_annotation),
    WithJsonSchema({**_LABEL_KEY, **_NOT_OURS, **_NOT_MULTUS}),
]
AnnotationValue = Annotated[
    str,
    AfterValidator(_check_annotation_value),
    WithJsonSchema({"type": "string", "maxLength": _MAX_ANNOTATIONS}),
]
VolumeSize = Annotated[
    str | None,
    BeforeValidator(_check_size),
    WithJsonSchema(
        {
            "type": ["string", "number"],
            "minimum": 1,
            "maxLength": 64,
            "pattern": f"^(none|{_SIGNLESS})$",
        }
    ),
    Field(json_schema_extra={"default": NONE}),
]
"""A size without rules in CEL: Kubernetes 1.30 takes them for too dear in each volume of a list."""
OwnName = Annotated[
    str,
    AfterValidator(_check_own_name),
    WithJsonSchema(
        {
            **_DNS_LABEL,
            "not": {"pattern": f"^{_OWN_NAME}"},
            RULES: [
                rule(
                    f"!self.startsWith('{_OWN_NAME}')",
                    f"{_OWN_NAME} is a name of the injector's own",
                )
            ],
        }
    ),
]
HostPath = Annotated[
    str, AfterValidator(_check_path), WithJsonSchema({**_PATH, RULES: [_NO_STEP_UP]})
]
MountPath = Annotated[
    str,
    AfterValidator(_check_mount_path),
    WithJsonSchema({**_PATH, "pattern": "^/+[^/:][^:]*$", RULES: [_NO_STEP_UP]}),
]
SubPath = Annotated[
    str,
    AfterValidator(_check_sub_path),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[^/]",
            "maxLength": _MAX_PATH,
            RULES: [rule("!('/' + self + '/').contains('/../')", "write the path without '..'")],
        }
    ),
]
AllowedPath = Annotated[
    str,
    AfterValidator(_check_allowed_path),
    WithJsonSchema({**_PATH, "pattern": "^/(.*([^*]|[^/][*]))?$"}),  # not /*
]
ImageReference = Annotated[
    str,
    AfterValidator(_check_reference),
    WithJsonSchema(
        {"type": "string", "pattern": f"^{_IMAGE_PATTERN}$", "maxLength": LONGEST_IMAGE}
    ),
]
AllowedImage = Annotated[
    str,
    AfterValidator(_check_allowed_image),
    WithJsonSchema(
        {"type": "string", "pattern": f"^{_IMAGE_PATTERN}(/[*])?$", "maxLength": LONGEST_IMAGE}
    ),
]
DeviceName = Annotated[
    str,
    AfterValidator(_check_device_name),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[^/]+/[^/]+$",
            "maxLength": 317,
            RULES: [
                rule(
                    "!self.contains('kubernetes.io/')",
                    "kubernetes.io/ is Kubernetes' own; write a device's resource",
                )
            ],
        }
    ),
]
ContainerResource = Annotated[
    str,
    AfterValidator(_check_container_resource),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({'|'.join(COMPUTE)}|[^/]+/[^/]+|hugepages-[^/]+)$",
            "maxLength": 317,
        }
    ),
]
SidecarResources = Annotated[Table[ContainerResource, Quantity], BeforeValidator(_check_flat)]
Capability = Annotated[
    str,
    AfterValidator(_check_capability),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{_CAPABILITY}$",
            "maxLength": 63,
            "not": {"pattern": "^CAP_"},
            RULES: [rule("!self.startsWith('CAP_')", "write it without CAP_")],
        }
    ),
]
ConfigMapName = Annotated[
    str,
    AfterValidator(_check_config_map),
    WithJsonSchema(
        {"type": "string", "pattern": "^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", "maxLength": 253}
    ),
]
NodeType = Annotated[
    str, AfterValidator(_check_node_type), WithJsonSchema({**_LABEL, "minLength": 1})
]
ClaimName = Annotated[
    str,
    AfterValidator(_check_claim_name),
    WithJsonSchema({**_DNS_LABEL, "maxLength": _MAX_CLAIM_NAME}),
]
DeviceCount = Annotated[int, Strict(), Field(ge=1, le=32)]
"""At most 32 devices are given for a claim. Source: k8s.io/api resource/v1 AllocationResultsMaxSize."""
DeviceClassName = Annotated[
    str,
    AfterValidator(_check_device_class),
    WithJsonSchema({"type": "string", "pattern": _SUBDOMAIN, "maxLength": 253}),
]
DriverName = Annotated[
    str,
    AfterValidator(_check_driver),
    WithJsonSchema({"type": "string", "pattern": _SUBDOMAIN, "maxLength": _MAX_DRIVER}),
]
DeviceAttribute = Annotated[
    str,
    AfterValidator(_check_attribute),
    WithJsonSchema({"type": "string", "pattern": f"^[-.a-z0-9]+/{_ATTRIBUTE}$", "maxLength": 96}),
]
CelExpression = Annotated[
    str,
    AfterValidator(_check_expression),
    WithJsonSchema({"type": "string", "pattern": r"\S", "maxLength": _MAX_EXPRESSION}),
]
OpaqueParameters = Annotated[
    str, BeforeValidator(_check_parameters), WithJsonSchema({"type": "object", PRESERVED: True})
]
"""An object, held as JSON."""
