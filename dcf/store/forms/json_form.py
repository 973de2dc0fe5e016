"""The form of documents in RedisJSON: each key is a JSON document, JSONPaths name members. Must not send commands."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from dcf.store.connection.commands import Command, Reply
from dcf.store.forms.form import FormName, Member, in_bytes, with_functions
from dcf.values.json_text import Json, load

_ROOT: Final = "$"

_MEMBERS: Final = """
local function {}(ask, key, names)
  local paths = {{}}
  for i, name in ipairs(names) do
    paths[i] = '$.' .. name
  end
  return ask('JSON.GET', key, unpack(paths))
end
"""
"""Reads members. The text form reads a hash in two ways, for which scripts have two names; this form has one way."""

# `ask` is `redis.call` or a function like it. A missing document is false.
_FUNCTIONS: Final[Mapping[str, str]] = {
    "read_document": """
local function read_document(ask, key)
  local text = ask('JSON.GET', key, '$')
  return text and text:sub(2, -2)
end
""",
    "read_documents": """
local function read_documents(ask, keys)
  keys[#keys + 1] = '$'
  local texts = ask('JSON.MGET', unpack(keys)) or {}
  for i = 1, #texts do
    texts[i] = texts[i] and texts[i]:sub(2, -2)
  end
  return texts
end
""",
    "read_member": """
local function read_member(ask, key, name)
  local text = ask('JSON.GET', key, '$.' .. name)
  return text and text ~= '[]' and text:sub(2, -2)
end
""",
    "read_named": r"""
local function read_named(ask, key, name, own)
  local path = '$.' .. name
  if own:sub(1, 1) == ' ' then -- RedisJSON drops spaces at the beginning of a quoted name
    local text = ask('JSON.GET', key, path)
    local every = text and cjson.decode(text)[1]
    return type(every) == 'table' and every[own] ~= nil and cjson.encode(every[own])
  end
  local text = ask('JSON.GET', key, path .. '["' .. own:gsub('[\\"]', '\\%0') .. '"]')
  return text and text ~= '[]' and text:sub(2, -2)
end
""",
    "read_members": _MEMBERS.format("read_members"),
    "read_parts": _MEMBERS.format("read_parts"),
    "members_in": """
local function members_in(reply, names)
  local found, values = cjson.decode(reply), {}
  for _, name in ipairs(names) do
    values[name] = found['$.' .. name][1]
  end
  return values
end
""",
    "write_document": """
local function write_document(key, text)
  redis.call('JSON.SET', key, '$', text)
end
""",
    "write_member": """
local function write_member(key, place, text)
  redis.call('JSON.SET', key, place, text)
end
""",
    "drop_member": """
local function drop_member(key, place)
  redis.call('JSON.DEL', key, place)
end
""",
}


class JsonForm:
    """RedisJSON documents."""

    name: FormName = "json"
    has_type = True
    drops_expiry = False

    def read(self, key: str) -> Command:
        """Return the command that reads a document."""
        return ("JSON.GET", key, _ROOT)

    def text(self, reply: Reply) -> bytes | None:
        """Return the text of a document: the reply is an array of one."""
        return None if reply is None else reply[1:-1]

    def reply_of(self, text: bytes | None) -> Reply:
        """Return the reply to `read` by the text of a document."""
        return None if text is None else b"[%b]" % text

    def is_document(self, key: str, kind: bytes) -> bool:  # noqa: ARG002 - all keys are alike
        """Return whether a key of this type holds a document."""
        return kind == b"ReJSON-RL"

    def read_many(self, keys: Sequence[str]) -> Command:
        """Return the command that reads several documents."""
        return ("JSON.MGET", *keys, _ROOT)

    def texts(self, reply: Reply) -> list[bytes | None]:
        """Return the texts by the reply to `read_many`."""
        return [None if text is None else text[1:-1] for text in reply]

    def members(self, key: str, names: Sequence[Member]) -> Command:
        """Return the command that reads members of a document."""
        return ("JSON.GET", key, *dict.fromkeys(map(path_of, names)))

    def values(self, names: Sequence[Member], reply: Reply) -> dict[Member, Json] | None:
        """Return the members: the reply is an array for one path, and an object of arrays for several."""
        if reply is None:
            return None
        document = load(reply)
        paths = list(map(path_of, names))
        if isinstance(document, list):
            document = {paths[0]: document}
        return _present(names, [document[path] for path in paths])

    def members_of_each(self, keys: Sequence[str], names: Sequence[str]) -> list[Command]:
        """Return the commands that read members of several documents: one for each member."""
        return [("JSON.MGET", *keys, path_of(name)) for name in names]

    def values_of_each(self, names: Sequence[str], replies: Sequence[Reply]) -> list[dict[Member, Json] | None]:
        """Return the members by the replies to `members_of_each`."""
        return [
            None if None in texts else _present(names, list(map(load, texts))) for texts in zip(*replies, strict=True)
        ]

    def element(self, key: str, index: int) -> Command:
        """Return the command that reads one of the items of a Map."""
        return ("JSON.GET", key, f"$[{index}]")  # nosemgrep: jsonpaths-are-not-formatted - an index is a number

    def item(self, reply: Reply) -> Json:
        """Return the item by the reply to `element`."""
        document = [] if reply is None else load(reply)
        return document[0] if document else None

    def put(self, key: str, text: str | bytes, *, only_new: bool = False) -> Command:
        """Return the command that writes a whole document. Its expiry stays."""
        return ("JSON.SET", key, _ROOT, text, *(("NX",) if only_new else ()))

    def put_all(
        self,
        texts: Mapping[str, bytes],
        members: Mapping[tuple[str, Member], bytes],
        *,
        deleted: Sequence[str] = (),
        keep_expiry: bool = False,  # noqa: ARG002 - it is always kept
    ) -> list[Command]:
        """Return the commands: one deletes, one writes documents and members."""
        words: list[str | bytes] = []
        for key, text in texts.items():
            words += (key, _ROOT, text)
        for (key, member), text in members.items():
            words += (key, path_of(member), text)
        first: list[Command] = [("DEL", *deleted)] if deleted else []
        return [*first, ("JSON.MSET", *words)] if words else first

    def put_member(self, key: str, member: Member, text: str | bytes) -> Command:
        """Return the command that writes a member."""
        return ("JSON.SET", key, path_of(member), text)

    def written(self, command: Command) -> list[tuple[str, bytes]]:
        """Return the keys and texts of the documents that a command of `put_all` writes."""
        if command[0] != "JSON.MSET":
            return []
        triples = zip(command[1::3], command[2::3], command[3::3], strict=True)
        return [(str(key), in_bytes(text)) for key, path, text in triples if path == _ROOT]

    def place(self, member: Member) -> str:
        """Return what scripts name a member by."""
        return path_of(member)

    def script(self, text: str) -> str:
        """Return a script with the functions that it calls."""
        return _script(text)


@lru_cache(maxsize=4_096)
def path_of(member: Member) -> str:
    """Return the JSONPath of a member. RedisJSON understands no other escapes than these two.

    It drops spaces at the beginning of a quoted name (2.8.3), so for such a name all members of the object are read.
    """
    if isinstance(member, str):
        return f"$.{member}"  # nosemgrep: jsonpaths-are-not-formatted - members of our own
    name, own = member
    if isinstance(own, int):
        return f"$.{name}[0:{own}]"  # nosemgrep: jsonpaths-are-not-formatted - a number of our own
    if own.startswith(" "):
        return f"$.{name}"  # nosemgrep: jsonpaths-are-not-formatted - members of our own
    quoted = own.replace("\\", "\\\\").replace('"', '\\"')
    return f'$.{name}["{quoted}"]'  # nosemgrep: jsonpaths-are-not-formatted - quoted just now


def _present(names: Sequence[Member], document: Sequence[list[Json]]) -> dict[Member, Json]:
    """Return those members that were found, from what their paths matched."""
    values: dict[Member, Json] = {}
    for member, matched in zip(names, document, strict=True):
        if isinstance(member, str):
            if matched:
                values[member] = matched[0]
            continue
        own = member[1]
        if isinstance(own, int):
            values[member] = matched
        elif matched and not own.startswith(" "):
            values[member] = matched[0]
        elif matched and own in (every := matched[0] or {}):
            values[member] = every[own]
    return values


@lru_cache(maxsize=256)
def _script(text: str) -> str:
    return with_functions(text, _FUNCTIONS)


JSON_FORM: Final = JsonForm()
