"""The lists of items that wait for people, across runs: of all, a person, a group, a run. Entries may be stale.

They have open human tasks, and the questions of workers, those for a planner too.

An entry is written just before the commit that opens the task (`keys`), so that none is missing, and taken off after
the one that ends it. If the process dies between, the next reader of the list takes it off, or the sweep does.
A page costs what it shows: its entries, and of each the documents of the run, the state and its input.
"""

from collections.abc import Sequence
from heapq import merge
from itertools import islice
from typing import Final

from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.listing.checks import ListKind
from dcf.errors import StateError
from dcf.features.gates.storage import FACTS, unlisted_commands
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
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.extensions import StateLists
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.parts import member, read_member
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask, take_off_unless
from dcf.store.transaction.state_texts import read_text
from dcf.values.instants import SECOND
from dcf.values.json_text import load
from dcf.values.records import replace

_SPARE: Final = 14
"""Entries read beyond the page, in place of stale ones."""

_LOOKED_AT: Final = 2_000
"""Entries that one page looks at, at most; then the page ends."""

_BEING_OPENED: Final = 60 * SECOND
"""An entry younger than this may be of a task that is just being opened."""

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
            commands += [_unlist(key, run, path, before.lease.epoch) for key in lists_of(run.workflow_id, asking)]
    return commands


def _closed_questions(run: RunKeys, path: str, before: StateDoc, after: StateDoc) -> list[Command]:
    left = {question.question_id for question in open_questions(after)}
    closed = [question for question in open_questions(before) if question.question_id not in left]
    return [
        _unlist_question(key, run, path, question.question_id)
        for question in closed
        for key in lists_of(run.workflow_id, question)
    ]


def _closed_gates(run: RunKeys, path: str, before: StateDoc, after: StateDoc) -> list[Command]:
    left = {open_gate.name for open_gate in gates_for_people(after)}
    closed = [open_gate for open_gate in gates_for_people(before) if open_gate.name not in left]
    return [_unlist_gate(key, run, path, gate.name) for gate in closed for key in lists_of(run.workflow_id, gate)]


def _unlist_gate(key: str, run: RunKeys, path: str, name: str) -> Command:
    entry = question_member(run.workflow_id, path, gate_id(name))
    return ("EVAL", _TAKE_OFF_GATE, 1, key, entry, name, run.state(path))


def _unlist_question(key: str, run: RunKeys, path: str, question_id: str) -> Command:
    entry = question_member(run.workflow_id, path, question_id)
    return ("EVAL", _TAKE_OFF_QUESTION, 1, key, entry, question_id, run.state(path))


def _unlist(key: str, run: RunKeys, path: str, epoch: int) -> Command:
    return ("EVAL", _TAKE_OFF, 1, key, member(run.workflow_id, path), epoch, run.state(path))


