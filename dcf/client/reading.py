"""Makes records of a client from the answers of tools: by the names and types of the records' fields.

A field that the answer lacks has its default, and what the record does not know is left out, so that client and server
may be of different versions.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from dcf.errors import ToolCallFailed
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec

R = TypeVar("R")


_CODECS: Final[dict[type[Any], RecordCodec[Any]]] = {}
"""Those of the records that were read before."""


def read(kind: type[R], answer: Mapping[str, Json]) -> R:
    """Return the record; raise ToolCallFailed if the answer lacks what the record needs."""
    codec = _CODECS.get(kind) or _CODECS.setdefault(kind, RecordCodec(kind, left_out="defaults", strict=True))
    try:
        made: R = codec.read(answer)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ToolCallFailed(
            "error", f"The answer of the server is no {kind.__name__}.", "Use a client of the server's version."
        ) from None
    return made
