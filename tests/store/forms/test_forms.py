"""Both forms say the same: whatever documents are written and read, in Python and in Lua."""

import secrets
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DOCUMENTS, DocumentForm, Member
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.text_form import TEXT_FORM
from dcf.store.keys import table as keys
from dcf.store.keys.documents import shape_of
from dcf.store.keys.table import RunKeys
from dcf.values.json_text import Json, dump_bytes, load
from tests.support.tables import rows

FORMS: Final[Sequence[DocumentForm]] = (JSON_FORM, TEXT_FORM)

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)
names = texts | st.sampled_from(
    ["", "$", "$$", " ", " first", 'agents["x"]', '$agents["x"]', 'a"b', "a\\b", "0", "agents", "skills", "a.b", "\x01"]
)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0.5, 1e300, -2.25]) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
plain_names = st.sampled_from(["Check stock", "A", "a.b", "ä", "x" * 40, "0", "'", "]", " first"])
"""RedisJSON writes a member whose name has a quote or a backslash under another name (2.8.3)."""

documents = values | st.dictionaries(names, values, max_size=5)
metas = st.fixed_dictionaries(
    {"agents": st.dictionaries(names, values, max_size=4), "status": scalars},
    optional={"states": st.lists(texts, max_size=5), "skills": values, "blocked_by": values},
)


def ask(connections: Connections, *commands: Command) -> list[Reply]:
    return connections.send(*commands)


def fresh() -> RunKeys:
    return RunKeys(f"t-{secrets.token_hex(6)}")


def kinds(run: RunKeys) -> list[str]:
    """A key of each kind of document."""
    return [run.state("A"), run.input("meta"), run.meta, run.items("Map"), keys.agent(run.workflow_id), run.definition]


@pytest.fixture(scope="module")
def sent(both: Connections) -> Connections:
    return both


@settings(max_examples=60)
@given(document=documents)
def test_a_whole_document_is_what_was_written(sent: Connections, document: Json) -> None:
    for form in FORMS:
        for key in kinds(fresh()):
            written, reply = ask(sent, form.put(key, dump_bytes(document)), form.read(key))
            assert written == b"OK"
            text = form.text(reply)
            assert text is not None
            assert load(text) == document, (form.name, key)
            ask(sent, form.put(key, dump_bytes([document])))
            (reply,) = ask(sent, form.read(key))
            assert load(form.text(reply) or b"") == [document], "nothing is left of the one before"


@settings(max_examples=60)
@given(text=documents.map(dump_bytes))
def test_the_text_of_a_string_is_kept_byte_for_byte(sent: Connections, text: bytes) -> None:
    key = fresh().state("A")
    *_, reply = ask(sent, TEXT_FORM.put(key, text), TEXT_FORM.read(key))
    assert TEXT_FORM.text(reply) == text == TEXT_FORM.reply_of(text)


@settings(max_examples=100)
@given(meta=metas, changes=st.lists(st.tuples(plain_names, values), max_size=4), asked=st.lists(names, max_size=3))
def test_members_are_read_as_they_were_written(
    sent: Connections, meta: dict[str, Any], changes: list[tuple[str, Json]], asked: list[str]
) -> None:
    written: list[Member] = [("agents", name) for name, _ in changes if not name.startswith(" ")]
    own: list[Member] = [("agents", name) for name in (*asked, *meta["agents"])]
    memberses: list[Sequence[Member]] = [
        ["status", "states", "blocked_by", "no_such", *own, *written],
        ["status", "agents", "skills", ("states", 2)],
        ["status"],
        [("states", 2)],
        [("agents", "no such")],
    ]
    afters = [_after(sent, form, meta, changes, memberses) for form in FORMS]
    assert afters[0] == afters[1]
    expected = {**meta["agents"], **{name: value for name, value in changes if not name.startswith(" ")}}
    assert afters[1][1] == meta | {"agents": expected, "status": ["new"]} | (
        {"states": meta["states"]} if "states" in meta else {}
    )


