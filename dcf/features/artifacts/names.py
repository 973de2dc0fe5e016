"""The texts in requests about artifacts: types, digests, ids and cursors, read and checked. Pure."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from dcf.errors import InvalidArgument

SHORT_TYPES: Final[Mapping[str, str]] = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "json": "application/json",
    "binary": "application/octet-stream",
}
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\Z", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_LONGEST_SLUG: Final = 40


def content_type_of(content_type: str) -> str:
    """Return the media type that was named, short or whole; raise InvalidArgument for what is none."""
    short = SHORT_TYPES.get(content_type)
    whole = content_type.partition(";")[0].strip().lower()
    if short is None and _MEDIA_TYPE.match(whole) is None:
        raise InvalidArgument(
            "content_type is no media type.", f"Use {', '.join(SHORT_TYPES)}, or a media type such as image/png."
        )
    return short or whole


def check_sha256(sha256: str | None) -> str | None:
    """Return a digest in the one form that is compared; raise InvalidArgument for what is none."""
    if sha256 is None:
        return None
    lowered = sha256.lower()
    if _SHA256.match(lowered) is None:
        raise InvalidArgument("sha256 is no SHA-256 in hexadecimal.", "Send its 64 digits, or leave it out.")
    return lowered


def id_of(name: str, sha256: str) -> str:
    """Return the id of an artifact that was put without one: the same for the same name and content."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:_LONGEST_SLUG].strip("-.") or "artifact"
    named = hashlib.sha256(f"{name}\n{sha256}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{slug}-{named[:12]}"
