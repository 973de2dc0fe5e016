"""Limits of work in progress, and the books of what is held under them, across runs.

A lease is of a run, and a limit spans runs, so both cannot be one transaction. A slot is reserved in the book before
the lease is granted, and counts until the documents say that the state is no longer held. The script that finds a book
full looks at the state of each entry, and takes off those whose lease has ended. A lease does not end while its output
is being judged. So completions, expiries and cancelled runs need no message to the book. The reservation of a dead
process counts as long as a reservation lasts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dcf.core.documents.usage import Budget, stored_budget
from dcf.features.work.limits import LeaseSlot, LimitReached, WorkLimit
from dcf.store.connection.connections import Connections
from dcf.store.forms.form import DOCUMENTS
from dcf.store.keys.parts import decode_state, encode_state
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import LOOK, ask
from dcf.values.digest import fingerprint
from dcf.values.instants import SECOND
from dcf.values.json_text import dump, load
from dcf.values.records import record

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

LIMITS: Final = "cp:idx:limits"
BUDGETS: Final = "cp:idx:limits:budgets"
BOOKS: Final = "cp:idx:held:"

_RESERVED: Final = 30 * SECOND
"""A reservation counts for so long without a lease: longer than a transaction is tried again."""

_LIFE_S: Final = 30 * 24 * 3600
_BLANK: Final = RunKeys("%s")

# KEYS: books. ARGV: the owner, how long a reservation lasts, the life of a book. Then the forms of the keys of states,
# meta and claims. Then a mark of this reservation, the number of places, the limit of each book, and the places as
# they are named in a book. Replies: how many places were reserved, the book that is full or 0, and its entries.
_RESERVE: Final = (
    LOOK
    + DOCUMENTS
    + r"""
local owner, lasts, life = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local states, metas, claims, mark = ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local wanted = tonumber(ARGV[8])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local function is_running(run, mark)
  return read_member(function(...) return look(mark, ...) end, metas:format(run), 'status') == '"running"'
end

-- The time as documents have it, to the second: a lease that ends within this second counts.
local function text_of(seconds)
  local floor = math.floor
  local days = floor(seconds / 86400) + 719468
  local era = floor(days / 146097)
  local doe = days - era * 146097
  local yoe = floor((doe - floor(doe / 1460) + floor(doe / 36524) - floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + floor(yoe / 4) - floor(yoe / 100))
  local month = floor((5 * doy + 2) / 153)
  local day = doy - floor((153 * month + 2) / 5) + 1
  local year = yoe + era * 400 + (month >= 10 and 1 or 0)
  month = month < 10 and month + 3 or month - 9
  local rest = seconds % 86400
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d', year, month, day, floor(rest / 3600), floor(rest / 60) % 60,
    rest % 60)
end
local today = text_of(tonumber(clock[1]))

local function is_held(run, part, by, mark)
  local doc = read_document(function(...) return look(mark, ...) end, states:format(run) .. part)
  if not doc or not doc:find('"owner_agent_id":"' .. by .. '"', 1, true) or doc:find('"token":null', 1, true) then
    return false
  end
  local is_open = doc:find('"status":"running"', 1, true) or doc:find('"status":"pending"', 1, true)
  local ends = doc:match('"expires_at":"([^"]*)"')
  local is_judged = doc:find('"type":"Gate"', 1, true)
  return is_open and (is_judged or (ends and ends:sub(1, 19) >= today)) and is_running(run, mark)
end

local function counts(entry, value)
  local by, till = value:match('^([^|]*)|(%d+)|')
  local run, part = entry:match('^%??([^/]*)/(.*)$')
  if not by or not run then
    return false
  end
  if entry:sub(1, 1) == '?' then
    part = look(value, 'HGET', claims:format(run), part)
  end
  return tonumber(till) > now or (part and is_held(run, part, by, value)) and true or false
end

