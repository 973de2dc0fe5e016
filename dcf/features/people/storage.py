"""The lists of items that wait for people, across runs: of all, a person, a group, a run. Entries may be stale.

They have open human tasks, and the questions of workers, those for a planner too.

An entry is written just before the commit that opens the task (`keys`), so that none is missing, and taken off after
the one that ends it. If the process dies between, the next reader of the list takes it off, or the sweep does.
A page costs what it shows: its entries, and of each the documents of the run, the state and its input.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import StateDoc
from dcf.core.listing.checks import ListKind
from dcf.errors import StateError
from dcf.features.gates.storage import unlisted_commands
from dcf.features.people.answering import waits_for_person
from dcf.features.people.description import HumanTask, read_human_task
from dcf.features.people.keys import (
    ALL_ASKED,
    ASKED,
    asked_in,
    asked_of,
    gate_id,
    gate_of,
    gates_for_people,
    lists_of,
    open_questions,
    opened_commands,
    question_member,
    question_of,
)
from dcf.features.people.listing import HumanTaskPage, HumanTaskQuery, HumanTaskRow, TaskCursor
from dcf.features.people.model import asking_of
from dcf.features.questions.model import read_talk
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.extensions import StateLists
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.parts import member, read_member
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask, take_off_unless
from dcf.store.lists.waiting import BEING_OPENED, WaitingLists, WaitingState
from dcf.values.json_text import load
from dcf.values.records import replace

_SPARE: Final = 14
"""Entries read beyond the page, in place of stale ones."""

_LOOKED_AT: Final = 2_000
"""Entries that one page looks at, at most; then the page ends."""

_TAKE_OFF: Final = take_off_unless(
    "tonumber(score) > tonumber(ARGV[2]) or (state.status == 'running' and state.type == 'Human')"
)
"""Lua script that takes the entry of a visit, or of an earlier one, off a list, unless the state waits for people.

On a Redis Cluster the list and the run are on different servers, so one case is left: the run's server fails over and
loses the end of a task whose entry is gone already. Writes that wait for replicas (`DCF_WAIT_REPLICAS`) are not lost
so. For others the task is open and not listed, until it is asked of others, or ends: the run's status still shows it.
"""

_TAKE_OFF_QUESTION: Final = take_off_unless(
    "(state.status == 'running' or state.status == 'pending') and waits(state.questions, 'id')"
)
"""Lua script that takes the entry of a question off a list, unless its state says that it waits for its answer."""

_TAKE_OFF_GATE: Final = take_off_unless(
    "state.status == 'running' and state.type == 'Gate' and waits(state.gated, 'gate')"
)
"""Lua script that takes the entry of a gate off a list, unless its state says that it waits for a verdict."""


def ended_commands(run: RunKeys, changes: WriteSet, seen: Snapshot) -> list[Command]:
    """Return the commands, for after the commit, that take off what these changes ended; not what they opened again."""
    commands: list[Command] = []
    for path, before in (*seen.states.items(), *seen.void.items()):
        if not before.attached or path not in changes.states:
            continue
        after, asking = changes.states[path], asking_of(before)
        commands += _closed_questions(run, path, before, after)
        commands += _closed_gates(run, path, before, after)
        commands += unlisted_commands(run, path, before, after)
        if asking is not None and waits_for_person(before) and not waits_for_person(after):
            entry = member(run.workflow_id, path)
            commands += [_unlist(key, entry, before.lease.epoch) for key in lists_of(run.workflow_id, asking)]
    return commands


def _closed_questions(run: RunKeys, path: str, before: StateDoc, after: StateDoc) -> list[Command]:
    left = {question.question_id for question in open_questions(after)}
    closed = [question for question in open_questions(before) if question.question_id not in left]
    return [
        _unlist(key, question_member(run.workflow_id, path, question.question_id))
        for question in closed
        for key in lists_of(run.workflow_id, question)
    ]


def _closed_gates(run: RunKeys, path: str, before: StateDoc, after: StateDoc) -> list[Command]:
    left = {open_gate.name for open_gate in gates_for_people(after)}
    closed = [open_gate for open_gate in gates_for_people(before) if open_gate.name not in left]
    return [
        _unlist(key, question_member(run.workflow_id, path, gate_id(gate.name)))
        for gate in closed
        for key in lists_of(run.workflow_id, gate)
    ]


def _unlist(key: str, entry: str, epoch: int = 0) -> Command:
    """Return the command that takes an entry off a list: a task of the visit of this epoch, a question, or a gate."""
    (workflow_id, path), question = read_member(entry), question_of(entry)
    script, known_by = (_TAKE_OFF, epoch) if question is None else (_TAKE_OFF_QUESTION, question)
    gate = gate_of(question)
    if gate is not None:
        script, known_by = _TAKE_OFF_GATE, gate
    return ("EVAL", script, 1, key, entry, known_by, RunKeys(workflow_id).state(path))


class HumanTasks:
    """The open human tasks of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lists = WaitingLists(connections, TaskCursor)

    def page(self, query: HumanTaskQuery) -> HumanTaskPage:
        """Return a page of open tasks, oldest first."""
        lists, place, looked, now = _lists(query), query.place, 0, 0
        rows: list[HumanTaskRow] = []
        while looked < _LOOKED_AT:
            count = query.limit - len(rows) + _SPARE
            entries, now = self._lists.entries(lists, place, count)
            for place_of_row, row in self._rows(entries, lists, now):
                place = place_of_row
                if row is not None and row.is_wanted(query):
                    rows.append(row)
                if len(rows) == query.limit:
                    return HumanTaskPage(now=now, rows=tuple(rows), next_place=place_of_row)
            looked += len(entries)
            if len(entries) < count:
                return HumanTaskPage(now=now, rows=tuple(rows), next_place=None)
        return HumanTaskPage(now=now, rows=tuple(rows), next_place=place)

    def _rows(
        self, task_cursors: Sequence[TaskCursor], lists: Sequence[str], now: int
    ) -> list[tuple[TaskCursor, HumanTaskRow | None]]:
        """Return the entries with their documents; None for entries that no longer wait, which are taken off."""
        form = self._connections.form
        rows: list[tuple[TaskCursor, HumanTaskRow | None]] = []
        stale: list[Command] = []
        for place, state in self._lists.states(task_cursors, partial(_ask_description, form)):
            row = None if state is None else _row(form, state)
            if row is None and place.at < now - BEING_OPENED:
                run = place.entry.partition("/")[0]
                stale += [_unlist(key, place.entry, place.at) for key in (*lists, ALL_ASKED, asked_in(run))]
            rows.append((place, row))
        if stale:
            ask(self._connections, *stale)
        return rows


