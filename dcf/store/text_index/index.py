"""A text index in Redis: documents found by words, phrases and facets, in pages that cost the same at any size.

The lists of entries that have a word or a facet are sorted sets, and Redis intersects them in one script: a page is one
packet. An entry and its lists are written by one script, so they always agree, whatever process dies. Words and their
weights are those of `core/text/tokens.py`, so that what is found is decided there.

It may not decide what an entry says or who may see it.
"""

from collections.abc import Sequence
from typing import Final, Literal

from dcf.core.access.model import LOCAL
from dcf.core.access.quotas import Account
from dcf.core.documents.refusals import quota_exceeded
from dcf.core.text.entries import Hit, Onward, SearchPage, TextEntry, TextSearch, read_cursor, write_cursor
from dcf.store.access.authors import current_account
from dcf.store.access.counting import CountedDocument, hold, new_mark, owned, settle
from dcf.store.access.quotas import NO_QUOTA
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import companions as companion_keys
from dcf.store.keys import table as keys
from dcf.store.keys.parts import KeyText
from dcf.store.text_index import keys as text_keys
from dcf.store.text_index.asking import asked_of
from dcf.store.text_index.scripts import PRUNE, PRUNE_HELD, PUT, PUT_HELD, REMOVE, REMOVE_HELD
from dcf.store.text_index.search_script import SEARCH
from dcf.store.transaction.attempts import Attempts
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record
from dcf.values.refusal import Refusal

BLOCK: Final = 128
"""Candidates that are ordered together, by several words; where there are more, the next of them come after these.

One page looks at two blocks at most, unless it skips some.
"""

PIECE: Final = 64
"""Candidates that are looked at together where their list is in the order of the answer, so that a page ends early."""

MOST_LOOKED_AT: Final = 10_000
"""Candidates that one page looks at, if it skips some."""

_MS: Final = 1000
_FULL: Final = b"full"
_DIFFERS: Final = b"differs"
_PUT: Final = b"put"


@record(frozen=True, slots=True, kw_only=True)
class Stored:
    """An entry as it is stored: its revision and its document."""

    revision: int
    document: dict[str, Json]
    body: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Full:
    """The index has as many entries as it may."""

    most: int


@record(frozen=True, slots=True, kw_only=True)
class Differs:
    """The entry has another revision than the writer read; None: there is none."""


