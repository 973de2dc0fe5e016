"""Says which document of a run a key holds, and what shape a document has. Must not read Redis."""

import re

from dcf.store.keys.kinds import KEY_KINDS, Shape
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys, access_key, agent, skills, workers
from dcf.values.records import record

_RUN_KEY = re.compile(r"(?:cp|dp):wf:([A-Za-z0-9][A-Za-z0-9_.-]{0,63}):([a-z]+)(?::(.+))?\Z", re.ASCII | re.DOTALL)
_OF_RUN = ("cp:wf:", "dp:wf:")
_AGENTS = agent("")
_RECORDS = (
    *(_AGENTS, access_key(""), skills(""), workers("")),
    *("cp:idx:schedule:", "cp:idx:project:", "cp:idx:webhook:"),
)
"""How the keys of documents begin that are of no run: the last are of capabilities (`features/*/keys.py`)."""

_NO_RECORDS = ("cp:idx:webhook:rest:",)


@record(frozen=True, slots=True, kw_only=True)
class RunDocument:
    """Identifies a JSON document of a run: its kind, and its state if it belongs to one."""

    run: RunKeys
    kind: str
    state: str | None = None


def document_of(key: str) -> RunDocument | None:
    """Return which JSON document of a run this key holds; None for any other key, or another spelling of one."""
    match = _RUN_KEY.match(key)
    if match is None:
        return None
    run, name, part = RunKeys(match[1]), match[2], match[3]
    kind = KEY_KINDS.get(name)
    if kind is None or kind.shape is None or (part is None and "run" not in kind.per):
        return None
    path = None if "run" in kind.per else decode_state(part)
    return RunDocument(run=run, kind=name, state=path) if run.of(name, path) == key else None


def is_stored_document(key: str) -> bool:
    """Return whether a key holds a document of dcf: of a run, or a record. Documents of the JSON tools do not count."""
    return document_of(key) is not None or (key.startswith(_RECORDS) and not key.startswith(_NO_RECORDS))


def shape_of(key: str) -> Shape:
    """Return the shape of the document at a key. A key that is not of a run, nor of an agent, has a text."""
    if key.startswith(_OF_RUN):
        # A state may be called "meta": what counts is the third part, and not how the key ends.
        kind = KEY_KINDS.get(key.split(":", 4)[3])
        return "text" if kind is None or kind.shape is None else kind.shape
    return "members" if key.startswith(_AGENTS) else "text"
