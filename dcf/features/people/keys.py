"""The keys of the lists of open human tasks: one of all, one for each person, group and run.

`cp:idx:asked:all`, `:person:<id>`, `:group:<name>` and `:run:<id>` are sorted sets. A human task is `<run>/<state>` by
the epoch of the visit, which is the time at which it was opened. A question of a lease holder is
`<run>/<state>?<question>`, by the time at which it was asked. A gate that people decide is `<run>/<state>?gate:<name>`.
A run's transactions write an entry just before the commit. They take it off after the commit that ends the visit or
answers (`features/people/storage.py`).
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.features.gates.model import OpenGate, open_gates
from dcf.features.people.answering import waits_for_person
from dcf.features.people.model import Asking, asking_of
from dcf.features.questions.model import Open, questioned_of
from dcf.store.connection.commands import Command
from dcf.store.keys.parts import member

ASKED: Final = "cp:idx:asked:"
ALL_ASKED: Final = f"{ASKED}all"
_GATE: Final = "gate:"


def asked_of(queue: str) -> str:
    """Return the key of the list of a queue: `person:<id>` or `group:<name>`."""
    return f"{ASKED}{queue}"


def asked_in(workflow_id: str) -> str:
    """Return the key of the list of a run's open human tasks."""
    return f"{ASKED}run:{workflow_id}"


def question_member(workflow_id: str, path: str, question_id: str) -> str:
    """Return the entry of a question about a state of a run."""
    return f"{member(workflow_id, path)}?{question_id}"


def question_of(entry: str) -> str | None:
    """Return the id of the question that an entry names; None for one of a human task."""
    return entry.partition("/")[2].partition("?")[2] or None


def lists_of(workflow_id: str, asking: Asking | Open | OpenGate) -> list[str]:
    """Return the keys of all lists that a task or a question of a run is on."""
    return [ALL_ASKED, asked_in(workflow_id), *map(asked_of, asking.queues)]


def open_questions(doc: StateDoc) -> tuple[Open, ...]:
    """Return the questions about a state that wait for their answers."""
    questioned = None if doc.status.is_terminal else questioned_of(doc)
    return () if questioned is None else questioned.open


def gate_id(name: str) -> str:
    """Return what names a gate in an entry, where a question has its id."""
    return f"{_GATE}{name}"


def gate_of(question_id: str | None) -> str | None:
    """Return the name of the gate that an entry names; None for one of a question or a human task."""
    return question_id.removeprefix(_GATE) if question_id is not None and question_id.startswith(_GATE) else None


def gates_for_people(doc: StateDoc) -> tuple[OpenGate, ...]:
    """Return the gates of a state that people decide, and that wait."""
    return tuple(open_gate for open_gate in open_gates(doc) if open_gate.by_people)


def opened_commands(workflow_id: str, states: Mapping[str, StateDoc]) -> list[Command]:
    """Return the commands that list what is opened for people: human tasks, also for others from now on, questions."""
    commands: list[Command] = []
    for path, doc in states.items():  # plain, since each commit comes here, and seldom finds anything
        if not doc.attached:
            continue
        asking = asking_of(doc)
        if asking is not None and waits_for_person(doc):
            commands += _listed(workflow_id, asking, doc.lease.epoch, member(workflow_id, path))
        for question in open_questions(doc):
            commands += _listed(
                workflow_id, question, question.asked_at, question_member(workflow_id, path, question.question_id)
            )
        for gate in gates_for_people(doc):
            entry = question_member(workflow_id, path, gate_id(gate.name))
            commands += _listed(workflow_id, gate, gate.since, entry)
    return commands


def _listed(workflow_id: str, asking: Asking | Open | OpenGate, at: int, entry: str) -> list[Command]:
    return [("ZADD", key, at, entry) for key in lists_of(workflow_id, asking)]
