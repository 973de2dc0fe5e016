"""The interface of the forms in which a Redis keeps documents: commands to send, and the meaning of their replies.

A form makes commands and understands replies; it must not send them. No other module names the commands that read or
write documents. Texts go in and come out unchanged: the reader of a document parses it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, Protocol, TypeAlias

from dcf.store.connection.commands import Command, Reply
from dcf.values.json_text import Json

FormName: TypeAlias = Literal["json", "text"]

FORM_WORDS: Final[Mapping[FormName, str]] = {"json": "in RedisJSON", "text": "as JSON text"}
"""The words about a form that follow the word "documents"."""

Member: TypeAlias = str | tuple[str, str | int]
"""A member of a document: its name, alone, or with the name of an inner member or a number of first elements."""

DOCUMENTS: Final = "-- documents\n"
"""Line of a script before which no document is read or written: the form's functions take its place."""


class DocumentForm(Protocol):
    """How documents are kept."""

    name: FormName
    has_type: bool
    """Whether only documents have the type that documents have, and so no string of another program is one."""
    drops_expiry: bool
    """Whether a write takes the expiry off a key, unless it is to be kept."""

    def read(self, key: str) -> Command:
        """Return the command that reads a document."""

    def text(self, reply: Reply) -> bytes | None:
        """Return the text of a document by the reply to `read`; None if there is no document."""

    def reply_of(self, text: bytes | None) -> Reply:
        """Return the reply to `read` by the text of a document that is kept as text."""

    def is_document(self, key: str, kind: bytes) -> bool:
        """Return whether a key of this type, as TYPE tells it, can hold a document."""

    def read_many(self, keys: Sequence[str]) -> Command:
        """Return the command that reads several documents, of one slot. None of them is meta or an agent's record."""

    def texts(self, reply: Reply) -> list[bytes | None]:
        """Return the texts by the reply to `read_many`; None for each missing document."""

    def members(self, key: str, names: Sequence[Member]) -> Command:
        """Return the command that reads members of a document."""

    def values(self, names: Sequence[Member], reply: Reply) -> dict[Member, Json] | None:
        """Return those of the members that there are, by the reply to `members`; None if there is no document."""

    def members_of_each(self, keys: Sequence[str], names: Sequence[str]) -> list[Command]:
        """Return the commands that read members of several documents, of one slot, as `read_many` does."""

    def values_of_each(self, names: Sequence[str], replies: Sequence[Reply]) -> list[dict[Member, Json] | None]:
        """Return the members by the replies to `members_of_each`, for each document as `values` does."""

    def element(self, key: str, index: int) -> Command:
        """Return the command that reads one of the items of a Map."""

    def item(self, reply: Reply) -> Json:
        """Return the item by the reply to `element`; None if there is none."""

    def put(self, key: str, text: str | bytes, *, only_new: bool = False) -> Command:
        """Return the command that writes a whole document and leaves its expiry, or only one that is not there yet."""

    def put_all(
        self,
        texts: Mapping[str, bytes],
        members: Mapping[tuple[str, Member], bytes],
        *,
        deleted: Sequence[str] = (),
        keep_expiry: bool = False,
    ) -> list[Command]:
        """Return the commands that delete keys, write whole documents, and members of documents.

        Documents of which members are written were read and are watched. A whole meta is new, and is watched too. Keys
        that may expire lose their expiry, unless it is to be kept: that of a finalized run.
        """

    def put_member(self, key: str, member: Member, text: str | bytes) -> Command:
        """Return the command that writes a member of a document that was read and is watched."""

    def written(self, command: Command) -> list[tuple[str, bytes]]:
        """Return the keys and texts of the documents that one of the commands of `put_all` writes."""

    def place(self, member: Member) -> str:
        """Return what scripts name a member by, in `write_member` and `drop_member`."""

    def script(self, text: str) -> str:
        """Return a script with the functions that it calls in place of the line `DOCUMENTS`."""


def in_bytes(word: str | bytes | float) -> bytes:
    """Return a word of a command as it is sent."""
    return word if isinstance(word, bytes) else str(word).encode()


def with_functions(text: str, functions: Mapping[str, str]) -> str:
    """Return a script with those of the functions that it names, since each EVAL sends it."""
    assert DOCUMENTS in text, "a script says where it begins to read documents"
    return text.replace(DOCUMENTS, "".join(code for name, code in functions.items() if f"{name}(" in text))
