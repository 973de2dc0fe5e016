"""Checks the indexes across runs against the documents that they should list, one bounded page at a time.

A page is checked and repaired over one connection, so that both reach the same server. `core.listings` decides what is
wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Final, TypeAlias

from dcf.core.documents.codec import read_state
from dcf.core.listing.checks import ListFlaw, ListKind, dangling, lists_of_run
from dcf.core.listing.runs import Facet, facets_of, listed_at
from dcf.core.listing.sweep_results import SweepResult, Trouble
from dcf.store.access.counting import forget_counted
from dcf.store.access.quotas import NEVER, forget_document, forget_run
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, Connections, checked, exchange
from dcf.store.connection.documents import micros
from dcf.store.extensions import LISTS, StateLists
from dcf.store.forms.form import DocumentForm, Member
from dcf.store.keys import table as keys
from dcf.store.keys.documents import document_of
from dcf.store.keys.parts import read_member
from dcf.store.keys.projects import project
from dcf.store.keys.table import RunKeys
from dcf.store.lists.agents import lists_of
from dcf.store.lists.elsewhere import ask
from dcf.store.lists.index import UNLIST
from dcf.store.lists.lost_states import without_open_states
from dcf.store.lists.lost_timers import without_timers
from dcf.store.lists.shards import in_shard, place_of, plain_list, shard_of
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump, load
from dcf.values.records import record

_PAGE: Final = 500
_GRACE: Final = 60 * SECOND
_ASSIGNED_GRACE_S: Final = 24 * 3600
"""Seconds that an entry may wait for its run: agents may be created long before it."""

_RUN_ID: Final = re.compile(rb"^run_id:(\w+)", re.MULTILINE)
_BY_STATUS: Final = keys.runs_by(Facet.STATUS, "")
_NONE: Final[Mapping[str, int]] = {}

Flaws: TypeAlias = tuple[ListFlaw, ...]

Settling: TypeAlias = Callable[[Connections, Sequence[str]], object]
"""Settles what a capability has counted, for a page of keys."""


class Listings:
    """The indexes of one Redis. Of documents only projects and those with one of the `prefixes` are checked.

    `settling` is called with each page of a repair: it repairs problems that are in no list.
    """

    def __init__(
        self,
        connections: Connections,
        *,
        page: int = _PAGE,
        prefixes: tuple[str, ...] = ("doc:",),
        settling: Sequence[Settling] = (),
    ) -> None:
        self._connections = connections
        self._page = page
        self._prefixes = (*prefixes, project(""))
        self._settling = settling

    def pages(self, *, repair: bool) -> Iterator[Flaws]:
        """Go through all keys of dcf. Yield the flaws, page by page, and repair them if `repair`, but for timers.

        Raise StoreUnsuitable if this Redis user may not list keys.
        """
        for names in self._names():
            yield self._checked_page(
                partial(_lacking, names, self._connections.shards, self._connections.form), repair=repair
            )
            yield self._checked_page(
                partial(without_open_states, names, self._connections.shards, self._connections.form), repair=repair
            )
            yield self._connections.over_one(partial(without_timers, names, self._connections.form))
            if repair:
                for settle in self._settling:
                    settle(self._connections, names)
            for index in names:
                listed = _list(index)
                if listed is not None:
                    yield from self._entries(index, listed, repair=repair)

    def _names(self) -> Iterator[list[str]]:
        """Yield all keys of dcf, page by page, some perhaps twice."""
        for server in self._connections.servers():
            cursor = None
            while cursor != b"0":
                scan: Command = ("SCAN", cursor or 0, "MATCH", "cp:*", "COUNT", self._page)
                ((cursor, keys_found),) = server.send(scan)
                yield [self._connections.named(key) for key in keys_found]

    def take_turn(self, seconds: int) -> bool:
        """Claim the next sweep. Return False if another process claimed one less than `seconds` ago.

        After a Redis server has started, or replaced another, reconciliation is due at once: it may have lost writes.
        """
        servers = self._started()
        claim: Command = ("SET", keys.SWEEP, servers, "NX", "EX", seconds)
        taken, claimed = self._connections.send(claim, ("GET", keys.SWEEP))
        if taken is None and claimed is None:  # the earlier claim expired between the two commands
            (taken,) = self._connections.send(claim)
        elif taken is None and claimed.decode() != servers:
            (taken,) = self._connections.send(("SET", keys.SWEEP, servers, "EX", seconds))
        return taken is not None

    def _started(self) -> str:
        """Return a text that changes when a server has started again. Where Redis refuses INFO, it never changes."""
        sections = [server.ask(("INFO", "server"))[0] for server in self._connections.servers()]
        ids = [_RUN_ID.search(section) for section in sections if isinstance(section, bytes)]
        return ",".join(sorted(run_id[1].decode() for run_id in ids if run_id is not None)) or "1"

    def keep_turn(self, seconds: int) -> None:
        """Let no other process begin a reconciliation for `seconds`: the present one continues."""
        self._connections.send(("EXPIRE", keys.SWEEP, seconds))

    def record(
        self,
        missing: Mapping[str, int] = _NONE,
        dangling: Mapping[str, int] = _NONE,
        *,
        repaired: bool = False,
        trouble: Trouble | None = None,
    ) -> None:
        """Record the result of a check of all pages, or why it failed, for health reports."""
        (clock,) = self._connections.send(("TIME",))
        result = SweepResult(at=micros(clock), missing=missing, dangling=dangling, repaired=repaired, trouble=trouble)
        self._connections.send(("SET", keys.SWEPT, dump(result.as_json())))

    def _entries(self, index: str, listed: "_List", *, repair: bool) -> Iterator[Flaws]:
        """Check an index from its end, so that removals do not shift the entries still to be read."""
        (size,) = self._connections.send(("ZCARD", index))
        for last in range(size - 1, -1, -self._page):
            seen = self._prefixes if listed.kind is ListKind.DOCUMENTS else ("",)
            look = partial(_dangling, self._connections.form, index, listed, seen, max(0, last - self._page + 1), last)
            yield self._checked_page(look, repair=repair)

    def _checked_page(self, look: Callable[[Connection], Flaws], *, repair: bool) -> Flaws:
        def page(connection: Connection) -> Flaws:
            flaws = look(connection)
            if repair:
                shards = self._connections.shards
                remedies = [command for flaw in flaws for command in _remedies(flaw, shards)]
                if shards == 1:
                    _ask(connection, remedies)
                elif remedies:
                    ask(self._connections, *remedies)
            return flaws

        return self._connections.over_one(page)


def _ask(connection: Connection, commands: list[Command]) -> list[Reply]:
    return [checked(reply) for reply in exchange(connection, commands)] if commands else []


def _remedies(flaw: ListFlaw, shards: int) -> Iterator[Command]:
    if flaw.is_missing:
        yield ("ZADD", flaw.index, "NX", flaw.score, flaw.name)
        if plain_list(flaw.index).startswith(
            _BY_STATUS
        ):  # an earlier version's: the timer loop finds when to finalize it
            yield ("ZADD", keys.due(flaw.name), "NX", flaw.score, flaw.name)
    else:
        yield _removal(flaw, shards)


def _removal(flaw: ListFlaw, shards: int) -> Command:
    if flaw.kind is ListKind.DOCUMENTS:
        is_registered = shards == 1 and not flaw.name.startswith(project(""))
        forgotten = forget_document if is_registered else forget_counted
        return forgotten(flaw.index.removeprefix(keys.quota("", "docs")), flaw.name)
    if flaw.kind is ListKind.CHARGES:
        return forget_run(flaw.index.removeprefix(keys.quota("", "runs")), flaw.name)
    return ("EVAL", UNLIST, 1, flaw.index, flaw.name, flaw.score + 1)  # unless it was written again meanwhile


# Dangling entries


@record(frozen=True, slots=True, kw_only=True)
class _List:
    """A kind of index: the key that each of its entries should have, and the age from which an entry is checked.

    Where the existence of the document alone does not tell, `is_there` judges it.
    """

    kind: ListKind
    key_of: Callable[[str], str]
    judged_before: Callable[[int], int] = lambda now: now - _GRACE
    is_there: Callable[[Json], bool] | None = None

    def look(self, form: DocumentForm, name: str) -> Command:
        """Return the command that asks for what an entry names."""
        key = self.key_of(name)
        return ("EXISTS", key) if self.is_there is None else form.read_many([key])

    def judge(self, form: DocumentForm, reply: Reply) -> bool:
        """Return True if what an entry names is there, by the reply to `look`."""
        if self.is_there is None:
            return bool(reply)
        (text,) = form.texts(reply)
        return text is not None and self.is_there(load(text))


def _meta_of(workflow_id: str) -> str:
    return RunKeys(workflow_id).meta


def _state_of(entry: str) -> str:
    workflow_id, path = read_member(entry)
    return RunKeys(workflow_id).state(path)


_AGENTS: Final = _List(kind=ListKind.AGENTS, key_of=keys.agent)
_LISTS: Final[Mapping[str, _List]] = {
    keys.RUNS: _List(kind=ListKind.RUNS, key_of=_meta_of),
    keys.STUCK: _List(kind=ListKind.CATALOG, key_of=_meta_of),
    keys.HELD: _List(kind=ListKind.CATALOG, key_of=_meta_of),
    keys.LIVE: _List(kind=ListKind.LIVE_RUNS, key_of=_meta_of),
    keys.KEY_INDEX: _List(kind=ListKind.API_KEYS, key_of=keys.access_key),
}
_FAMILIES: Final[Mapping[str, _List]] = {
    **{keys.runs_by(facet, ""): _List(kind=ListKind.CATALOG, key_of=_meta_of) for facet in Facet},
    keys.DUE: _List(kind=ListKind.DUE_RUNS, key_of=_meta_of),
    keys.agents_tagged(""): _AGENTS,
    keys.agents_named(""): _AGENTS,
    keys.assigned(""): _List(
        kind=ListKind.ASSIGNMENTS,
        key_of=_meta_of,
        judged_before=lambda now: now // SECOND - _ASSIGNED_GRACE_S,
    ),
    # A document is written with its entry, whose score is when it expires.
    keys.quota("", "docs"): _List(kind=ListKind.DOCUMENTS, key_of=str, judged_before=lambda _: NEVER + 1),
    keys.quota("", "runs"): _List(
        kind=ListKind.CHARGES,
        key_of=_meta_of,
        judged_before=lambda now: (now - _GRACE) // SECOND,
    ),
}
"""Kinds of indexes with many keys, by key prefix. Those of `LISTS` are besides."""


def _list(index: str) -> _List | None:
    plain = plain_list(index)
    of_many = (listed for prefix, listed in _FAMILIES.items() if plain.startswith(prefix))
    of_states = (_of_states(lists) for lists in LISTS.states if plain.startswith(lists.prefix))
    return _LISTS.get(plain) or next(chain(of_many, of_states), None)


def _of_states(lists: StateLists) -> _List:
    return _List(kind=lists.kind, key_of=_state_of, is_there=lambda document: lists.is_listed(read_state(document)))


def _dangling(
    form: DocumentForm,
    index: str,
    listed: _List,
    prefixes: tuple[str, ...],
    first: int,
    last: int,
    connection: Connection,
) -> Flaws:
    clock, scored_reply = _ask(connection, [("TIME",), ("ZRANGE", index, first, last, "WITHSCORES")])
    scored = (
        (name.decode(), int(float(score))) for name, score in zip(scored_reply[::2], scored_reply[1::2], strict=True)
    )
    entries = {name: score for name, score in scored if name.startswith(prefixes)}
    replies = _ask(connection, [listed.look(form, name) for name in entries])
    there = {name: listed.judge(form, reply) for name, reply in zip(entries, replies, strict=True)}
    now = micros(clock)
    due = now // SECOND if listed.kind is ListKind.DOCUMENTS else -1
    return tuple(dangling(listed.kind, index, entries, there, before=listed.judged_before(now), due=due))


# Missing entries


@record(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A document that belongs in indexes: which members of it are read, and which indexes and scores follow from that.

    `more` are commands whose replies matter too.
    """

    name: str
    key: str
    members: tuple[str, ...]
    lists: Callable[[Mapping[Member, Json], Sequence[Reply], int], Mapping[str, int]]
    more: tuple[Command, ...] = ()


