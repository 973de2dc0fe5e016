"""Marks arguments that are accepted for the sake of older callers and are in no list that a model reads.

A model that does not know of such an argument cannot be misled by it, and need not read it. The reference page has
them all.
"""

from typing import Final

from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

KEYWORD: Final = "unlisted"

UNLISTED: Final[JsonDict] = {KEYWORD: True}
"""For the `json_schema_extra` of a field."""

PLAIN_KEYWORD: Final = "plain"

PLAIN: Final[JsonDict] = {PLAIN_KEYWORD: True}
"""For an argument whose name says everything: where it may be left out, lists do without its description."""


def is_listed(field: FieldInfo) -> bool:
    """Return True for an argument that lists of tools have."""
    extra = field.json_schema_extra
    return not (isinstance(extra, dict) and extra.get(KEYWORD))
