"""Finds out in which form a Redis keeps documents, and records it there, so that all processes use the same.

The record is read with each new connection, since a failover or a restored copy may have another form. If there is
none, it is made from the documents of the Redis, or for an empty Redis from the setting and the modules of the server.
This module must not send commands: `ask` does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import redis

from dcf.errors import StoreUnsuitable
from dcf.store.connection import faults
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.handshake import ASK_FORM
from dcf.store.forms.form import FORM_WORDS, DocumentForm
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.text_form import TEXT_FORM
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import in_every_shard

Ask: TypeAlias = Callable[[Sequence[Command]], list[Reply]]
"""Sends a packet and returns all replies, error replies among them."""

WantedForm: TypeAlias = Literal["auto", "json", "text"]
"""The setting: the form of an empty Redis. `auto` is JSON where it has RedisJSON."""

MOVING: Final = b"moving"
"""The value of the record while documents are moved to another form."""

_FORMS: Final[Mapping[bytes, DocumentForm]] = {JSON_FORM.name.encode(): JSON_FORM, TEXT_FORM.name.encode(): TEXT_FORM}
_TYPES: Final[Mapping[bytes, DocumentForm]] = {b"ReJSON-RL": JSON_FORM, b"hash": TEXT_FORM}
_PROBE: Final[Command] = ("JSON.GET", keys.PROBE)
_LOOKED_AT: Final = 20
"""Runs of each list that are read where there is no record: an entry may name a run that does not exist."""


def form_of(
    ask: Ask, wanted_form: WantedForm = "auto", *, shards: int = 1, replies: Sequence[Reply] = ()
) -> DocumentForm:
    """Return the form of a Redis. Raise StoreUnsuitable if this process cannot or must not use it.

    `replies` has the reply to `ASK_FORM`, if it was sent already.
    """
    (recorded,) = replies or ask([ASK_FORM])
    if isinstance(recorded, redis.exceptions.NoPermissionError):
        raise faults.not_allowed(str(ASK_FORM[0]))
    if isinstance(recorded, redis.ResponseError):
        raise faults.reply_error(recorded)
    recorded_form = _recorded(recorded) if isinstance(recorded, bytes) else _decided(ask, wanted_form, shards)
    if wanted_form not in ("auto", recorded_form.name):
        raise StoreUnsuitable(
            f"This Redis keeps documents {FORM_WORDS[recorded_form.name]}, and DCF_DOCUMENTS is '{wanted_form}'.",
            f"Leave DCF_DOCUMENTS unset, or move the documents: dcf store move --to {wanted_form}.",
        )
    return recorded_form


def _recorded(record: bytes) -> DocumentForm:
    if record == MOVING:
        raise StoreUnsuitable(
            "The documents of this Redis are being moved to another form.",
            "Wait until 'dcf store move' has ended. If it was stopped, run it again: it continues where it stopped.",
        )
    document_form = _FORMS.get(record)
    if document_form is None:
        raise StoreUnsuitable(
            f"This Redis keeps documents in a form that this version of dcf does not know ('{record.decode()[:20]}').",
            "Use the version of dcf that wrote them, or a later one.",
        )
    return document_form


def _decided(ask: Ask, wanted_form: WantedForm, shards: int) -> DocumentForm:
    """Decide on the form of a Redis that has no record, and record it."""
    (reply,) = ask([_PROBE])
    is_possible = not _is_refused(reply)
    form_in_use = _form_of_runs(ask, shards)
    if form_in_use is None and not _is_missing(reply) and _is_used(ask, shards):
        form_in_use = JSON_FORM  # of a version that had no other form and no record
    if form_in_use is JSON_FORM and not is_possible:
        raise StoreUnsuitable(
            "The documents of this Redis need RedisJSON, which this server does not have, or this user may not use.",
            "Start a server that has the module, or give the user of REDIS_URL its commands.",
        )
    if form_in_use is None:
        form_in_use = JSON_FORM if wanted_form == "json" or (wanted_form == "auto" and is_possible) else TEXT_FORM
        if form_in_use is JSON_FORM and not is_possible:
            raise StoreUnsuitable(
                "DCF_DOCUMENTS is 'json', and this Redis has no RedisJSON, or this user may not use it.",
                "Leave DCF_DOCUMENTS unset, or use a Redis with the module.",
            )
    (before,) = ask([("SET", keys.DOCUMENT_FORM, form_in_use.name, "NX", "GET")])
    # A Redis that takes no writes keeps no record: it is asked again with the next connection.
    return _recorded(before) if isinstance(before, bytes) else form_in_use


def has_json(ask: Ask) -> bool:
    """Return True if Redis has RedisJSON, and this user may use it. The key may hold what health reports write."""
    (reply,) = ask([_PROBE])
    return not _is_refused(reply)


def _is_refused(reply: Reply) -> bool:
    return isinstance(reply, redis.ResponseError) and faults.is_refused(reply)


def _is_missing(reply: Reply) -> bool:
    """Return True if Redis has no RedisJSON, so that nothing in it can be a JSON document."""
    return isinstance(reply, redis.ResponseError) and faults.is_unknown(reply)


def _form_of_runs(ask: Ask, shards: int) -> DocumentForm | None:
    """Return the form of the meta document of a run that is there."""
    listed = ask([("ZRANGE", key, 0, _LOOKED_AT - 1) for key in in_every_shard(keys.RUNS, shards)])
    runs = [name.decode() for names in listed if isinstance(names, list) for name in names]
    types = ask([("TYPE", RunKeys(name).meta) for name in runs]) if runs else []
    return next((_TYPES[kind] for kind in types if isinstance(kind, bytes) and kind in _TYPES), None)


def _is_used(ask: Ask, shards: int) -> bool:
    """Return True if dcf has documents there already: API keys, or documents of tools."""
    signs = [*in_every_shard(keys.KEY_INDEX, shards), keys.DOCUMENTS, keys.AUDIT_TRAIL]
    return any(reply == 1 for reply in ask([("EXISTS", key) for key in signs]))
