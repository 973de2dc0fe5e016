"""Tells which JSON document of a run a key holds. Reads nothing."""

import re

from dcf.store.keys.kinds import KEY_KINDS
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.values.records import record

_RUN_KEY = re.compile(r"(?:cp|dp):wf:([A-Za-z0-9][A-Za-z0-9_.-]{0,63}):([a-z]+)(?::(.+))?\Z", re.ASCII | re.DOTALL)


@record(frozen=True, slots=True, kw_only=True)
class RunDocument:
    """Identifies a JSON document of a run: its kind, and its state if it belongs to one."""

    run: RunKeys
    kind: str
    state: str | None = None


def document_of(key: str) -> RunDocument | None:
    """Return which JSON document of a run this key holds; None for any other key, or another spelling of one."""
    found = _RUN_KEY.match(key)
    if found is None:
        return None
    run, name, part = RunKeys(found[1]), found[2], found[3]
    kind = KEY_KINDS.get(name)
    if kind is None or not kind.is_document or (part is None and "run" not in kind.per):
        return None
    path = None if "run" in kind.per else decode_state(part)
    return RunDocument(run=run, kind=name, state=path) if run.of(name, path) == key else None
