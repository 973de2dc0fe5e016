"""Reads and writes by rows: the store has one function for each, so that none can be forgotten or confused."""

from dataclasses import fields
from typing import Any

from dcf.core.documents.decision import Decision, OtherRun, ReadSet, Seeker, Snapshot, WriteSet
from dcf.core.documents.parts import WHOLE
from dcf.features.gates.model import RECORDS
from dcf.features.growing.counts import GROWTH
from dcf.features.growing.model import UNITS
from dcf.features.journal.model import ENTRIES
from dcf.features.questions.model import TALK
from dcf.store.extensions import PARTS
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.reading import READS, Reading
from dcf.store.transaction.writing import ANNOUNCES, WRITES, commit_commands
from tests.support.redis.documents import SENT, STORED, write_many_command
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

RUN = RunKeys("r")
WANTED: dict[str, Any] = {
    "states": ("A",),
    "inputs": ("A",),
    "entries": ("A",),
    "outputs": ("A",),
    "briefed": ("A",),
    "agents": ("A",),
    "timers": ("A",),
    "scopes": ("A",),
    "items": (("A", 0),),
    "tallies": ("A",),
    "receipts": (("A", "x"),),
    "run_receipts": ("x",),
    "open_states": (0, 9),
    "seeker": Seeker(most=1, owner="ann", mark="m"),
    "claims": ("token",),
    "signals": True,
    "usage": True,
    "parts": {
        **TALK.wanted(WHOLE),
        **ENTRIES.wanted(("j0",)),
        **GROWTH.wanted(WHOLE),
        **UNITS.wanted(WHOLE),
        **RECORDS.wanted(("A",)),
    },
    "whole_meta": True,
    "audit": True,
    "other": OtherRun(run="s", reads=ReadSet()),
}
NOT_ASKED_FOR = {"now", "meta", "meta_document", "void", "page", "taken", "held"}
"""The rows of every snapshot, and those that come with a page of open states."""


def names(record: type) -> set[str]:
    return {field.name for field in fields(record)}


def test_every_row_of_the_changes_has_its_commands() -> None:
    assert set(WRITES) | set(ANNOUNCES) | {"parts"} == names(WriteSet)
    assert not set(WRITES) & set(ANNOUNCES)


def test_every_row_that_is_read_has_its_row_in_the_snapshot() -> None:
    assert set(READS) | {"parts"} == names(Snapshot) - NOT_ASKED_FOR
    assert set(READS) | {"parts"} == names(ReadSet) - {"agents", "open_states", "seeker", "claims", "whole_meta"}


@rows("row", sorted(names(ReadSet)))
def test_every_row_of_the_reads_asks_for_something(row: str) -> None:
    around: dict[str, Any] = {"open_states": (0, 9)} if row in {"claims", "seeker"} else {}
    assert (
        Reading(STORED, RUN, ReadSet(**around, **{row: WANTED[row]})).commands()
        != Reading(STORED, RUN, ReadSet(**around)).commands()
    )


def test_every_installed_part_is_wanted_here_and_reads_something_of_its_own() -> None:
    assert set(WANTED["parts"]) == set(PARTS.rows)
    request = [
        set(Reading(STORED, RUN, ReadSet(parts={part: WANTED["parts"][part]})).commands()) for part in PARTS.rows
    ]
    common = set(Reading(STORED, RUN, ReadSet()).commands())
    assert all(commands - common for commands in request)
    assert sum(len(commands - common) for commands in request) == len(set().union(*request) - common)


def test_all_documents_are_one_command_to_read_and_one_to_write() -> None:
    reading = Reading(STORED, RUN, ReadSet(**WANTED))
    assert sum(command[0] == SENT.read_many for command in reading.commands()) == 1
    written = commit_commands(
        STORED, RUN, WriteSet(outputs={"A": 1, "B": 2}, results={"C": 3}, opened=["C", "D"], dropped=["E"])
    )
    assert written == [
        ("DEL", RUN.join("C"), RUN.join("D"), RUN.output("E")),
        write_many_command({RUN.output("A"): b"1", RUN.output("B"): b"2", RUN.results("C"): b"3"}),
    ]


def test_what_is_asked_together_is_found_as_if_it_were_asked_alone(world: World) -> None:
    """A key that several rows need is read once, and each row finds it."""
    run = world.create(
        workflow({"Each": each({"Leaf": task()}, ItemSelector={"i.$": "$$.Map.Item.Index"})}), run_input=[7]
    )
    path = "Each/0/Leaf"
    request: dict[str, Any] = {
        "states": ("Each", path),
        "inputs": (path, "Each"),
        "entries": ("Each",),
        "outputs": ("Each",),
        "timers": (path, "Each"),
        "scopes": ("Each",),
        "items": (("Each", 0), ("Each", 5)),
        "tallies": ("Each",),
        "whole_meta": True,
        "audit": True,
    }
    together = world.store.read(run, ReadSet(**request))
    for row, expected in request.items():
        alone = world.store.read(run, ReadSet(**{row: expected}))
        text = "meta_document" if row == "whole_meta" else row
        assert getattr(together, text) == getattr(alone, text), row
    assert together.inputs == {path: {"i": 0}, "Each": [7]}
    assert (together.items, together.outputs, together.audit) == ({("Each", 0): 7, ("Each", 5): None}, {}, None)
    assert together.scopes["Each"].effective == together.entries["Each"].raw == [7]


def test_what_another_run_is_comes_with_what_is_decided_on(world: World) -> None:
    runs = [world.create(chain("A", "B"), run_input=number) for number in range(3)]
    seen: list[Snapshot] = []

    def decide(snapshot: Snapshot) -> Decision[None]:
        seen.append(snapshot)
        return Decision(answer=None, changes=WriteSet(outputs={"A": 1}))

    for other in runs[1:]:
        other_run = OtherRun(run=other, reads=ReadSet(states=("A",), inputs=("A",), whole_meta=True))
        world.store.transact(runs[0], ReadSet(states=("B",), other=other_run), decide)
    others = [item.other for item in seen if item.other is not None]
    assert [(set(other.states), other.inputs) for other in others] == [({"A"}, {"A": number}) for number in (1, 2)]
    assert [(other.meta_document or {}).get("input") for other in others] == [1, 2]
    assert [set(item.states) for item in seen] == [{"B"}, {"B"}]


def test_a_page_of_open_states_adds_to_what_was_asked_for_by_name(real: World) -> None:
    run = real.create(chain("A", "B"))
    seen: list[Snapshot] = []

    def look(snapshot: Snapshot) -> Decision[None]:
        seen.append(snapshot)
        return Decision(answer=None)

    real.store.transact(run, ReadSet(states=("B",), open_states=(0, 9)), look)
    assert set(seen[0].states) == {"A", "B"}
    assert (seen[0].page, set(seen[0].inputs)) == (1, {"A"})