_OF_RUN: Final = (
    *("status", "created_at"),
    *("workflow_name", "definition_sha256", "workflow_version", "agents", "tags"),
    *("for_anybody", "project", "blocked_by", "parent"),
)
_OF_KEY: Final = ("key_id", "created_at")
_OF_AGENT: Final = ("name", "tags", "created_at")


def _candidate(key: str, shards: int) -> _Candidate | None:
    document = document_of(key)
    if document is not None and document.kind == "meta":
        run = document.run
        listed = partial(_lists_of_run, run.workflow_id, shards)
        return _Candidate(
            name=run.workflow_id, key=run.meta, members=_OF_RUN, lists=listed, more=(("XLEN", run.outbox),)
        )
    for prefix, members, lists in _RECORDS:
        if key.startswith(prefix):
            name = key.removeprefix(prefix)
            return _Candidate(name=name, key=key, members=members, lists=partial(lists, name, shards))
    return None


def _lists_of_run(
    workflow_id: str, shards: int, members: Mapping[Member, Json], replies: Sequence[Reply], now: int
) -> Mapping[str, int]:
    (owed,) = replies
    meta = {name: members.get(name) for name in _OF_RUN}
    shard = shard_of(workflow_id, shards)
    indexes = {
        ListKind.RUNS: in_shard(keys.RUNS, shard),
        ListKind.LIVE_RUNS: in_shard(keys.LIVE, shard),
        ListKind.DUE_RUNS: keys.due(workflow_id),
    }
    created_at = listed_at(meta["created_at"], now)
    lists = lists_of_run(meta["status"], owed, created_at, now)
    listed = {in_shard(keys.runs_by(facet, value), shard): created_at for facet, value in facets_of(meta)}
    return {indexes[kind]: score for kind, score in lists.items()} | listed


