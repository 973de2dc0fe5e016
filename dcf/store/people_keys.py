"""The keys of the lists of open human tasks: one of all, one for each person, group and run.

`cp:idx:asked:all`, `:person:<id>`, `:group:<name>` and `:run:<id>` are sorted sets of `<run>/<state>` by the epoch of
the visit, which is the time at which it was opened. They are written by a run's transactions just before the commit,
taken off after the one that ends the visit, and gone with their last entry (`store/human_tasks.py`).
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.asking import Asking
from dcf.core.human_tasks import waits_for_person
from dcf.core.model import StateDoc
from dcf.store.connection import Command
from dcf.store.key_parts import decode_state, encode_state

ASKED: Final = "cp:idx:asked:"
ALL_ASKED: Final = f"{ASKED}all"


def asked_of(queue: str) -> str:
    """Return the key of the list of a queue: `person:<id>` or `group:<name>`."""
    return f"{ASKED}{queue}"


def asked_in(workflow_id: str) -> str:
    """Return the key of the list of a run's open human tasks."""
    return f"{ASKED}run:{workflow_id}"


def member(workflow_id: str, path: str) -> str:
    """Return the entry of a state of a run."""
    return f"{workflow_id}/{encode_state(path)}"


def read_member(entry: str) -> tuple[str, str]:
    """Return the run and the path of the state that an entry names."""
    workflow_id, _, part = entry.partition("/")
    return workflow_id, decode_state(part)


def lists_of(workflow_id: str, asked: Asking) -> list[str]:
    """Return the keys of all lists that a task of a run is on."""
    return [ALL_ASKED, asked_in(workflow_id), *map(asked_of, asked.queues)]


def opened_commands(workflow_id: str, states: Mapping[str, StateDoc]) -> list[Command]:
    """Return the commands that list the human tasks that are opened, or that others may answer too from now on."""
    return [
        ("ZADD", key, doc.lease.epoch, member(workflow_id, path))
        for path, doc in states.items()
        if doc.asked is not None and waits_for_person(doc)
        for key in lists_of(workflow_id, doc.asked)
    ]