class HumanTasks:
    """The open human tasks of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def page(self, query: HumanTaskQuery) -> HumanTaskPage:
        """Return a page of open tasks, oldest first."""
        (clock,), lists = self._connections.send(("TIME",)), _lists(query)
        now, place, looked = micros(clock), query.place, 0
        rows: list[HumanTaskRow] = []
        while looked < _LOOKED_AT:
            count = query.limit - len(rows) + _SPARE
            entries = self._entries(lists, place, count)
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

    def _entries(self, lists: Sequence[str], place: TaskCursor | None, count: int) -> list[TaskCursor]:
        """Return `wanted` entries after the place, of all these lists together, each once."""
        entries = merge(*(self._after(key, place, count) for key in lists), key=_order)
        return list(islice(dict.fromkeys(entries), count))

    def _after(self, key: str, place: TaskCursor | None, count: int) -> list[TaskCursor]:
        """Return `wanted` entries of a list after the place. Tasks opened at one moment are ordered by name."""
        low, skipped, cursors = "-inf" if place is None else str(place.epoch), 0, list[TaskCursor]()
        while len(cursors) < count:
            page: Command = ("ZRANGE", key, low, "+inf", "BYSCORE", "LIMIT", skipped, count, "WITHSCORES")
            (raw,) = self._connections.send(page)
            scored = zip(raw[::2], raw[1::2], strict=True)
            entries = [TaskCursor(epoch=int(float(score)), entry=name.decode()) for name, score in scored]
            cursors += [entry for entry in entries if place is None or place.is_before(entry.epoch, entry.entry)]
            skipped += len(entries)
            if len(entries) < count:
                break
        return cursors

    def _rows(
        self, task_cursors: Sequence[TaskCursor], lists: Sequence[str], now: int
    ) -> list[tuple[TaskCursor, HumanTaskRow | None]]:
        """Return the entries with their documents; None for entries that no longer wait, which are taken off."""
        form, named = self._connections.form, [read_member(item.entry) for item in task_cursors]
        questions = [question_of(item.entry) for item in task_cursors]
        commands = [
            command
            for (workflow_id, path), question in zip(named, questions, strict=True)
            for command in _reads(form, RunKeys(workflow_id), path, question)
        ]
        replies = iter(self._connections.ask(*commands) if commands else ())
        rows: list[tuple[TaskCursor, HumanTaskRow | None]] = []
        stale: list[Command] = []
        for place, (workflow_id, path), question in zip(task_cursors, named, questions, strict=True):
            row = _row(form, place, workflow_id, path, question, (next(replies), next(replies), next(replies)))
            if row is None and place.epoch < now - _BEING_OPENED:
                run, on = RunKeys(workflow_id), (*lists, ALL_ASKED, asked_in(workflow_id))
                if question is None:
                    stale += [_unlist(key, run, path, place.epoch) for key in on]
                elif (gate := gate_of(question)) is not None:
                    stale += [_unlist_gate(key, run, path, gate) for key in on]
                else:
                    stale += [_unlist_question(key, run, path, question) for key in on]
            rows.append((place, row))
        if stale:
            ask(self._connections, *stale)
        return rows


def _order(place: TaskCursor) -> tuple[int, str]:
    return place.epoch, place.entry


def _lists(query: HumanTaskQuery) -> list[str]:
    """Return the lists that together have all tasks of the query; the shortest that are known to."""
    if query.run is not None:
        return [asked_in(query.run)]
    own = [] if query.person is None else [asked_of(f"person:{query.person}")]
    return [*own, *(asked_of(f"group:{name}") for name in query.groups)] or [ALL_ASKED]


def _reads(form: DocumentForm, run: RunKeys, path: str, question: str | None) -> tuple[Command, Command, Command]:
    return (
        form.members(run.meta, FACTS),
        form.read(run.state(path)),
        form.read(run.input(path) if question is None else run.talk),
    )


def _row(
    form: DocumentForm,
    place: TaskCursor,
    workflow_id: str,
    path: str,
    question: str | None,
    replies: tuple[Reply, Reply, Reply],
) -> HumanTaskRow | None:
    meta, state, talk_text = replies
    facts = (None if isinstance(meta, Exception) else form.values(FACTS, meta)) or {}
    is_running, project = facts.get("status") == RunStatus.RUNNING, facts.get("project")
    text = None if isinstance(state, Exception) else form.text(state)
    doc = read_text(text) if is_running and text is not None else None
    if doc is None:
        return None
    about, gate = None if isinstance(talk_text, Exception) else form.text(talk_text), gate_of(question)
    if gate is not None:
        waiting = (open_gate for open_gate in gates_for_people(doc) if open_gate.name == gate)
        row = HumanTaskRow(place=place, workflow_id=workflow_id, state=path, doc=doc, task=None, project=project)
        return next((replace(row, gate=gate) for gate in waiting), None)
    if question is not None:
        asked_question = None if about is None else read_talk(load(about)).question(question)
        if asked_question is None or not any(
            open_question.question_id == question for open_question in open_questions(doc)
        ):
            return None
        return HumanTaskRow(
            place=place,
            workflow_id=workflow_id,
            state=path,
            doc=doc,
            task=None,
            question=asked_question,
            project=project,
        )
    if not waits_for_person(doc):
        return None
    return HumanTaskRow(place=place, workflow_id=workflow_id, state=path, doc=doc, task=_task(about), project=project)


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
