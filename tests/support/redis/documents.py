"""Reads and changes stored documents, so that a test names a document or a member of it and not a command of Redis.

dcf can keep its documents in different forms. This module is the only place of the tests that chooses one:
`DCF_TEST_DOCUMENTS` names it. This module must not know what the documents mean.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, Final, Protocol, TypeAlias

from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.embedded.sources import find_program
from dcf.store.forms import form as stored
from dcf.store.forms.json_form import JSON_FORM
from dcf.store.forms.text_form import NESTED, TEXT_FORM
from dcf.store.keys.documents import is_stored_document, shape_of
from dcf.values.json_text import dump, load

Ask: TypeAlias = Callable[..., Reply]
"""Sends one command and returns its reply: `World.ask`, or `execute_command` of a client of redis-py."""

_OF_TOOLS: Final = "doc:"
"""How the keys begin that the JSON tools may write."""

Place: TypeAlias = str | tuple[str | int, ...]
"""Says where a member is: its name, or the names and indexes that lead to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandNames:
    """The commands that dcf sends for documents.

    `read` and `write` are for one document that is stored in one piece, `read_many` and `write_many` for several.
    `read_member` and `read_members` are for one and for some members of a run's meta document, `read_record` for all of
    an agent's record, `drop_member` for one that goes.
    """

    read: str
    read_many: str
    read_member: str
    read_members: str
    read_record: str
    write: str
    write_many: str
    drop_member: str


class DocumentForm(Protocol):
    """How documents are stored."""

    @property
    def names(self) -> CommandNames: ...

    def read_command(self, key: str) -> Command:
        """Return the command that reads a whole document."""

    def write_command(self, key: str, text: str) -> Command:
        """Return the command that writes a document that is stored in one piece. Its key keeps its expiry."""

    def write_many_command(self, texts: Mapping[str, str | bytes]) -> Command:
        """Return the command that writes documents that are stored in one piece."""

    def read_text(self, ask: Ask, key: str | bytes) -> bytes | None:
        """Return the JSON text of a document; None if the key is missing."""

    def read_texts(self, ask: Ask, keys: Sequence[str]) -> list[bytes | None]:
        """Return the JSON texts of documents that are stored in one piece, all of the same moment."""

    def write_text(self, ask: Ask, key: str, text: str) -> None:
        """Write a whole document. A key that expires keeps its expiry."""

    def set_member(self, ask: Ask, key: str, steps: tuple[str | int, ...], value: object) -> None:
        """Set a member at once, also while others write the document. The parent of the member must exist."""

    def is_document(self, ask: Ask, key: str | bytes) -> bool:
        """Whether a key holds a document."""


class JsonForm:
    """Documents of RedisJSON."""

    names: Final = CommandNames(
        read="JSON.GET",
        read_many="JSON.MGET",
        read_member="JSON.GET",
        read_members="JSON.GET",
        read_record="JSON.GET",
        write="JSON.SET",
        write_many="JSON.MSET",
        drop_member="JSON.DEL",
    )

    def read_command(self, key: str) -> Command:
        return (self.names.read, key, "$")

    def write_command(self, key: str, text: str) -> Command:
        return (self.names.write, key, "$", text)

    def write_many_command(self, texts: Mapping[str, str | bytes]) -> Command:
        return (self.names.write_many, *(word for key, text in texts.items() for word in (key, "$", text)))

    def read_text(self, ask: Ask, key: str | bytes) -> bytes | None:
        return _without_array(ask(self.names.read, key, "$"))

    def read_texts(self, ask: Ask, keys: Sequence[str]) -> list[bytes | None]:
        return [_without_array(text) for text in ask(self.names.read_many, *keys, "$")]

    def write_text(self, ask: Ask, key: str, text: str) -> None:
        ask(*self.write_command(key, text))

    def set_member(self, ask: Ask, key: str, steps: tuple[str | int, ...], value: object) -> None:
        path = "$" + "".join(f"[{dump(step)}]" for step in steps)
        assert "\\" not in path, f"RedisJSON does not find {path}: it does not understand escapes"
        assert ask(self.names.write, key, path, dump(value)), f"{key} has no place {path}"

    def is_document(self, ask: Ask, key: str | bytes) -> bool:
        return bool(ask("TYPE", key) == b"ReJSON-RL")


def _without_array(text: bytes | None) -> bytes | None:
    """Return the text of the one document that the array of a reply of RedisJSON holds."""
    return None if text is None else text[1:-1]


