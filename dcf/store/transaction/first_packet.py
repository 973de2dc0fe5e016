"""The first packet of a transaction: the reads of all rows of a snapshot, and their replies. It must not send it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from dcf.store.connection.commands import Command, Reply
from dcf.store.forms.form import DocumentForm
from dcf.values.json_text import Json, load

TIME: Final[Command] = ("TIME",)


class Replies:
    """The replies to one packet by command (`of`), and the texts of the documents by key."""

    __slots__ = ("of", "texts")

    def __init__(self, asked: "Asked", replies: Sequence[Reply]) -> None:
        self.of: dict[Command, Reply] = dict(zip(asked.commands, replies, strict=True))
        self.texts: dict[str, bytes | None] = {}
        if asked.mget is not None:
            self.texts = dict(zip(asked.keys, asked.form.texts(self.of[asked.mget]), strict=True))

    def present(self, keys: Mapping[str, str]) -> dict[str, Json]:
        """Return the documents that exist, each by the name of its key. A document may be null."""
        return {name: load(text) for name, key in keys.items() if (text := self.texts[key]) is not None}


class Asked:
    """The first packet of a transaction: what its rows ask for, each command, document and watched key once."""

    __slots__ = ("commands", "form", "keys", "mget", "watched")

    def __init__(self, form: DocumentForm) -> None:
        self.form = form
        self.commands: dict[Command, None] = {TIME: None}
        self.keys: dict[str, None] = {}
        self.watched: list[str] = []
        self.mget: Command | None = None

    def add(self, command: Command) -> None:
        """Add a command."""
        self.commands[command] = None

    def documents(self, keys: Mapping[str, str]) -> None:
        """Add documents, by any names."""
        self.keys.update(dict.fromkeys(keys.values()))

    def complete(self) -> None:
        """Add the command that reads all documents."""
        if self.keys:
            self.mget = self.form.read_many([*self.keys])
            self.commands[self.mget] = None


Understand: TypeAlias = Callable[[Replies], object]
"""Function from the replies to a row of the snapshot."""
