"""What a client's methods return about agents that are made elsewhere: frozen records, as in `records.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredAgent:
    """An agent that was registered; of its `url` only the host. `secret` is there where a key was made by the call.

    `rest` says for how long it is left alone since it did not answer.
    """

    agent_id: str
    platform: str
    url: str
    lease_ttl_s: int
    max_in_progress: int | None = None
    key_ids: tuple[str, ...] = ()
    secret: str | None = field(default=None, repr=False)
    created_at: str | None = None
    created_by: str | None = None
    rest: Mapping[str, Json] | None = None
