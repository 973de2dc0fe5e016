"""Moving the documents of an idle Redis to the other form, and back."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import pytest

from dcf.errors import StoreUnsuitable
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections
from dcf.store.connection.server_time import ServerTime
from dcf.store.forms import move as moving
from dcf.store.forms.form import DocumentForm
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.move import DocumentMove
from dcf.store.forms.text_form import TEXT_FORM
from dcf.store.keys import table as keys
from dcf.store.keys.documents import is_stored_document
from dcf.store.keys.table import RunKeys
from dcf.store.lists.agents import AgentRecord, AgentRecords
from dcf.values.json_text import load
from tests.store.forms.conftest import Kind, Served, connected
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

Both: TypeAlias = tuple[DocumentForm, DocumentForm]
FORMS: Final[Mapping[str, Both]] = {"json": (JSON_FORM, TEXT_FORM), "text": (TEXT_FORM, JSON_FORM)}
DOC, FOREIGN = "doc:notes", "doc:of-another-program"


class Site:
    """A Redis with something of everything that is a document, for the length of a block."""

    def __init__(self, place: Path, form: DocumentForm, kind: Kind = "with_json") -> None:
        self._place = place
        self._form = form
        self._served = Served(place, kind)

    def __enter__(self) -> Self:
        self._served.__enter__()
        place, form = self._place, self._form
        self.connections = connected(place, form.name)
        self.world = World(connections=self.connections)
        self.chain = self.world.create(chain("A", "B"), agents={"A": "w"})
        self.token = self.world.acquire(self.chain, "A")
        self.map = self.world.create(workflow({"Each": each({"Leaf": task()})}), run_input=[1, None, {"a": []}])
        self.key = AccessKeys(self.connections).create((), agent_id=None, label="x", life_s=3600, remembered=False)
        AgentRecords(self.connections).create(AgentRecord(agent_id="mia", name="Mia", blocks={"b1": {"label": "x"}}))
        written = EditedDocument(document={"b": 1, "a": [2.5]}, receipt={}, life_s=60, keep_s=5000)
        Edits(self.connections).transact(DOC, "r", lambda _: EditOutcome(answer=None, written=written))
        self.connections.send(("SET", FOREIGN, '{"of": "another"}'))
        return self

    def __exit__(self, *error: object) -> None:
        self._served.__exit__(*error)

    def documents(self, form: DocumentForm) -> dict[str, Any]:
        """All documents that are in a form, by key, and about how many seconds they are kept yet."""
        connections = self.free()
        ((_, names),) = connections.send(("SCAN", 0, "COUNT", 10_000))
        documents = {}
        for name in sorted(name.decode() for name in names):
            kind, left = connections.send(("TYPE", name), ("TTL", name))
            if (is_stored_document(name) or name == DOC) and form.is_document(name, kind):
                (reply,) = connections.send(form.read(name))
                documents[name] = (load(form.text(reply) or b""), round(left, -3) if left > 0 else left)
        connections.close()
        return documents

    def free(self) -> Connections:
        """Connections that follow no record."""
        connections = connected(self._place)
        connections.follows_record = False
        return connections

    def move(self, to: DocumentForm) -> int:
        """Move all."""
        work = DocumentMove(self.free(), ("doc:",))
        work.move(to)
        return work.moved


@rows("name", FORMS)
def test_all_documents_are_moved_and_moved_back_and_runs_go_on(place: Path, name: str) -> None:
    source, other = FORMS[name]
    with Site(place, source) as site:
        before = site.documents(source)
        assert len(before) > 15
        assert DOC in before
        assert site.documents(other) == {}
        assert site.move(other) == len(before)
        assert site.documents(other) == before
        assert site.documents(source) == {}
        there = World(connections=connected(place))
        assert there.connections.form is other
        there.complete(site.chain, "A", site.token, {"done": True})
        assert there.given(site.chain, "B") == {"done": True}
        assert AccessKeys(there.connections).admit(site.key.text) is not None
        assert Edits(there.connections).read(DOC) == {"b": 1, "a": [2.5]}
        moved = site.documents(other)
        assert site.move(source) == len(moved)
        assert site.documents(source) == moved
        assert site.free().send(("GET", FOREIGN)) == [b'{"of": "another"}']


@rows("name", FORMS)
def test_a_move_that_was_stopped_goes_on_or_back(place: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, other = FORMS[name]
    with Site(place, source) as site:
        before = site.documents(source)
        monkeypatch.setattr(moving, "_PAGE", 10)
        pages = DocumentMove._pages

        def stopped(self: DocumentMove) -> Iterator[list[str]]:
            for number, page in enumerate(pages(self)):
                if number == 3:
                    raise KeyboardInterrupt
                yield page

        for to in (other, source):
            monkeypatch.setattr(DocumentMove, "_pages", stopped)
            with pytest.raises(KeyboardInterrupt):
                site.move(other)
            assert 0 < len(site.documents(other)) < len(before)
            with pytest.raises(StoreUnsuitable, match="being moved"):
                assert connected(place).form
            monkeypatch.setattr(DocumentMove, "_pages", pages)
            site.move(to)
            assert site.documents(to) == before
            assert connected(place).form is to
            site.move(source)


@rows("sign", ["clock", "agent"])
def test_a_redis_that_a_process_uses_is_left_alone(place: Path, sign: str) -> None:
    with Site(place, JSON_FORM) as site:
        before = site.documents(JSON_FORM)
        if sign == "clock":
            ServerTime(site.connections).read()
        else:
            (clock,) = site.connections.send(("TIME",))
            site.connections.send(("ZADD", keys.SEEN, int(clock[0]) * 1_000_000, "mia"))
        with pytest.raises(StoreUnsuitable, match="used this Redis"):
            site.move(TEXT_FORM)
        assert site.documents(JSON_FORM) == before
        assert connected(place).form is JSON_FORM


def test_a_process_that_comes_while_documents_are_moved_is_noticed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site(place, JSON_FORM) as site:
        pages = DocumentMove._pages

        def disturbed(self: DocumentMove) -> Iterator[list[str]]:
            yield from pages(self)
            ServerTime(site.connections).read()

        monkeypatch.setattr(DocumentMove, "_pages", disturbed)
        with pytest.raises(StoreUnsuitable, match="while its documents were moved"):
            site.move(TEXT_FORM)
        with pytest.raises(StoreUnsuitable, match="being moved"):
            assert connected(place).form


def test_a_document_that_changes_meanwhile_is_not_replaced(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Site(place, JSON_FORM) as site:
        meta = site.world.store.keys(site.chain).meta
        replacing = moving._replacing

        def late(name: str, reply: bytes, to: DocumentForm) -> Any:
            if name == meta:
                site.free().send(JSON_FORM.put_member(meta, "status", b'"failed"'))
            return replacing(name, reply, to)

        monkeypatch.setattr(moving, "_replacing", late)
        with pytest.raises(StoreUnsuitable, match="changed while it was moved"):
            site.move(TEXT_FORM)
        assert site.free().send(("TYPE", meta)) == [b"ReJSON-RL"]


def test_documents_can_be_moved_just_after_a_health_report(place: Path) -> None:
    with Site(place, JSON_FORM) as site:
        before = site.documents(JSON_FORM)
        site.free().send(("SET", keys.PROBE, "1"))
        assert site.move(TEXT_FORM) == len(before)


@rows("name", FORMS)
def test_what_a_version_without_forms_added_is_moved_to_the_form_of_the_others(place: Path, name: str) -> None:
    form, other = FORMS[name]
    with Site(place, form) as site:
        before, added = site.documents(form), RunKeys("added")
        site.free().send(other.put(added.meta, '{"status":"running"}'), other.put(added.state("A"), "{}"))
        assert site.move(form) == 2
        left = {added.meta: ({"status": "running"}, -1), added.state("A"): ({}, -1)}
        assert site.documents(form) == before | left
        assert connected(place).form is form


def test_without_redisjson_nothing_is_moved(place: Path) -> None:
    with Site(place, TEXT_FORM, "plain") as site:
        before = site.documents(TEXT_FORM)
        with pytest.raises(StoreUnsuitable, match="only where Redis has RedisJSON"):
            site.move(JSON_FORM)
        assert site.move(TEXT_FORM) == 0
        assert site.documents(TEXT_FORM) == before
        assert connected(place).form is TEXT_FORM