def _after(
    sent: Connections,
    form: DocumentForm,
    meta: dict[str, Any],
    changes: list[tuple[str, Json]],
    memberses: list[Sequence[Member]],
) -> tuple[list[object], Json]:
    """What is read after a document was written, and some of its members."""
    key = fresh().meta
    members: dict[tuple[str, Member], bytes] = {(key, "status"): dump_bytes(["new"])}
    members |= {(key, ("agents", name)): dump_bytes(value) for name, value in changes if not name.startswith(" ")}
    assert form.values(["status"], ask(sent, form.members(key, ["status"]))[0]) is None
    ask(sent, form.put(key, dump_bytes(meta)))
    ask(sent, *form.put_all({}, members))
    seen: list[object] = []
    for memberse in memberses:
        (reply,) = ask(sent, form.members(key, memberse))
        values = form.values(memberse, reply)
        assert values is not None
        seen.append({name: value for name, value in values.items() if value != [] or name != ("states", 2)})
    (reply,) = ask(sent, form.read(key))
    return seen, load(form.text(reply) or b"")


@given(items=st.lists(values, max_size=6))
def test_items_are_read_one_by_one(sent: Connections, items: list[Json]) -> None:
    for form in FORMS:
        key = fresh().items("Map")
        for earlier in (["x"] * 9, items):  # of an earlier visit nothing is left
            ask(sent, *form.put_all({key: dump_bytes(earlier)}, {}))
        replies = ask(sent, *(form.element(key, index) for index in range(len(items) + 1)))
        assert [form.item(reply) for reply in replies] == [*items, None]


@given(docs=st.lists(documents, min_size=1, max_size=4), gone=st.integers(0, 4))
def test_several_documents_are_read_and_written_at_once(sent: Connections, docs: list[Json], gone: int) -> None:
    for form in FORMS:
        run = fresh()
        states = {run.state(f"S{number}"): doc for number, doc in enumerate(docs)}
        commands = form.put_all({key: dump_bytes(doc) for key, doc in states.items()}, {})
        assert len(commands) == 1
        assert [(key, load(text)) for key, text in form.written(commands[0])] == [*states.items()]
        keys = [*states, run.state("gone")]
        *_, reply, listed = ask(sent, *commands, form.read_many(keys), *form.members_of_each(keys, ["status"]))
        assert [None if text is None else load(text) for text in form.texts(reply)] == [*docs, None]
        values = form.values_of_each(["status"], [listed])
        own = [{"status": doc["status"]} if isinstance(doc, dict) and "status" in doc else {} for doc in docs]
        assert values == [*own, None]


_SCRIPT: Final = (
    DOCUMENTS
    + r"""
local state, meta, name = KEYS[1], KEYS[2], ARGV[1]
local names = {'status', 'no_such', 'blocked_by'}
local found = members_in(read_members(redis.call, meta, names), names)
local parts = read_parts(redis.call, meta, {'status', 'agents'})
local texts = read_documents(redis.call, {state, state .. ':gone', state})
write_document(state, ARGV[2])
write_member(meta, ARGV[3], ARGV[2])
local written = read_member(redis.call, meta, 'written')
drop_member(meta, ARGV[3])
return {
  texts[1], tostring(texts[2]), texts[3], read_document(redis.call, state),
  tostring(read_document(redis.call, meta .. 'x')),
  read_member(redis.call, meta, 'status'), tostring(read_member(redis.call, meta, 'no_such')),
  read_named(redis.call, meta, 'agents', name) or 'nothing', tostring(found.status), type(found.no_such),
  cjson.encode(found.blocked_by), written, tostring(read_member(redis.call, meta, 'written')), parts,
}
"""
)


