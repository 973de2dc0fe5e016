"""Reads what runs keep as text, for a search: outputs, the records of artifacts, and units. Never writes.

A script for each run reads a limited number of states, artifacts and bytes. Outputs take two round trips, since the
names of the states come first; artifacts and units one.
"""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from dcf.features.artifacts.model import Artifact, read_artifact
from dcf.features.growing.model import Unit, read_unit
from dcf.features.search.ranking import OutputText
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DOCUMENTS, DocumentForm
from dcf.store.keys.table import keys_of
from dcf.values.json_text import Json, load
from dcf.values.records import record

_STATES: Final = ("states",)

_MOST_STATES: Final = 100
"""States of a run that are looked at: the first of its workflow."""

_MOST_TEXT: Final = 32_768
"""Bytes of one output that are looked at."""

_MOST_READ: Final = 2_000_000
"""Bytes of the outputs, or of the records of artifacts, of one run that are read at most, with one more of them."""

_OUTPUTS: Final = (
    DOCUMENTS
    + """
local found, read = {}, 0
for at, key in ipairs(KEYS) do
  local text = read < tonumber(ARGV[2]) and read_document(redis.call, key)
  if text then
    read = read + #text
    found[#found + 1] = at
    found[#found + 1] = string.sub(text, 1, tonumber(ARGV[1]))
  end
end
return {read < tonumber(ARGV[2]) and 1 or 0, found}
"""
)
"""Lua script that returns the beginnings of documents, with their places in the list of keys."""


_ARTIFACTS: Final = """
local found, read = {}, 0
local names = redis.call('ZRANGE', KEYS[1], 0, ARGV[1], 'REV')
for at, name in ipairs(names) do
  local text = at <= tonumber(ARGV[1]) and read < tonumber(ARGV[2]) and redis.call('HGET', KEYS[2], name)
  if text then
    read = read + #text
    found[#found + 1] = text
  end
end
return {#found == #names and 1 or 0, found}
"""
"""Lua script that returns the records of the newest artifacts of a run, and whether those are all of them."""


_MOST_UNITS: Final = 1_000
"""Units of a run that are looked at: the newest."""

_UNITS: Final = """
local found, read = {}, 0
local entries = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[1] + 1)
for at, entry in ipairs(entries) do
  if at <= tonumber(ARGV[1]) and read < tonumber(ARGV[2]) then
    read = read + #entry[2][2]
    found[#found + 1] = entry[2][2]
  end
end
return {#found == #entries and 1 or 0, found}
"""
"""Lua script that returns the newest units of a run, and whether those are all of them."""


Text = TypeVar("Text")


@record(frozen=True, slots=True, kw_only=True)
class TextsRead(Generic[Text]):
    """The texts of runs, and whether these are all of them."""

    texts: tuple[Text, ...]
    is_complete: bool


class RunTexts:
    """The texts that runs have written."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def outputs(self, workflow_ids: Sequence[str]) -> TextsRead[OutputText]:
        """Return the outputs of the states of these runs. Runs that do not exist have none."""
        if not workflow_ids:
            return TextsRead(texts=(), is_complete=True)
        form = self._connections.form
        replies = self._connections.send(
            *(form.members(keys_of(workflow_id).meta, _STATES) for workflow_id in workflow_ids)
        )
        states_by_run = [form.values(_STATES, reply) or {} for reply in replies]
        named = {run: _names(own.get("states")) for run, own in zip(workflow_ids, states_by_run, strict=True)}
        names_by_run = {run: names[:_MOST_STATES] for run, names in named.items() if names}
        scripts = [_script(form, run, names) for run, names in names_by_run.items()]
        replies = self._connections.send(*scripts) if scripts else []
        texts: list[OutputText] = []
        is_complete = all(len(names) <= _MOST_STATES for names in named.values())
        for (run, names), (is_whole, parts) in zip(names_by_run.items(), replies, strict=True):
            is_complete = is_complete and bool(is_whole)
            for place, text in zip(parts[::2], parts[1::2], strict=True):
                shown = text.decode(errors="replace")
                texts.append(OutputText(workflow_id=run, state=names[int(place) - 1], text=shown))
        return TextsRead(texts=tuple(texts), is_complete=is_complete)

    def artifacts(self, workflow_ids: Sequence[str], most: int) -> TextsRead[tuple[str, Artifact]]:
        """Return the newest artifacts of these runs, at most `most` of each. Runs that do not exist have none."""
        keys = [keys_of(workflow_id) for workflow_id in workflow_ids]
        return self._newest(
            workflow_ids,
            [("EVAL", _ARTIFACTS, 2, key.of("shelf"), key.of("artifacts"), most, _MOST_READ) for key in keys],
            read_artifact,
        )

    def units(self, workflow_ids: Sequence[str]) -> TextsRead[tuple[str, Unit]]:
        """Return the newest units of these runs, a limited number of each. Other runs have none."""
        keys = [keys_of(workflow_id).units for workflow_id in workflow_ids]
        return self._newest(
            workflow_ids, [("EVAL", _UNITS, 1, key, _MOST_UNITS, _MOST_READ) for key in keys], read_unit
        )

    def _newest(
        self, workflow_ids: Sequence[str], scripts: Sequence[Command], read: Callable[[Json], Text]
    ) -> TextsRead[tuple[str, Text]]:
        """Return what these scripts find, one for each run, with the runs."""
        replies = self._connections.send(*scripts) if scripts else []
        named = zip(workflow_ids, replies, strict=True)
        texts = tuple((run, read(load(text))) for run, (_, texts) in named for text in texts)
        return TextsRead(texts=texts, is_complete=all(is_whole for is_whole, _ in replies))


def _names(states: Json) -> list[str]:
    return [name for name in states if isinstance(name, str)] if isinstance(states, list) else []


def _script(form: DocumentForm, run: str, names: Sequence[str]) -> Command:
    keys = [keys_of(run).output(name) for name in names]
    return ("EVAL", form.script(_OUTPUTS), len(keys), *keys, _MOST_TEXT, _MOST_READ)
