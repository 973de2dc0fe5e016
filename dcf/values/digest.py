"""Fingerprints: of definitions, of tokens that must not be stored, and the token handed on by a completion."""

import hashlib
import json

import orjson

from dcf.values.json_text import Json


def definition_sha256(document: Json) -> str:
    """SHA-256 of a document's canonical form (sorted keys, no spaces), in hex."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(token: str) -> str:
    """Make what a document keeps of a token or request id to recognise its repetition, without holding the secret."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def digest_of(value: Json) -> str:
    """Make a fingerprint of JSON content; the order of an object's members does not matter."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def next_token(token: str, state: str) -> str:
    """Derive the token of the lease that a completion claims.

    Not drawn, so that a repetition of the completion finds the same one; only who knows the old token can know the
    new.
    """
    return "lease-" + hashlib.sha256(f"{token}\n{state}".encode()).hexdigest()[:32]
