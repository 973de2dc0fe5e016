"""The sums of what work used up: of a run in its own transaction, of agents, projects and their days once, from there.

A completion that reports usage adds it to the run's sums (`usage`), and appends it to the run's `spent` stream, in its
own transaction. From there one script moves it, exactly once, to the sums by state, agent and model of the run
(`usageparts`) and to the books of its agent and its project, of all time and of the day. The process that committed
runs the script at once; whoever reads runs it before; and what a dead process left is found in `cp:idx:usage:owed`,
which was entered before the commit, by the clock. The script is atomic, so that each report is in the books or still
owed, never both.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from dcf.core.usage import Charge
from dcf.store.connection import Command, Connections
from dcf.store.key_parts import decode_state, encode_state
from dcf.store.keys import RunKeys
from dcf.values.instants import SECOND

Kind: TypeAlias = Literal["agent", "project"]

OWED: Final = "cp:idx:usage:owed"
BOOKS: Final = "cp:idx:usage:"
LIFE_S: Final = 400 * 24 * 3600
"""Seconds that the books of a day, of an agent and of a project are kept after the last report."""

_LINGER: Final = 60 * SECOND
"""A run is noted for so long after its last report: what was noted before may be committed later."""

_AT_ONCE: Final = 500
_MOST_RUNS: Final = 100
MODELS: Final = 50
"""Models of a run whose sums are kept apart; further ones are summed as one."""

OTHER_MODELS: Final = "(others)"

_SETTLE: Final = """
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[5])
local touched = {}
local function add(key, prefix, amounts)
  for name, amount in pairs(amounts) do
    redis.pcall('HINCRBY', key, prefix .. name, amount)
  end
end
local project = false
if #entries > 0 then
  local told = redis.call('JSON.GET', KEYS[3], '$.project')
  project = told and told:match('^%["([%w_.-]+)"%]$')
end
for _, entry in ipairs(entries) do
  local about, amounts, fields = {}, {}, entry[2]
  for i = 1, #fields, 2 do
    local name = fields[i]
    if name == 'state' or name == 'agent' or name == 'day' or name == 'model' then
      about[name] = fields[i + 1]
    else
      amounts[name] = fields[i + 1]
    end
  end
  add(KEYS[2], 's:' .. about.state .. ':', amounts)
  add(KEYS[2], 'a:' .. about.agent .. ':', amounts)
  local model = about.model
  if model then
    if not redis.call('HGET', KEYS[2], 'm:' .. model .. ':reports') then
      if tonumber(redis.call('HGET', KEYS[2], 'models') or '0') < tonumber(ARGV[6]) then
        redis.call('HINCRBY', KEYS[2], 'models', 1)
      else
        model = ARGV[7]
      end
    end
    add(KEYS[2], 'm:' .. model .. ':', amounts)
  end
  local books = {ARGV[2] .. 'agent:' .. about.agent}
  if project then
    books[2] = ARGV[2] .. 'project:' .. project
  end
  for _, book in ipairs(books) do
    add(book, '', amounts)
    add(book .. ':' .. about.day, '', amounts)
    touched[book] = true
    touched[book .. ':' .. about.day] = true
  end
  redis.call('XDEL', KEYS[1], entry[1])
end
for book in pairs(touched) do
  redis.call('EXPIRE', book, ARGV[3])
end
local left = redis.call('XLEN', KEYS[1])
if left == 0 then
  redis.call('DEL', KEYS[1])
  local noted = redis.call('ZSCORE', KEYS[4], ARGV[1])
  local clock = redis.call('TIME')
  if noted and tonumber(noted) < clock[1] * 1000000 + clock[2] - ARGV[4] then
    redis.call('ZREM', KEYS[4], ARGV[1])
  end