def _lists_of_key(
    key_id: str, shards: int, members: Mapping[Member, Json], _: Sequence[Reply], now: int
) -> Mapping[str, int]:
    created_at = members.get("created_at")
    return {place_of(keys.KEY_INDEX, key_id, shards): created_at if isinstance(created_at, int) else now}


def _lists_of_agent(
    agent_id: str, shards: int, members: Mapping[Member, Json], _: Sequence[Reply], now: int
) -> Mapping[str, int]:
    name, tags, created_at = map(members.get, _OF_AGENT)
    if not isinstance(name, str) or not isinstance(tags, list):
        return {}  # damaged by hand
    lists = lists_of(agent_id, name, map(str, tags), shards)
    return dict.fromkeys(lists, created_at if isinstance(created_at, int) else now)


_RECORDS: Final = (
    (keys.access_key(""), _OF_KEY, _lists_of_key),
    (keys.agent(""), _OF_AGENT, _lists_of_agent),
)
"""Documents that belong in indexes: key prefix, what to read of them, and the indexes."""


def _lacking(result: list[str], shards: int, form: DocumentForm, connection: Connection) -> Flaws:
    candidates = [candidate for key in result if (candidate := _candidate(key, shards)) is not None]
    if not candidates:
        return ()
    commands = [
        command
        for candidate in candidates
        for command in (form.members(candidate.key, candidate.members), *candidate.more)
    ]
    clock, *replies = exchange(connection, [("TIME",), *commands])
    now, rest = micros(checked(clock)), iter(replies)
    belongs: list[tuple[str, str, int]] = []
    for candidate in candidates:
        document, *own = (next(rest) for _ in (candidate.key, *candidate.more))
        if any(isinstance(reply, Exception) for reply in (document, *own)):  # damaged by hand
            continue
        members = form.values(candidate.members, document)
        if members is not None:
            belongs += [(index, candidate.name, score) for index, score in candidate.lists(members, own, now).items()]
    entered = _ask(connection, [("ZSCORE", index, name) for index, name, _ in belongs])
    return tuple(_missing(*place) for place, score in zip(belongs, entered, strict=True) if score is None)


def _missing(index: str, name: str, score: int) -> ListFlaw:
    listed = _list(index)
    assert listed is not None, "what belongs on a list names one of those above"
    return ListFlaw(kind=listed.kind, index=index, name=name, score=score, is_missing=True)
