"""Other keys and documents affect each other: expiry, deletion meanwhile, strings of other programs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from dcf.errors import DcfError, InvalidArgument, NotFound
from dcf.features.documents.operations import JsonDocuments
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits
from dcf.store.forms.form import DocumentForm
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.text_form import TEXT_FORM
from dcf.store.keys.documents import document_of
from dcf.store.keys.kinds import KEY_KINDS
from dcf.store.lists.agents import AgentRecord, AgentRecords
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from tests.store.forms.conftest import Served, connected
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

FORMS: Final[Mapping[str, DocumentForm]] = {"json": JSON_FORM, "text": TEXT_FORM}


@contextmanager
def world_with(place: Path, name: str, before_commit: Callable[[], None] | None = None) -> Iterator[World]:
    """dcf on a Redis that keeps documents in this form."""
    with Served(place, "with_json"):
        world = World(connections=connected(place, FORMS[name].name), before_commit=before_commit)
        assert world.connections.form is FORMS[name]
        yield world
        world.connections.close()


def edit(world: World, key: str, document: Json) -> None:
    written = EditedDocument(document=document, receipt={}, life_s=60)
    Edits(world.connections).transact(key, f"to {document}", lambda _: EditOutcome(answer=None, written=written))


@rows("name", FORMS)
def test_no_document_of_an_ended_run_loses_its_expiry(place: Path, name: str) -> None:
    with world_with(place, name) as world:
        run, key = world.create(chain("A", "B"), agents={"A": "w"}), world.store.keys
        for state in ("A", "B"):
            world.do(run, state, output={"of": state})
        world.finalize(run)
        world.outbox.expire(run, ("A", "B"), (), (), 1000)
        documents = [code for code in world.keys_of(run) if document_of(code) is not None]
        assert len(documents) >= 8
        world.plane.pack(run)
        for document in documents:
            edit(world, document, Edits(world.connections).read(document))
        world.due.settle(run)
        assert {item: 0 < world.ask("TTL", item) <= 1000 for item in documents} == dict.fromkeys(documents, True)
        assert isinstance(Edits(world.connections).read(key(run).definition), str)


@rows("name", FORMS)
def test_a_run_that_is_deleted_while_a_member_is_written_leaves_no_key(place: Path, name: str) -> None:
    """HSET makes a key where RedisJSON refuses a path: who writes members must watch what they are of."""
    removed: list[str] = []

    def delete() -> None:
        for run in removed:
            world.ask("DEL", *world.keys_of(run))

    with world_with(place, name, before_commit=delete) as world:
        calls: list[Callable[[str], object]] = [
            lambda run: world.plane.kick_off(run, "go"),
            world.finalize,
            lambda run: world.acquire(run, "A"),
        ]
        for call in calls:
            run = world.create(chain("A", "B"), agents={"A": "w"})
            removed[:] = [run]
            with pytest.raises(DcfError):
                call(run)
            removed.clear()
            assert world.keys_of(run) == []
        records = AgentRecords(world.connections)
        records.create(AgentRecord(agent_id="mia", name="Mia"))
        records.delete("mia")
        assert not records.put("mia", "tools", "t1", {})
        assert world.ask("EXISTS", "cp:idx:agent:mia") == 0


@rows("name", FORMS)
def test_only_documents_of_a_run_are_documents(place: Path, name: str) -> None:
    with world_with(place, name) as world:
        run = world.create(chain("A"))
        tools = JsonDocuments(Edits(world.connections), world.plane, ("cp:wf:", "dp:wf:", "cp:idx:", "doc:"), 1000)
        for kind, how in KEY_KINDS.items():
            key = world.store.keys(run).of(kind, None if "run" in how.per else "A")
            if how.shape is None:
                with pytest.raises(InvalidArgument, match="no JSON document"):
                    tools.read(key)
        world.ask("SET", "cp:idx:sweep", "{}")
        with pytest.raises(InvalidArgument, match="no JSON document"):
            tools.read("cp:idx:sweep")


@rows("name", FORMS)
def test_a_string_of_another_program_is_not_replaced(place: Path, name: str) -> None:
    with world_with(place, name) as world:
        edits, key = Edits(world.connections), "doc:counter"
        for text in ("7", '{"a": 1}', "no JSON", ""):
            world.ask("SET", key, text)
            for document in ({"b": 2}, MISSING):
                with pytest.raises(NotFound, match="holds no JSON document"):
                    edit(world, key, document)
            assert world.ask("GET", key) == text.encode()
        world.ask("DEL", key)
        edit(world, key, {"b": 2})
        edit(world, key, {"b": 3})
        assert edits.read(key) == {"b": 3}
        edit(world, key, MISSING)
        assert edits.read(key) is MISSING


def test_text_of_another_program_can_be_read(place: Path) -> None:
    with world_with(place, "text") as world:
        world.ask("SET", "doc:by-hand", '{"a": [1]}')
        assert Edits(world.connections).read("doc:by-hand") == {"a": [1]}
        world.ask("SET", "doc:by-hand", "{a")
        with pytest.raises(NotFound, match="holds no JSON document"):
            Edits(world.connections).read("doc:by-hand")