def _ask_description(form: DocumentForm, run: RunKeys, path: str, place: TaskCursor) -> Command:
    return form.read(run.input(path) if question_of(place.entry) is None else run.talk)


def _lists(query: HumanTaskQuery) -> list[str]:
    """Return the lists that together have all tasks of the query; the shortest that are known to."""
    if query.run is not None:
        return [asked_in(query.run)]
    own = [] if query.person is None else [asked_of(f"person:{query.person}")]
    return [*own, *(asked_of(f"group:{name}") for name in query.groups)] or [ALL_ASKED]


def _row(form: DocumentForm, state: WaitingState[TaskCursor]) -> HumanTaskRow | None:
    doc, question = state.doc, question_of(state.place.entry)
    about = None if isinstance(state.more, Exception) else form.text(state.more)
    row = HumanTaskRow(
        place=state.place, workflow_id=state.workflow_id, state=state.path, doc=doc, task=None, project=state.project
    )
    if question is None:
        return replace(row, task=_task(about)) if waits_for_person(doc) else None
    gate = gate_of(question)
    if gate is not None:
        waiting = (open_gate for open_gate in gates_for_people(doc) if open_gate.name == gate)
        return next((replace(row, gate=gate) for gate in waiting), None)
    asked_question = None if about is None else read_talk(load(about)).question(question)
    is_open = any(open_question.question_id == question for open_question in open_questions(doc))
    return None if asked_question is None or not is_open else replace(row, question=asked_question)


def _task(text: bytes | None) -> HumanTask | None:
    """Return the description; None if it was damaged by hand: it must not hide the others."""
    try:
        return None if text is None else read_human_task(load(text))
    except StateError:
        return None


def _is_listed(doc: StateDoc) -> bool:
    """Return True if a state waits for a person or a verdict, or a question about it for its answer."""
    return waits_for_person(doc) or bool(open_questions(doc)) or doc.is_judged


LISTED: Final = StateLists(
    kind=ListKind.HUMAN_TASKS,
    prefix=ASKED,
    is_listed=_is_listed,
    opened=opened_commands,
    ended=ended_commands,
)