@settings(max_examples=80)
@given(meta=metas, name=names, value=values)
def test_scripts_read_and_write_the_same(sent: Connections, meta: dict[str, Any], name: str, value: Json) -> None:
    meta = meta | {"status": "running", "blocked_by": [{"a": 1}]}
    result = []
    for form in FORMS:
        run = fresh()
        ask(sent, form.put(run.state("A"), dump_bytes({"n": value})), form.put(run.meta, dump_bytes(meta)))
        script = ("EVAL", form.script(_SCRIPT), 2, run.state("A"), run.meta, name, dump_bytes(value))
        ((*text, parts),) = ask(sent, (*script, form.place("written")))
        result.append([*map(_parsed, text), form.values(["status", "agents"], parts)])
    assert result[0][:7] + result[0][8:] == result[1][:7] + result[1][8:]
    assert result[1][0] == {"n": value}
    assert result[1][7] == meta["agents"].get(name, b"nothing")
    if '"' not in name and "\\" not in name and not _loses_empty_lists(name, meta["agents"].get(name)):
        assert result[0][7] == result[1][7]


def _loses_empty_lists(name: str, value: Json) -> bool:
    """Lua writes an empty list as an object. Only a name that begins with a space is read by Lua; no agent has it."""
    return name.startswith(" ") and b"[]" in dump_bytes(value)


def _parsed(text: bytes) -> Json:
    try:
        return load(text)
    except ValueError:
        return text


@rows("form", FORMS, ids=[form.name for form in FORMS])
def test_a_write_keeps_the_expiry_of_a_key(both: Connections, form: DocumentForm) -> None:
    run = fresh()
    for key in kinds(run):
        ask(both, form.put(key, b"{}"), ("EXPIRE", key, 100))
        ask(both, form.put(key, b'{"a":1}'))
        ask(both, *form.put_all({} if shape_of(key) != "text" else {key: b"[2]"}, {}, keep_expiry=True))
        ask(both, *([form.put_member(key, "status", b"1")] if shape_of(key) == "members" else []))
        assert 0 < ask(both, ("TTL", key))[0] <= 100, key


@rows("form", FORMS, ids=[form.name for form in FORMS])
def test_only_a_new_document_is_written_if_it_must_be_new(both: Connections, form: DocumentForm) -> None:
    for key in kinds(fresh()):
        written = ask(both, *(form.put(key, text, only_new=True) for text in (b'{"a":1}', b'{"a":2}')))
        assert written == [b"OK", None]
        assert load(form.text(ask(both, form.read(key))[0]) or b"") == {"a": 1}


def test_a_state_that_is_called_meta_or_items_has_a_text() -> None:
    run = RunKeys("r")
    assert [shape_of(run.input(name)) for name in ("meta", "items", "x")] == ["text"] * 3
    assert [shape_of(key) for key in (run.meta, run.items("items"), keys.agent("meta"))] == [
        "members",
        "elements",
        "members",
    ]


@rows("form", FORMS, ids=[form.name for form in FORMS])
def test_blocks_and_tools_of_an_agent_keep_their_order(both: Connections, form: DocumentForm) -> None:
    """An agent sees its context in the order in which it was given."""
    key, own = keys.agent(secrets.token_hex(6)), ["z", "b", "a"]
    ask(both, form.put(key, dump_bytes({"name": "Mia", "tools": dict.fromkeys(own, 1), "blocks": {}})))
    script = form.script(
        DOCUMENTS
        + "if ARGV[2] == '' then drop_member(KEYS[1], ARGV[1]) else\nwrite_member(KEYS[1], ARGV[1], ARGV[2]) end"
    )
    changes = [("y", "1"), ("b", ""), ("z", "2"), ("no", ""), ("y", ""), ("b", "3"), ("y", "4")]
    ask(both, *(("EVAL", script, 1, key, form.place(("tools", name)), text) for name, text in changes))
    ask(both, *(("EVAL", script, 1, key, form.place(("blocks", name)), "0") for name in ("q", "c")))
    document = load(form.text(ask(both, form.read(key))[0]) or b"")
    assert [*document["tools"].items()] == [("z", 2), ("a", 1), ("b", 3), ("y", 4)]
    assert [*document["blocks"]] == ["q", "c"]
