"""Documents as text, for a Redis without RedisJSON: most are strings, those of which parts are used are hashes.

A hash has a field for each member or element, and the field `$`, which says what the document is, also if none of its
members was found: `{}`, `[]`, or the text of any other value. Some members have members that are used one by one
(`NESTED`): these have fields of their own, such as `agents["Check stock"]`. A member whose name would be taken for
another field has a `$` before its name.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from dcf.store.connection.commands import Command, Reply
from dcf.store.forms.form import FormName, Member, in_bytes
from dcf.store.forms.text_scripts import PUT_FIELDS, with_text_functions
from dcf.store.keys.documents import shape_of
from dcf.values.json_text import Json, dump_bytes, load

_MARK: Final = "$"
_OBJECT: Final = b"{}"
_ARRAY: Final = b"[]"
NESTED: Final = frozenset({"agents", "skills", "blocks", "tools"})
"""Members whose own members are fields too, since they are read and written one by one."""

_ORDERED: Final = frozenset({"blocks", "tools"})
"""Those of them whose order matters to an agent. Their own field has it, as the list in `{"": ["first", "second"]}`."""


class TextForm:
    """Strings and hashes."""

    name: FormName = "text"
    has_type = False
    drops_expiry = True

    def read(self, key: str) -> Command:
        """Return the command that reads a document."""
        return ("GET", key) if shape_of(key) == "text" else ("HGETALL", key)

    def text(self, reply: Reply) -> bytes | None:
        """Return the text of a document: of a hash its members by name, or its elements."""
        if not isinstance(reply, list):
            text: bytes | None = reply
            return text
        return dump_bytes(_whole(reply)) if reply else None

    def reply_of(self, text: bytes | None) -> Reply:
        """Return the reply to `read` by the text of a document that is a string."""
        return text

    def is_document(self, key: str, kind: bytes) -> bool:
        """Return whether a key of this type can hold a document. A string holds one if it can be parsed."""
        return kind == (b"string" if shape_of(key) == "text" else b"hash")

    def read_many(self, keys: Sequence[str]) -> Command:
        """Return the command that reads several documents."""
        return ("MGET", *keys)

    def texts(self, reply: Reply) -> list[bytes | None]:
        """Return the texts by the reply to `read_many`."""
        return list(reply)

    def members(self, key: str, names: Sequence[Member]) -> Command:
        """Return the command that reads members: all of a hash, if a member whose own are fields is one of them."""
        if shape_of(key) == "text":
            return ("GET", key)
        if not NESTED.isdisjoint(names):
            return ("HGETALL", key)
        return ("HMGET", key, _MARK, *map(field_of, names))

    def values(self, names: Sequence[Member], reply: Reply) -> dict[Member, Json] | None:
        """Return the members, by the reply to `members`."""
        if not isinstance(reply, list):
            return None if reply is None else _picked(names, load(reply))
        if not NESTED.isdisjoint(names):
            return _picked(names, _whole(reply)) if reply else None
        mark, *texts = reply
        if mark is None:
            return None
        texts_by_name = zip(names, texts, strict=True)
        return {name: _first(name, load(text)) for name, text in texts_by_name if text is not None}

    def members_of_each(self, keys: Sequence[str], names: Sequence[str]) -> list[Command]:  # noqa: ARG002 - read whole
        """Return the command that reads several documents: a string has its members."""
        return [("MGET", *keys)]

    def values_of_each(self, names: Sequence[str], replies: Sequence[Reply]) -> list[dict[Member, Json] | None]:
        """Return the members by the reply to `members_of_each`."""
        (texts,) = replies
        return [None if text is None else _picked(names, load(text)) for text in texts]

    def element(self, key: str, index: int) -> Command:
        """Return the command that reads one of the items of a Map."""
        return ("HGET", key, str(index))

    def item(self, reply: Reply) -> Json:
        """Return the item by the reply to `element`."""
        return None if reply is None else load(reply)

    def put(self, key: str, text: str | bytes, *, only_new: bool = False) -> Command:
        """Return the command that writes a whole document and leaves its expiry."""
        if shape_of(key) == "text":
            return ("SET", key, text, "KEEPTTL", *(("NX",) if only_new else ()))
        return ("EVAL", PUT_FIELDS, 1, key, "NX" if only_new else "", "", *fields_of(load(text)))

    def put_all(
        self,
        texts: Mapping[str, bytes],
        members: Mapping[tuple[str, Member], bytes],
        *,
        deleted: Sequence[str] = (),
        keep_expiry: bool = False,
    ) -> list[Command]:
        """Return the commands that delete, and write documents and members. MSET takes the expiry off, SET can keep it.

        Items of a Map may replace more items. There is no meta before.
        """
        strings = {key: text for key, text in texts.items() if shape_of(key) == "text"}
        hashes = {key: text for key, text in texts.items() if key not in strings}
        deleted = [*deleted, *(key for key in hashes if shape_of(key) == "elements")]
        commands: list[Command] = [("DEL", *deleted)] if deleted else []
        if keep_expiry:
            commands += [self.put(key, text) for key, text in strings.items()]
        elif strings:
            commands.append(("MSET", *(word for pair in strings.items() for word in pair)))
        commands += [("HSET", key, *fields_of(load(text))) for key, text in hashes.items()]
        fields: dict[str, list[str | bytes]] = {}
        for (key, member), text in members.items():
            if member in NESTED:
                commands.append(self.put_member(key, member, text))
            else:
                fields.setdefault(key, []).extend((field_of(member), text))
        return [*commands, *(("HSET", key, *words) for key, words in fields.items())]

    def put_member(self, key: str, member: Member, text: str | bytes) -> Command:
        """Return the command that writes a member of a hash."""
        if isinstance(member, str) and member in NESTED:
            return ("EVAL", PUT_FIELDS, 1, key, "", member, *_member(member, load(text)))
        return ("HSET", key, field_of(member), text)

    def written(self, command: Command) -> list[tuple[str, bytes]]:
        """Return the keys and texts of the documents that a command of `put_all` writes; of a hash its fields."""
        name, *words = command
        if name == "MSET":
            return [(str(key), in_bytes(text)) for key, text in zip(words[::2], words[1::2], strict=True)]
        if name == "SET" and words[-1] == "KEEPTTL":
            return [(str(words[0]), in_bytes(words[1]))]
        if name == "HSET" and shape_of(str(words[0])) == "elements":
            return [(str(words[0]), b"[%b]" % b",".join(map(in_bytes, words[4::2])))]
        return []

    def place(self, member: Member) -> str:
        """Return what scripts name a member by: its field."""
        return field_of(member)

    def script(self, text: str) -> str:
        """Return a script with the functions that it calls."""
        return with_text_functions(text)


def field_of(member: Member) -> str:
    """Return the field that a member has in a hash; of the first elements of a member, the field of all."""
    if isinstance(member, str):
        return f"{_MARK}{member}" if member.startswith(_MARK) or _nested(member) is not None else member
    name, own = member
    return name if isinstance(own, int) else _nested_field(name, own)


@lru_cache(maxsize=4096)
def _nested_field(name: str, own: str) -> str:
    quoted = own.replace("\\", "\\\\").replace('"', '\\"')
    return f'{name}["{quoted}"]'


def _nested(field: str) -> tuple[str, str] | None:
    """Return the names that `_nested_field` made a field of; None for any other field."""
    name, quote, rest = field.partition('["')
    if not quote or not rest.endswith('"]') or name not in NESTED:
        return None
    return name, rest[:-2].replace('\\"', '"').replace("\\\\", "\\")


def fields_of(document: Json) -> list[str | bytes]:
    """Return the fields and values of a document that is a hash."""
    if isinstance(document, list):
        elements = ((str(at), dump_bytes(value)) for at, value in enumerate(document))
        return [_MARK, _ARRAY, *(word for pair in elements for word in pair)]
    if not isinstance(document, dict):
        return [_MARK, dump_bytes(document)]
    fields: list[str | bytes] = [_MARK, _OBJECT]
    for name, value in document.items():
        fields += _member(name, value)
    return fields


def _member(name: str, value: Json) -> Iterator[str | bytes]:
    if name not in NESTED or not isinstance(value, dict):
        yield from (field_of(name), dump_bytes(value))
        return
    yield from (name, dump_bytes({"": [*value]}) if name in _ORDERED else _OBJECT)
    for own, inner in value.items():
        yield from (_nested_field(name, own), dump_bytes(inner))


def _whole(flat: Sequence[bytes]) -> Json:
    """Return the document of a hash: members in the order of their names, since those of a hash have none."""
    fields = dict(zip((field.decode() for field in flat[::2]), flat[1::2], strict=True))
    kind = fields.pop(_MARK, _OBJECT)
    if kind == _ARRAY:
        return [load(fields[str(at)]) for at in range(len(fields))]
    if kind != _OBJECT:
        return load(kind)
    document: dict[str, Any] = {}
    inner: dict[str, dict[str, Json]] = {}
    for field in sorted(fields):
        nested, value = _nested(field), load(fields[field])
        if nested is None:
            document[field.removeprefix(_MARK)] = value
        else:
            inner.setdefault(nested[0], {})[nested[1]] = value
    for name in NESTED:
        if isinstance(document.get(name), dict):
            document[name] = _in_order(inner.get(name, {}), document[name].get("", ()))
    return document


def _in_order(members: Mapping[str, Json], order: Sequence[str]) -> dict[str, Json]:
    """Return the members, those first that the order names."""
    return {name: members[name] for name in dict.fromkeys((*order, *members)) if name in members}


def _picked(names: Sequence[Member], document: Json) -> dict[Member, Json]:
    """Return the members of a whole document that there are."""
    members: dict[Member, Json] = {}
    for member in names:
        name, own = (member, None) if isinstance(member, str) else member
        if not isinstance(document, dict) or name not in document:
            continue
        value = document[name]
        if own is None or isinstance(own, int):
            members[member] = _first(member, value)
        elif isinstance(value, dict) and own in value:
            members[member] = value[own]
    return members


def _first(member: Member, value: Json) -> Json:
    """Return the first elements of a value, if these are the member."""
    is_cut = not isinstance(member, str) and isinstance(member[1], int) and isinstance(value, list)
    return value[: member[1]] if is_cut else value


TEXT_FORM: Final = TextForm()