end
return {left, project or ''}
"""


def charge_commands(run: RunKeys, charges: Sequence[Charge]) -> list[Command]:
    """Return the commands of a transaction that add reports to the run's sums, and append them to what is owed."""
    found: list[Command] = []
    for charge in charges:
        amounts = charge.usage.amounts()
        found += [("HINCRBY", run.usage, name, amount) for name, amount in amounts.items()]
        about: dict[str, str] = {"state": encode_state(charge.state), "agent": charge.agent, "day": charge.day}
        about |= {} if charge.usage.model is None else {"model": charge.usage.model}
        told: list[str | int] = [part for pair in about.items() for part in pair]
        told += [part for pair in amounts.items() for part in pair]
        found.append(("XADD", run.spent, "*", *told))
    return found


def owed_command(run: RunKeys, now: int) -> Command:
    """Return the command that notes, before the commit, that a run owes its usage to the books."""
    return ("ZADD", OWED, now, run.workflow_id)


def read_sums(reply: Sequence[bytes]) -> dict[str, int]:
    """Return the sums of a hash, from the reply of HGETALL."""
    return {name.decode(): int(amount) for name, amount in zip(reply[::2], reply[1::2], strict=True)}


class UsageBooks:
    """What was used up, in one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def settle(self, workflow_id: str) -> str | None:
        """Move what the run owes to the books. Return its project, if something was owed and it has one."""
        found = None
        while True:
            (reply,) = self._connections.send(_settle(workflow_id))
            left, project = reply
            found = project.decode() or found
            if not left:
                return found

    def settle_owed(self, now: int | None = None) -> int:
        """Move what runs owe whose reports are older than a minute, or of all; return of how many runs."""
        until = "+inf" if now is None else now - _LINGER
        (runs,) = self._connections.send(("ZRANGE", OWED, "-inf", until, "BYSCORE", "LIMIT", 0, _MOST_RUNS))
        if runs:
            self._connections.send(*(_settle(run.decode()) for run in runs))
        return len(runs)

    def of_runs(self, workflow_ids: Sequence[str]) -> list[dict[str, int]]:
        """Return the sums of runs; they are those of their own transactions."""
        asked: list[Command] = [("HGETALL", RunKeys(name).usage) for name in workflow_ids]
        return [read_sums(reply) for reply in self._connections.send(*asked)] if asked else []

    def parts(self, workflow_id: str) -> dict[str, dict[str, dict[str, int]]]:
        """Return the sums of a run by state, by agent and by model."""
        self.settle(workflow_id)
        (reply,) = self._connections.send(("HGETALL", RunKeys(workflow_id).usage_parts))
        found: dict[str, dict[str, dict[str, int]]] = {"s": {}, "a": {}, "m": {}}
        for field, amount in read_sums(reply).items():
            kind, _, rest = field.partition(":")
            name, what = _split(rest)
            if kind in found and what:
                found[kind].setdefault(name, {})[what] = amount
        return {"states": {decode_state(one): sums for one, sums in found["s"].items()}} | {
            "agents": found["a"],
            "models": found["m"],
        }

    def book(
        self, kind: Kind, name: str, days: Iterable[str] = ()
    ) -> tuple[dict[str, int], Mapping[str, dict[str, int]]]:
        """Return the sums of an agent or a project: of all time, and of days that have any."""
        self.settle_owed()
        book, wanted = f"{BOOKS}{kind}:{name}", list(days)
        asked: list[Command] = [("HGETALL", book), *(("HGETALL", f"{book}:{day}") for day in wanted)]
        total, *daily = (read_sums(reply) for reply in self._connections.send(*asked))
        return total, {day: sums for day, sums in zip(wanted, daily, strict=True) if sums}


def _settle(workflow_id: str) -> Command:
    run = RunKeys(workflow_id)
    names = (run.spent, run.usage_parts, run.meta, OWED)
    return ("EVAL", _SETTLE, 4, *names, workflow_id, BOOKS, LIFE_S, _LINGER, _AT_ONCE, MODELS, OTHER_MODELS)


def _split(rest: str) -> tuple[str, str]:
    """Return the name and what is summed of it; the name of a model may have colons, that of a sum of money has one."""
    name, _, what = rest.rpartition(":")
    if name.endswith(":cost"):
        return name.removesuffix(":cost"), f"cost:{what}"
    return name, what
