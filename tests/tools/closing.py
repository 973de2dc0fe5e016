"""Schemas of answers as tests hold answers against them."""

from typing import Any

Json = Any


def closed(schema: Json) -> Json:
    """The schema without room for fields that it does not name: a client must admit those of later versions."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closeds = {name: closed(part) for name, part in schema.items()}
    is_record = isinstance(schema.get("type"), str | list) and "properties" in schema
    return ({"additionalProperties": False} if is_record else {}) | closeds