class TextIndex:
    """The text index of one name. It has at most `most` entries; `expires` says whether some of them expire."""

    def __init__(
        self, connections: Connections, name: str, *, most: int, expires: bool = False, wait_replicas: int = 0
    ) -> None:
        self._connections = connections
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)
        self._name = name
        self._prefix = KeyText(text_keys.prefix(name))
        self._register = companion_keys.register(self._prefix, connections.shards)
        self._barrier = companion_keys.barrier(self._prefix)
        self._most = most
        self._expires = expires

    def now(self) -> int:
        """Return the server's time in microseconds."""
        (clock,) = self._connections.send(("TIME",))
        return micros(clock)

    def get(self, entry_id: str) -> tuple[Stored | None, int]:
        """Return an entry, None if there is none, and the server's time in microseconds."""
        (entries,), now = self.get_all([entry_id])
        return entries, now

    def get_all(self, entry_ids: Sequence[str]) -> tuple[list[Stored | None], int]:
        """Return entries with their bodies, None for those that are not there, and the server's time."""
        fields = ("revision", "document", "body")
        commands: list[Command] = [("HMGET", text_keys.entry(self._name, entry_id), *fields) for entry_id in entry_ids]
        clock, *replies = self._attempts.surely((("TIME",), *commands), self._barrier)
        return list(map(_stored, replies)), micros(clock)

    def put(
        self, entry: TextEntry, *, replaces: int | Literal["any"] | None = None, is_counted: bool = True
    ) -> Full | Differs | Refusal | None:
        """Write an entry in place of the revision that it `replaces`; None: it must be new.

        Return why not. A repetition after a lost reply finds the entry with the revision that it wrote (`Differs`).
        Its bytes count for the key of the author, unless it is not `is_counted`.
        """
        putting = self._putting(entry, replaces, current_account() if is_counted else None)
        if self._is_counted_elsewhere:
            reply = self._put_held(entry, putting, current_account() if is_counted else None)
            if isinstance(reply, Refusal):
                return reply
        else:
            (reply,) = self._attempts.surely((putting,), self._barrier)
        kind = reply[0]
        if kind == _PUT:
            return None
        if kind == _DIFFERS:
            return Differs()
        if kind == _FULL:
            return Full(most=int(reply[1]))
        return quota_exceeded(kind.decode(), int(reply[1]), int(reply[2]))

    def remove(self, entry_id: str) -> bool:
        """Remove an entry; return False if there was none."""
        command: Command = ("EVAL", REMOVE, 1, self._register, self._prefix, *_OWNERS, entry_id)
        if self._is_counted_elsewhere:
            return bool(self._held(command, REMOVE_HELD))
        (reply,) = self._attempts.surely((command,), self._barrier)
        return bool(reply)

    def prune(self) -> int:
        """Remove expired entries, some at a time; return how many entries with an expiry are left."""
        if self._is_counted_elsewhere:
            return int(self._held(self._pruning, PRUNE_HELD))
        (left,) = self._connections.send(self._pruning)
        return int(left)

    def search(self, search: TextSearch) -> SearchPage[Hit]:
        """Return a page. Raise InvalidArgument for a cursor of another search."""
        onward = read_cursor(search)
        if search.query.finds_nothing or any(not facet_filter.values for facet_filter in search.filters):
            return SearchPage()
        if self._expires and self._is_counted_elsewhere:
            self.prune()
        pruning = [self._pruning] if self._expires and not self._is_counted_elsewhere else []
        *_, reply = self._connections.send(*pruning, self._searching(search, onward))
        return _page(search, onward, reply)

    @property
    def _pruning(self) -> Command:
        return ("EVAL", PRUNE, 1, self._register, self._prefix, *_OWNERS)

    @property
    def _is_counted_elsewhere(self) -> bool:
        """Return True if the counts of owners are in other slots than the index."""
        return self._connections.shards > 1

    def _put_held(self, entry: TextEntry, putting: Command, account: Account | None) -> Reply | Refusal:
        """Count an entry, write it, and correct the count by the outcome; return the write's reply, or a refusal."""
        key, mark = text_keys.entry(self._name, entry.entry_id), new_mark()
        was = owned(self._connections, key)
        own = LOCAL if account is None else account.key_id
        owner = own if was is None else was.owner
        texts, lists = putting[8:11], (len(putting) - _FIXED_ARGUMENTS) // 2
        size = sum(len(str(text).encode()) for text in texts) + _BYTES_OF_A_LIST * lists
        counted = CountedDocument(key=key, owner=owner, size=size, life_s=0)
        refusal = hold(self._connections, counted, account if owner == own else None, mark)
        if refusal is not None:
            return refusal
        reply = self._held(putting, PUT_HELD, mark)
        before = None if was is None else was.size
        settle(self._connections, key, owner, size if reply[0] == _PUT else before, mark)
        return reply

    def _held(self, command: Command, script: str, mark: str = "") -> Reply:
        """Send the script that leaves the counting to `counting`, and count the removed entries; return its reply."""
        name, _, *rest = command
        ((reply, given_back),) = self._attempts.surely(((name, script, *rest, mark),), self._barrier)
        for owner, key, its_mark in given_back:
            settle(self._connections, key.decode(), owner.decode(), None, its_mark.decode())
        return reply

    def _putting(self, entry: TextEntry, replaces: int | str | None, account: Account | None) -> Command:
        owner = LOCAL if account is None else account.key_id
        most = (NO_QUOTA, NO_QUOTA)
        if account is not None and not self._is_counted_elsewhere:
            most = (account.quotas.documents, account.quotas.stored_bytes)
        until = "" if entry.until is None else entry.until // _MS
        lists = {text_keys.word(word): weight for word, weight in entry.words.found_by.items()}
        lists |= {text_keys.facet(name, value): 0 for name, values in entry.facets.items() for value in values}
        return (
            *("EVAL", PUT, 1, self._register, self._prefix, entry.entry_id, entry.at, entry.revision),
            *(dump(entry.document), entry.body, _sequence(entry.words.sequence), "\n".join(lists), until, self._most),
            *(owner, *most, *_OWNERS, "" if replaces is None else _ANY if replaces == "any" else replaces),
            *(part for entries in lists.items() for part in entries),
        )

    def _searching(self, search: TextSearch, onward: Onward | None) -> Command:
        driver, *place = ("", *[""] * 7) if onward is None else onward.place
        first_score, first, stop_score, stop, rank, at, last = place
        compiled = asked_of(search)
        budget = MOST_LOOKED_AT if search.offset else 2 * BLOCK
        skipped = search.offset if onward is None else 0
        return (
            *("EVAL", SEARCH, 1, self._register, self._prefix, search.limit, skipped),
            *(min(PIECE, BLOCK), BLOCK, budget, driver),
            *(first_score, first, stop_score, stop, rank, at, "1" if compiled.is_counted else "0", last),
            *compiled.arguments,
        )


_ANY: Final = "*"
_FIXED_ARGUMENTS: Final = 20
"""Words of the command that puts an entry, before those that name the lists that it is on."""

_BYTES_OF_A_LIST: Final = 100
"""The bytes that the place of an entry on a list counts for; the script that puts the entry has the same number."""

_OWNERS: Final = (keys.quota(""), keys.quota("", "docs"))


def _stored(reply: Reply) -> Stored | None:
    revision, document, body = reply
    if document is None:
        return None
    return Stored(revision=int(revision), document=load(document), body=body.decode())


def _sequence(words: Sequence[str]) -> str:
    """Return words as text in which a phrase is found as a whole: blanks stand around each."""
    return f" {' '.join(words)} "


def _page(search: TextSearch, onward: Onward | None, reply: Reply) -> SearchPage[Hit]:
    total, is_exact, place, shown = reply
    counted = Onward(place=(), total=int(total), exact=is_exact == b"1") if onward is None else onward
    hits = [Hit(entry_id=name.decode(), score=int(score), document=load(text)) for name, score, text in shown if text]
    parts = tuple(place.decode().split(" ")) if place else ()
    further = write_cursor(search, Onward(place=parts, total=counted.total, exact=counted.exact)) if parts else None
    return SearchPage(hits=tuple(hits), total=counted.total, exact=counted.exact, next_cursor=further)
