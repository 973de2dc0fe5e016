"""The record that says in which form a Redis keeps documents: who finds none makes it, and all others follow."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import exchange, open_pool
from dcf.store.connection.inspection import inspect_server
from dcf.store.forms.form import DocumentForm, FormName
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.record import WantedForm, form_of
from dcf.store.forms.text_form import TEXT_FORM
from dcf.store.keys import table as keys
from tests.store.forms.conftest import Kind, Served, connected
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


@rows(
    "kind, wanted, expected",
    [
        ("plain", "auto", "text"),
        ("plain", "text", "text"),
        ("with_json", "auto", "json"),
        ("with_json", "json", "json"),
        ("with_json", "text", "text"),
    ],
)
def test_an_empty_redis_gets_the_form_that_is_wanted_and_possible(
    place: Path, kind: Kind, wanted: WantedForm, expected: FormName
) -> None:
    with Served(place, kind) as client:
        connections = connected(place, wanted)
        assert connections.form.name == inspect_server(connections).documents == expected
        assert client.get(keys.DOCUMENT_FORM) == expected.encode()
        connections.close()


def test_a_probe_that_an_older_version_left_does_not_hide_redisjson(place: Path) -> None:
    with Served(place, "with_json") as client:
        client.set(keys.PROBE, "1")
        assert connected(place).form is JSON_FORM


def test_the_json_form_is_refused_where_redis_does_not_have_it(place: Path) -> None:
    with Served(place, "plain") as client:
        with pytest.raises(StoreUnsuitable, match="has no RedisJSON"):
            assert connected(place, "json").form
        assert client.get(keys.DOCUMENT_FORM) is None
        client.set(keys.DOCUMENT_FORM, "json")
        with pytest.raises(StoreUnsuitable, match="need RedisJSON"):
            inspect_server(connected(place))


@rows("form", [JSON_FORM, TEXT_FORM], ids=["json", "text"])
def test_another_form_than_the_recorded_one_is_refused_with_the_way_to_move(place: Path, form: DocumentForm) -> None:
    others: dict[str, WantedForm] = {"json": "text", "text": "json"}
    with Served(place, "with_json"):
        assert connected(place, form.name).form is form
        assert connected(place).form is form
        with pytest.raises(StoreUnsuitable) as raised:
            assert connected(place, others[form.name]).form
        assert raised.value.hint.endswith(f"dcf store move --to {others[form.name]}.")


@rows("record, told", [("moving", "being moved"), ("cbor", "does not know")])
def test_what_nobody_can_use_now_is_refused(place: Path, record: str, told: str) -> None:
    with Served(place, "with_json") as client:
        client.set(keys.DOCUMENT_FORM, record)
        with pytest.raises(StoreUnsuitable, match=told):
            assert connected(place).form


def test_of_two_processes_that_start_at_once_both_have_the_form_of_the_first(place: Path) -> None:
    with Served(place, "with_json"):
        connection = open_pool(f"unix://{place}").get_connection()

        def after_another(commands: Sequence[Command]) -> list[Reply]:
            if commands[0][0] == "SET":
                assert connected(place, "text").form is TEXT_FORM
            return exchange(connection, commands)

        assert form_of(after_another) is TEXT_FORM
        assert connected(place).form is TEXT_FORM


@rows("form", [JSON_FORM, TEXT_FORM], ids=["json", "text"])
def test_runs_without_a_record_tell_their_form(place: Path, form: DocumentForm) -> None:
    with Served(place, "with_json") as client:
        world = World(connections=connected(place, form.name))
        run = world.create(chain("A"))
        client.delete(keys.DOCUMENT_FORM)
        result = World(connections=connected(place))
        assert result.doc(run, "A").status == "pending"
        assert result.connections.form is form
        assert client.get(keys.DOCUMENT_FORM) == form.name.encode()


def test_documents_of_an_older_version_are_json_though_there_is_no_run(place: Path) -> None:
    with Served(place, "with_json") as client:
        AccessKeys(connected(place, "json")).create((), agent_id=None, label=None, life_s=None)
        client.delete(keys.DOCUMENT_FORM)
        with pytest.raises(StoreUnsuitable, match="keeps documents in RedisJSON"):
            assert connected(place, "text").form
        assert connected(place).form is JSON_FORM


def test_a_redis_that_lost_its_record_and_has_no_module_keeps_text(place: Path) -> None:
    with Served(place, "plain") as client:
        AccessKeys(connected(place)).create((), agent_id=None, label=None, life_s=None)
        client.delete(keys.DOCUMENT_FORM)
        assert connected(place).form is TEXT_FORM


def test_a_failover_to_a_copy_with_the_other_form_is_noticed_before_anything_is_sent(place: Path) -> None:
    connections = connected(place)
    world = World(connections=connections)
    with Served(place, "with_json"):
        run = world.create(chain("A"))
        assert connections.form is JSON_FORM
    with Served(place, "plain"):
        other = World(connections=connected(place))
        assert other.create(chain("A"), run=run) == run
        with pytest.raises(StoreUnavailable, match="in another form"):
            world.acquire(run, "A")
        assert world.acquire(run, "A")
        assert connections.form.name == "text"