local room, full, held, gone = wanted, 0, {}, {}
for at, book in ipairs(KEYS) do
  local most = tonumber(ARGV[8 + at])
  local entries = redis.call('HGETALL', book)
  local own, count, names = {}, #entries / 2, {}
  for i = 9 + #KEYS, 8 + #KEYS + wanted do
    own[ARGV[i]] = true
    local run, token = ARGV[i]:match('^%?([^/]*)/(.*)$')
    local part = run and look(mark, 'HGET', claims:format(run), token)
    if part then
      own[run .. '/' .. part] = true
    end
  end
  if count + wanted > most then
    count = 0
    for i = 1, #entries, 2 do
      if own[entries[i]] then
        names[#names + 1] = nil
      elseif counts(entries[i], entries[i + 1]) then
        count = count + 1
        names[#names + 1] = entries[i]
      else
        gone[#gone + 1] = {book, entries[i]}
      end
    end
  end
  if most - count < room then
    room = math.max(0, most - count)
    if room == 0 and full == 0 then
      full, held = at, names
    end
  end
end
if unseen() then
  return unseen()
end
for _, one in ipairs(gone) do
  redis.call('HDEL', one[1], one[2])
end
if room > 0 then
  local value = owner .. '|' .. string.format('%.0f', now + lasts) .. '|' .. mark
  for _, book in ipairs(KEYS) do
    for i = 1, room do
      redis.call('HSET', book, ARGV[8 + #KEYS + i], value)
    end
    redis.call('EXPIRE', book, life)
  end
end
return {room, full, held}
"""
)

# KEYS: books. ARGV: the owner, the mark of the reservation, the form of the keys of states, how many places to release,
# these, then the places that are held now: from now on their documents say whether they count. A place that the owner
# holds all the same, since another process of it was faster, is kept.
_SETTLE: Final = (
    LOOK
    + DOCUMENTS
    + r"""
local owner, mark, states, gone = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local function is_held(entry, value)
  local run, part = entry:match('^([^?/][^/]*)/(.*)$')
  local doc = run and read_document(function(...) return look(value, ...) end, states:format(run) .. part)
  return doc and not doc:find('"token":null', 1, true) and doc:find('"owner_agent_id":"' .. owner .. '"', 1, true)
end
local kept, left = {}, {}
for _, book in ipairs(KEYS) do
  for i = 5, 4 + gone do
    local value = redis.call('HGET', book, ARGV[i])
    if value and value:match('[^|]*$') == mark then
      local list = is_held(ARGV[i], value) and kept or left
      list[#list + 1] = {book, ARGV[i]}
    end
  end
end
if unseen() then
  return unseen()
end
for _, one in ipairs(kept) do
  redis.call('HSET', one[1], one[2], owner .. '|0|' .. mark)
end
for _, one in ipairs(left) do
  redis.call('HDEL', one[1], one[2])
end
for _, book in ipairs(KEYS) do
  for i = 5 + gone, #ARGV do
    redis.call('HSET', book, ARGV[i], owner .. '|0|' .. mark)
  end
end
"""
)


# KEYS: budgets. ARGV: the project, its budget as it was read, as it is to be; "" for none. Replies 0 if it was changed
# meanwhile.
_PUT_BUDGET: Final = r"""
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then
  return 0
end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
"""


@record(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Slots that were reserved: one for each of the places, in the books of these limits."""

    limits: tuple[WorkLimit, ...]
    owner: str
    places: tuple[LeaseSlot, ...]
    mark: str


class WorkLimits:
    """The limits of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self) -> tuple[dict[str, int], dict[str, Budget]]:
        """Return every limit, by kind and name, and the budgets of projects."""
        limits, budgets = self._connections.send(("HGETALL", LIMITS), ("HGETALL", BUDGETS))
        stored_budgets = {name.decode(): stored_budget(load(text)) for name, text in _pairs(budgets)}
        known = {name: budget for name, budget in stored_budgets.items() if budget is not None}
        return {name.decode(): int(most) for name, most in _pairs(limits)}, known

    def put_budget(self, project: str, change: Callable[[Budget | None], Budget | None]) -> None:
        """Write what `change` makes of the budget of a project; None takes it away. Of two at once none is lost."""
        is_done = False
        while not is_done:
            (stored,) = self._connections.send(("HGET", BUDGETS, project))
            budget = change(None if stored is None else stored_budget(load(stored)))
            text = "" if budget is None else dump(budget.as_json())
            (is_done,) = self._connections.send(("EVAL", _PUT_BUDGET, 1, BUDGETS, project, stored or "", text))

    def put(self, limit: WorkLimit) -> None:
        """Set a limit; one of 0 is none."""
        change: Command = ("HSET", LIMITS, limit.field, limit.most) if limit.most else ("HDEL", LIMITS, limit.field)
        self._connections.send(change)

    def reserve(
        self, limits: Sequence[WorkLimit], owner: str, places: Sequence[LeaseSlot], mark: str
    ) -> Reservation | LimitReached:
        """Reserve slots for as many of these places as there is room for, the first of them first."""
        books, forms = [_book(limit) for limit in limits], (_BLANK.state(""), _BLANK.meta, _BLANK.claims)
        most, named = (limit.most for limit in limits), map(_entry, places)
        fixed = (owner, _RESERVED, _LIFE_S, *forms, mark, len(places))
        (reply,) = ask(self._connections, ("EVAL", _RESERVE, len(books), *books, *fixed, *most, *named))
        room, full, holders = reply
        if room:
            return Reservation(limits=tuple(limits), owner=owner, places=tuple(places[:room]), mark=mark)
        return LimitReached(limit=limits[max(0, full - 1)], held=tuple(_named(entry.decode()) for entry in holders))

    def settle(self, reservation: Reservation, lease_slots: Sequence[LeaseSlot]) -> None:
        """Release the slots of a reservation except those of leases that are held now."""
        names = [_entry(slot) for slot in lease_slots]
        entries = [entry for entry in map(_entry, reservation.places) if entry not in names]
        books = [_book(limit) for limit in reservation.limits]
        fixed = (reservation.owner, reservation.mark, _BLANK.state(""), len(entries))
        ask(self._connections, ("EVAL", _SETTLE, len(books), *books, *fixed, *entries, *names))


def _pairs(reply: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(reply[::2], reply[1::2], strict=True)


def _book(limit: WorkLimit) -> str:
    return f"{BOOKS}{limit.field}"


def _entry(place: LeaseSlot) -> str:
    if place.state is not None:
        return f"{place.workflow_id}/{encode_state(place.state)}"
    return f"?{place.workflow_id}/{fingerprint(place.token or '')}"


def _named(entry: str) -> tuple[str, str]:
    run, _, part = entry.removeprefix("?").partition("/")
    return run, "a state that is being claimed" if entry.startswith("?") else decode_state(part)


def limits_in(document: Mapping[str, int], agent: str | None, project: str | None) -> tuple[WorkLimit, ...]:
    """Return the limits that a lease of this agent in a run of this project counts under."""
    agents = [] if agent is None else [WorkLimit(kind="agent", name=agent, most=document.get(f"agent:{agent}", 0))]
    projects = (
        [] if project is None else [WorkLimit(kind="project", name=project, most=document.get(f"project:{project}", 0))]
    )
    return tuple(limit for limit in (*agents, *projects) if limit.most)
