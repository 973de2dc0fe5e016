"""The Redis keys of the web page. None belongs to a run.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:session:<digest>` | hash | a log-in, by the digest of the session's id: the id and the digest of the API key, until when | an hour after its last request, 12 hours at most |
| `cp:idx:clicked:<digest>` | string | a confirmed action, before it is carried out, so that it is only once | a day |
"""

import hashlib


def session(session_id: str) -> str:
    """Return the key of a log-in."""
    return f"cp:idx:session:{_digest(session_id)}"


def clicked(click: str) -> str:
    """Return the key that remembers that an action was carried out."""
    return f"cp:idx:clicked:{_digest(click)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
