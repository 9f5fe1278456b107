"""Read profiles with pydantic, and make their JSON Schema: what the annotations of `profile` mean to it.

An object of the file has names in camel case; unknown ones are refused, and null is taken for absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, get_type_hints

from pydantic import (
    AfterValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from webhook.core.profiles import field_types, profile
from webhook.core.profiles.field_types import NETWORK_SCHEMA
from webhook.core.profiles.grammar import parse_network
from webhook.core.profiles.profile import SECTIONS, Profile, ProfileNetwork, Profiles


def _check_network(text: str) -> str:
    parse_network(text)
    return text


def _split_name(network: ProfileNetwork) -> ProfileNetwork:
    namespace, name, interface = parse_network(network.name)
    return replace(network, namespace=namespace, name=name, interface=interface)


NetworkText = Annotated[str, AfterValidator(_check_network), WithJsonSchema(NETWORK_SCHEMA)]
ListedNetwork = Annotated[ProfileNetwork, AfterValidator(_split_name)]
NetworkName = Annotated[
    ProfileNetwork | None,
    GetPydanticSchema(
        lambda *_: core_schema.no_info_after_validator_function(
            lambda text: ProfileNetwork(*parse_network(text)), core_schema.str_schema()
        )
    ),
    WithJsonSchema({"anyOf": [NETWORK_SCHEMA, {"type": "null"}]}),
]


def check_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys, each once; there must be one."""
    if not keys:  # min_length would count the valid ones alone, and complain twice
        raise PydanticCustomError("too_short", "no key")
    return tuple(dict.fromkeys(keys))


def null_as_empty(value: Any) -> Any:
    """Return an empty object for null."""
    return {} if value is None else value


def name_each(profiles: Mapping[str, Profile]) -> Mapping[str, Profile]:
    """Give each profile the name under which it stands."""
    return MappingProxyType(
        {name: replace(profile, name=name) for name, profile in profiles.items()}
    )


@cache
def reader() -> TypeAdapter[Profiles]:
    """Return what reads Profiles of plain values."""
    known = {
        **vars(field_types),
        **vars(profile),
        **globals(),
    }  # every name that stands in an annotation
    for section in SECTIONS:
        types = get_type_hints(section, known, include_extras=True)
        for field in fields(section):
            field.type = types[field.name]
        section.__pydantic_config__ = ConfigDict(extra="forbid", alias_generator=to_camel)
        section.__get_pydantic_core_schema__ = classmethod(_section_schema)
    return TypeAdapter(Profiles)


@cache
def plain_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file as pydantic makes it."""
    return reader().json_schema()


def _section_schema(section: type, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    def take_null_for_absent(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        schema = plain_schema()
        known = schema["$defs"].get(section.__name__, schema)["properties"]
        return {key: item for key, item in value.items() if item is not None or key not in known}

    return core_schema.no_info_before_validator_function(take_null_for_absent, handler(source))
