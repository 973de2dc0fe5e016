"""Searches the lists of runs for work: in one script where there is one shard, in several packets where there are more.

Across shards the first packet asks each for its next runs, the oldest first. The others look at these runs, each by a
script of its own, until enough is found. It writes nothing but the marks of claims (`storage`).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from dcf.core.documents.kinds import GATE
from dcf.core.documents.model import RunStatus
from dcf.core.listing.runs import FOR_ANYBODY, Facet
from dcf.features.work.listing import WorkPlace, WorkQuery
from dcf.features.work.scripts import FIND, LIST, PAST, VISIT
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import table as keys
from dcf.store.keys.parts import KeyText, encode_state
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import every_shard, in_shard
from dcf.values.json_text import dump
from dcf.values.records import record, replace

DONE: Final = "done"
"""Mode of a search for what has ended, in runs that may be over."""

_MOST_RUNS: Final = 10_000
"""Runs that one page passes over by their lists, at most; then the page ends."""

_MOST_READ: Final = 600
"""Documents of states that one page looks at, or runs, at most."""

_PAGE_OF_RUN: Final = 64
"""Open states of one run that are looked at before the page ends."""

_LISTED: Final = 16
"""Runs that each of several shards is asked for at a time."""

_MOST_AT_ONCE: Final = 64
"""Runs that one packet looks at, at most."""

_MARK_MS: Final = 50
_BLANK: Final = RunKeys("%s")


@record(frozen=True, slots=True, kw_only=True)
class FoundState:
    """A state that may be taken, by the list of work."""

    workflow_id: str
    state: str


@record(frozen=True, slots=True, kw_only=True)
class WorkSought:
    """The request of a search: `wanted` states, found as `mode` says; a claim marks them, and passes over some."""

    query: WorkQuery
    mode: str
    wanted: int
    mark: str = ""
    passed: Sequence[FoundState] = ()


@record(frozen=True, slots=True, kw_only=True)
class FoundRuns:
    """The runs with the states in them, in the form of the script, and the place where the search stopped.

    `before` are the replies to what was sent along. `is_contested`: others are about to take some that fit too.
    """

    runs: Sequence[Reply]
    is_contested: bool
    place: WorkPlace | None
    before: Sequence[Reply] = ()


class WorkSearch:
    """Searches the lists of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def find(self, sought: WorkSought, *along: Command) -> FoundRuns:
        """Return what is found from the place of the query on. `along` is sent in the first packet."""
        if self._connections.shards > 1 and sought.query.run is None:
            return self._in_shards(sought, along)
        *before, reply = self._connections.send(*along, _find_command(self._connections.form, sought))
        contested, stopped, runs, *_ = reply
        place = _read_place(*stopped) if stopped else None
        return FoundRuns(runs=runs, is_contested=bool(contested), place=place, before=before)

    def _in_shards(self, sought: WorkSought, along: Sequence[Command]) -> FoundRuns:
        walk, place = _ShardWalk(sought=sought, left=sought.wanted), sought.query.place
        listing = _list_commands(sought, place, self._connections.shards)
        replies = self._connections.send(*along, *listing)
        before, replies = replies[: len(along)], replies[len(along) :]
        while True:
            runs, further = _merged(replies, place)
            stopped = self._look(walk, runs)
            if stopped is not None or further is None or not runs:
                ends_at = further if stopped is None else stopped
                return FoundRuns(runs=walk.runs, is_contested=walk.is_contested, place=ends_at, before=before)
            place = further
            replies = self._connections.send(*_list_commands(sought, place, self._connections.shards))

    def _look(self, walk: "_ShardWalk", runs: Sequence[WorkPlace]) -> WorkPlace | None:
        """Look at these runs, some in a packet. Return the place where that is enough; None if it is not."""
        left, at_once = deque(runs), max(1, walk.left // 4)
        while left:
            batch = list(islice(left, at_once))
            first, *others = batch
            marked, plain = walk.sought, replace(walk.sought, mark="")  # a mark on what is not taken is in others' way
            form = self._connections.form
            visits = [_visit(form, marked, first, walk.left)]
            visits += (_visit(form, plain, place, walk.left) for place in others)
            replies = self._connections.send(*visits)
            at_once = min(2 * at_once, _MOST_AT_ONCE)
            for place, reply in zip(batch, replies, strict=True):
                if walk.must_ask_again(reply, is_marked=place is first):
                    break
                left.popleft()
                stopped = walk.take(place, reply)
                if stopped is not None:
                    return stopped
        return None


@dataclass(slots=True)
class _ShardWalk:
    """The finds so far in the runs of all shards: `left` states are still to be found."""

    sought: WorkSought
    left: int
    read: int = 0
    is_contested: bool = False
    runs: list[Reply] = field(default_factory=list)

    def must_ask_again(self, reply: Reply, *, is_marked: bool) -> bool:
        """Return True if a run has more than is left to find by now, or has something that is not marked yet."""
        count = self._count(reply)
        return count > self.left or (count > 0 and not is_marked and self.sought.mark != "")

    def take(self, place: WorkPlace, reply: Reply) -> WorkPlace | None:
        """Add what a run has. Return the place where the search stops, if it does."""
        contested, stopped, runs, read = reply
        self.is_contested = self.is_contested or bool(contested)
        self.runs += runs
        self.left -= self._count(reply)
        self.read += read + 1
        if stopped:
            return replace(place, skipped=int(stopped[2]))
        return replace(place, skipped=PAST) if self.left == 0 or self.read >= _MOST_READ else None

    def _count(self, reply: Reply) -> int:
        _, _, runs, _ = reply
        return len(runs) if self.sought.mode == DONE else sum(len(parts) for _, _, *parts in runs)


def _find_command(form: DocumentForm, sought: WorkSought) -> Command:
    """Return the command that goes through whole lists and looks at their runs, or at the one run of the query."""
    query = sought.query
    if query.run is not None:
        begun = query.place or WorkPlace(score=0, workflow_id=query.run)
        return _visit(form, sought, replace(begun, workflow_id=query.run), sought.wanted)
    lists, bounds = _lists(query, sought.mode, ""), (_MOST_RUNS, _MOST_READ, _PAGE_OF_RUN, sought.wanted)
    arguments = (*_from(query.place), *bounds, *_asked(sought), *_looking("", _BLANK, sought.passed))
    return ("EVAL", form.script(FIND), *lists, *arguments)


def _list_commands(sought: WorkSought, place: WorkPlace | None, shards: int) -> list[Command]:
    """Return the commands that ask each shard for the next runs on its lists."""
    arguments = (*_from(place), _MOST_RUNS, PAST, _PAGE_OF_RUN, _LISTED, *_asked(sought))
    return [("EVAL", LIST, *_lists(sought.query, sought.mode, shard), *arguments) for shard in every_shard(shards)]


def _visit(form: DocumentForm, sought: WorkSought, place: WorkPlace, count: int) -> Command:
    """Return the command that looks at one run from a place on."""
    run, bounds = RunKeys(place.workflow_id), (_MOST_RUNS, _MOST_READ, _PAGE_OF_RUN, count)
    passed = [state for state in sought.passed if state.workflow_id == run.workflow_id]
    arguments = (*_from(place), *bounds, *_asked(sought), *_looking(run.workflow_id, run, passed))
    return ("EVAL", form.script(VISIT), 1, run.meta, 0, 0, *arguments)


def _from(place: WorkPlace | None) -> tuple[str | int, ...]:
    return ("-inf", "", 0) if place is None else (place.score, place.workflow_id, place.skipped)


def _asked(sought: WorkSought) -> tuple[str | int, ...]:
    query = sought.query
    skill = "" if query.skill is None else dump(query.skill)[1:-1]
    return (sought.mode, query.agent or "", skill, sought.mark, _MARK_MS)


def _looking(workflow_id: str, run: RunKeys, passed: Sequence[FoundState]) -> tuple[str, ...]:
    """Return what the script needs to look at runs, or at this one."""
    forms = (run.timers, run.meta, run.state(""), run.taking(""))
    return (
        *map(KeyText, forms),
        workflow_id,
        GATE,
        *(f"{state.workflow_id}/{encode_state(state.state)}" for state in passed),
    )


def _lists(query: WorkQuery, mode: str, shard: str) -> tuple[str | int, ...]:
    """Return the lists of runs that all must have a run, then those of which one must, with how many of each."""
    facets = {Facet.WORKFLOW: query.workflow, Facet.PROJECT: query.project}
    every = [keys.runs_by(facet, value) for facet, value in facets.items() if value is not None]
    if mode != DONE:
        every.append(keys.runs_by(Facet.STATUS, RunStatus.RUNNING))
    one_of = [] if query.agent is None else [keys.runs_by(Facet.AGENT, word) for word in (query.agent, FOR_ANYBODY)]
    if not every:
        every, one_of = one_of[:1], []
    names = [in_shard(index, shard) for index in (*every, *one_of)]
    return (len(names), *names, len(every), len(one_of))


def _merged(replies: Sequence[Reply], begun: WorkPlace | None) -> tuple[list[WorkPlace], WorkPlace | None]:
    """Return the next runs of all shards, the oldest first, and the place for the next page; None if that was all.

    Runs after the place where a shard stopped are left for later: that shard may have runs in between.
    """
    stops = [_read_place(*stopped) for _, stopped, _ in replies if stopped]
    until = min(stops, key=_rank, default=None)
    places = sorted((_read_place(at, run) for _, _, runs in replies for at, run in runs), key=_rank)
    if until is not None:
        places = [place for place in places if _rank(place) <= _rank(until)]
    if begun is not None and places and _rank(places[0]) == _rank(begun):  # the run in which an earlier page stopped
        places[:1] = [begun] if begun.skipped < PAST else []
    return places, until


def _rank(place: WorkPlace) -> tuple[int, str]:
    return place.score, place.workflow_id


def _read_place(score: bytes, run: bytes, skipped: int = 0) -> WorkPlace:
    return WorkPlace(score=int(float(score)), workflow_id=run.decode(), skipped=int(skipped))
