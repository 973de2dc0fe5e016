"""Finds work across live runs. That costs what is looked at, however many runs have ended. Never writes.

There is no index of ready states: it would cost every completion a command. The search (`search_storage`) goes through
the smallest of the lists of runs that the filters name, the oldest run first. It passes over runs that another of these
lists does not have, and looks at the open states of those that are left. It writes nothing but marks: a claim marks the
state that it is about to take for a moment, so that claims at the same time take different ones (`open_states`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.asl.state_paths import join, name_of
from dcf.core.documents.codec import read_assignment
from dcf.core.documents.stored_values import object_of
from dcf.features.work.listing import RunFacts, WorkItem, WorkPage, WorkPlace, WorkQuery, WorkStatus, facts_of, item_of
from dcf.features.work.scripts import ENDED, FACTS
from dcf.features.work.search_storage import FoundState, WorkSearch, WorkSought
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.forms.form import DocumentForm, Member
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.state_texts import read_text
from dcf.values.json_text import Json, load
from dcf.values.records import record

_STATES: Final[Member] = ("states", 1001)

_DONE_AT_ONCE: Final = 1000
"""States of a run that are looked at for what is done."""


@record(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The states that a claim may try next. `is_contested`: others are about to take some that fit too."""

    states: tuple[FoundState, ...]
    is_contested: bool
    next_place: WorkPlace | None


class WorkList:
    """The work of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._search = WorkSearch(connections)

    def page(self, query: WorkQuery) -> WorkPage:
        """Return a page of work, on a single server in one round trip; in two, where it is about what is done."""
        place_found = self._search.find(WorkSought(query=query, mode=_mode(query), wanted=query.limit), ("TIME",))
        now = micros(place_found.before[0])
        items = (
            self._done(place_found.runs)
            if query.status is WorkStatus.DONE
            else [item for run in place_found.runs for item in _items(self._connections.form, run, now)]
        )
        selected = tuple(item for item in items if query.wants(item))
        return WorkPage(now=now, items=selected, next_place=place_found.place)

    def next_ready(self, query: WorkQuery, mark: str, passed: Sequence[FoundState]) -> Candidates:
        """Return the next state that the query's agent may take, and mark it; with an empty mark also a marked one."""
        place_found = self._search.find(WorkSought(query=query, mode="claim", wanted=1, mark=mark, passed=passed))
        states = tuple(
            FoundState(workflow_id=run.decode(), state=decode_state(part.decode()))
            for run, _, *parts in place_found.runs
            for part, *_ in parts
        )
        return Candidates(states=states, is_contested=place_found.is_contested, next_place=place_found.place)

    def _done(self, runs: Sequence[Reply]) -> Iterator[WorkItem]:
        """Yield what has ended in these runs; it is on no list of open states, so the documents of all are read."""
        form = self._connections.form
        notices = [(run.decode(), form.values(ENDED, facts) or {}) for run, facts in runs]
        named = {run: [join("", name) for name in meta.get(_STATES) or ()][:_DONE_AT_ONCE] for run, meta in notices}
        grown = [run for run, meta in notices if meta.get("grown") is True]
        listed: list[Command] = [("XRANGE", RunKeys(run).units, "-", "+", "COUNT", _DONE_AT_ONCE) for run in grown]
        for run, units in zip(grown, self._connections.send(*listed) if listed else [], strict=True):
            named[run] = [load(fields[1])["name"] for _, fields in units]
        commands: list[Command] = [
            form.read_many([*map(RunKeys(run).state, paths)]) for run, paths in named.items() if paths
        ]
        replies = iter(self._connections.ask(*commands) if commands else ())
        for run, meta in notices:
            facts, paths = _facts(run, meta), named[run]
            docs: Reply = next(replies) if paths else []
            agents, skills = object_of(meta.get("agents")), object_of(meta.get("skills"))
            for path, text in zip(paths, form.texts(docs) if isinstance(docs, list) else [], strict=False):
                doc = None if text is None else read_text(text)
                if doc is not None and doc.status.is_terminal:
                    name = name_of(path)
                    item = item_of(facts, path, doc, _assigned(agents, name), _assigned(skills, name), 0)
                    if item is not None and (doc.attempts or name in skills):
                        yield item


def _mode(query: WorkQuery) -> str:
    if query.status in (WorkStatus.RUNNING, WorkStatus.DONE, WorkStatus.READY, WorkStatus.REVIEW):
        return str(query.status)
    return "open"


def _items(form: DocumentForm, run: Reply, now: int) -> Iterator[WorkItem]:
    name, meta, *parts = run
    facts = _facts(name.decode(), form.values(FACTS, meta) or {})
    for part, text, agents, skills in parts:
        doc, path = read_text(text), decode_state(part.decode())
        if doc is None:
            continue
        item = item_of(facts, path, doc, read_assignment(load(agents)), read_assignment(load(skills)), now)
        if item is not None:
            yield item


def _facts(workflow_id: str, document: Mapping[Member, Json]) -> RunFacts:
    return facts_of(workflow_id, {name: value for name, value in document.items() if isinstance(name, str)})


def _assigned(of_all: Mapping[str, Json], name: str) -> tuple[str, ...]:
    return read_assignment(of_all.get(name))
