"""Hashes: of workflow definitions, of tokens that documents must not hold, and the derived token of a claim. Pure."""

import hashlib
import json

import orjson

from dcf.values.json_text import Json


def definition_sha256(document: Json) -> str:
    """Return the SHA-256 of a document in hex, taken over its canonical form (sorted keys, no spaces)."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hexadecimal. It says what they are, and is no secret."""
    return hashlib.sha256(data).hexdigest()


def fingerprint(token: str) -> str:
    """Hash a token or request id to 16 hex digits: enough to recognise a repetition, and not the secret itself."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def content_fingerprint(value: Json) -> str:
    """Hash a JSON value to 16 hex digits. The order of an object's members does not matter."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def next_token(token: str, state: str) -> str:
    """Derive the token of the lease that a completion claims on `state`, from the completing lease's token.

    It is derived, not random, so a repeated completion gets the same token. Only the old token allows to compute it.
    """
    return "lease-" + hashlib.sha256(f"{token}\n{state}".encode()).hexdigest()[:32]