class TextForm:
    """Strings, and hashes with a field for each member, as dcf writes them."""

    names: Final = CommandNames(
        read="GET",
        read_many="MGET",
        read_member="HGET",
        read_members="HMGET",
        read_record="HGETALL",
        write="SET",
        write_many="MSET",
        drop_member="HDEL",
    )

    def read_command(self, key: str) -> Command:
        return TEXT_FORM.read(key)

    def write_command(self, key: str, text: str) -> Command:
        return TEXT_FORM.put(key, text)

    def write_many_command(self, texts: Mapping[str, str | bytes]) -> Command:
        (command,) = TEXT_FORM.put_all({key: _encoded(text) for key, text in texts.items()}, {})
        return command

    def read_text(self, ask: Ask, key: str | bytes) -> bytes | None:
        reply = ask(*TEXT_FORM.read(_decoded(key)))
        # A client of redis-py makes a dictionary of what HGETALL answers.
        flat = [part for field in reply.items() for part in field] if isinstance(reply, dict) else reply
        return TEXT_FORM.text(flat)

    def read_texts(self, ask: Ask, keys: Sequence[str]) -> list[bytes | None]:
        return TEXT_FORM.texts(ask(*TEXT_FORM.read_many(keys)))

    def write_text(self, ask: Ask, key: str, text: str) -> None:
        ask(*self.write_command(key, text))

    def set_member(self, ask: Ask, key: str, steps: tuple[str | int, ...], value: object) -> None:
        if shape_of(key) == "text":
            self._set_in_text(ask, key, steps, value)
        else:
            self._set_in_hash(ask, key, steps, value)

    def _set_in_text(self, ask: Ask, key: str, steps: tuple[str | int, ...], value: object) -> None:
        is_set = False
        while not is_set:
            before = ask("GET", key)
            is_set = bool(ask("EVAL", _REPLACE, 1, key, before, dump(_with_member(load(before), key, steps, value))))

    def _set_in_hash(self, ask: Ask, key: str, steps: tuple[str | int, ...], value: object) -> None:
        changed = _with_member(load(self.read_text(ask, key) or b"{}"), key, steps, value)
        name, *inner = map(str, steps)
        is_field = len(inner) == 1 and name in NESTED
        member, own = ((name, inner[0]), changed[name][inner[0]]) if is_field else (name, changed[name])
        ask(*TEXT_FORM.put_member(key, member, dump(own)))

    def is_document(self, ask: Ask, key: str | bytes) -> bool:
        name = _decoded(key)
        may_be = is_stored_document(name) or name.startswith(_OF_TOOLS)
        return may_be and bool(ask("TYPE", key) == (b"string" if shape_of(name) == "text" else b"hash"))


def chosen_form(name: str) -> DocumentForm:
    """Return the form with this name."""
    if name == "json":
        return JsonForm()
    if name == "text":
        return TextForm()
    raise ValueError(f"DCF_TEST_DOCUMENTS is {name!r}. Set it to json or text.")


def _with_member(document: Any, key: str, steps: tuple[str | int, ...], value: object) -> Any:
    """Return the document with another member."""
    *outer, last = steps
    try:
        reduce(getitem, outer, document)[last] = value
    except (KeyError, IndexError, TypeError):
        raise AssertionError(f"{key} has no place {steps}") from None
    return document


def _encoded(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _decoded(key: str | bytes) -> str:
    return key.decode() if isinstance(key, bytes) else key


_REPLACE: Final = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1
"""
"""Lua script that replaces a text, unless it was changed meanwhile."""


FORM: Final = chosen_form(os.environ.get("DCF_TEST_DOCUMENTS") or ("json" if find_program().modules else "text"))
"""The form in which this run of the tests keeps documents: as text where no wheel has RedisJSON for this platform."""


STORED: Final[stored.DocumentForm] = TEXT_FORM if isinstance(FORM, TextForm) else JSON_FORM
"""The same form, as dcf knows it."""


SENT: Final = FORM.names
"""The commands that dcf sends for documents of this form."""


def asking(connections: Connections) -> Ask:
    """Return what sends one command over these connections."""

    def ask(*command: str | bytes | float) -> Reply:
        (reply,) = connections.send(command)
        return reply

    return ask


def read_text(ask: Ask, key: str | bytes) -> bytes | None:
    """Return the JSON text of a document; None if the key is missing."""
    return FORM.read_text(ask, key)


def read_document(ask: Ask, key: str) -> Any:
    """Return a whole document; None if the key is missing."""
    text = read_text(ask, key)
    return None if text is None else load(text)


def read_texts(ask: Ask, keys: Sequence[str]) -> list[bytes | None]:
    """Return the JSON texts of documents that are stored in one piece, all of the same moment."""
    return FORM.read_texts(ask, keys)


def read_member(ask: Ask, key: str, place: Place) -> Any:
    """Return a member of a document that is there."""
    return reduce(getitem, _steps(place), read_document(ask, key))


def write_document(ask: Ask, key: str, document: object) -> None:
    """Write a whole document. A key that expires keeps its expiry."""
    FORM.write_text(ask, key, dump(document))


def change_document(ask: Ask, key: str, change: Callable[[Any], None]) -> None:
    """Read a document that is there, change it, and write it. No other process may write it meanwhile."""
    document = read_document(ask, key)
    assert document is not None, f"{key} holds no document"
    change(document)
    write_document(ask, key, document)


def set_member(ask: Ask, key: str, place: Place, value: object) -> None:
    """Set a member of a document that is there. The member may be new; what holds it may not."""
    FORM.set_member(ask, key, _steps(place), value)


def add_to_member(ask: Ask, key: str, place: Place, amount: float) -> None:
    """Add to a number in a document that is there."""
    set_member(ask, key, place, read_member(ask, key, place) + amount)


def read_command(key: str) -> Command:
    """Return the command that reads a whole document."""
    return FORM.read_command(key)


def write_command(key: str, text: str) -> Command:
    """Return the command that writes a document that is stored in one piece."""
    return FORM.write_command(key, text)


def write_many_command(texts: Mapping[str, str | bytes]) -> Command:
    """Return the command that writes documents that are stored in one piece."""
    return FORM.write_many_command(texts)


def is_document(ask: Ask, key: str | bytes) -> bool:
    """Whether a key holds a document."""
    return FORM.is_document(ask, key)


def _steps(place: Place) -> tuple[str | int, ...]:
    return (place,) if isinstance(place, str) else place
