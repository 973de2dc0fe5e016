"""The sums of what work used up: of a run in its own transaction, of agents, projects and their days once, from there.

A completion that reports usage adds it to the run's sums (`usage`), and appends it to the run's `spent` stream, in its
own transaction. From there one script moves it, exactly once, to the sums of the run by state, agent and model
(`usageparts`). It also moves it to the books of its agent and its project, of all time and of the day. The process
that committed runs the script at once, and each reader runs it before it reads. The timer loop finds the reports of a
dead process in `cp:idx:usage:owed`, which was entered before the commit. The script is atomic, so that each report is
in the books or still owed, never both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from dcf.core.documents.usage import BilledTurn
from dcf.features.usage.bill_storage import BILLS, stored_turn
from dcf.features.usage.moving import move
from dcf.features.usage.scripts import BOOKS, LIFE_S, LINGER, MODELS, OTHER_MODELS, SETTLE
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED, read_sums
from dcf.values.instants import SECOND

Kind: TypeAlias = Literal["agent", "project"]

_AT_ONCE: Final = 500
_MOST_RUNS: Final = 100
_SETTLED_EVERY: Final = 30 * SECOND
"""How often the timer loop moves usage that is owed to the books."""


class UsageBooks:
    """The usage books in one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._bills = BILLS.make(connections)

    def settle(self, workflow_id: str, turns: Sequence[BilledTurn] = ()) -> str | None:
        """Move what the run owes to the books. Return its project, if something was owed and it has one.

        The bills of `turns` are sent with it: of a commit a moment ago, and of a refused one, which the run has not.
        """
        settled, answered = None, list[str]()
        while True:
            left, project, unpaid = self._moved(workflow_id, turns, answered)
            settled = project or settled
            if not left:
                return settled
            answered += [turn.name for turn in turns]
            turns = unpaid

    def settle_owed(self, now: int | None = None) -> int:
        """Move what runs owe whose reports are older than a minute, or of all; return of how many runs."""
        until = "+inf" if now is None else now - LINGER
        (runs,) = self._connections.send(("ZRANGE", OWED, "-inf", until, "BYSCORE", "LIMIT", 0, _MOST_RUNS))
        if self._connections.shards > 1:
            for run in runs:
                move(self._connections, run.decode(), _AT_ONCE, self._bills)
        elif runs:
            replies = self._connections.send(*(self.moving(run.decode()) for run in runs))
            for run, (_, _, unpaid) in zip(runs, replies, strict=True):
                if unpaid:
                    self.settle(run.decode(), [stored_turn(text.decode()) for text in unpaid])
        return len(runs)

    def _moved(
        self, workflow_id: str, turns: Sequence[BilledTurn], answered: Sequence[str]
    ) -> tuple[int, str, list[BilledTurn]]:
        """Move some of what a run owes, and settle turns, of which accounts have `answered` for others before.

        Return how many reports are left, its project or an empty text, and the turns that are still to be settled.
        """
        if self._connections.shards > 1:
            return *move(self._connections, workflow_id, _AT_ONCE, self._bills, turns), []
        *_, reply = self._connections.send(*self._bills.commands(turns), self.moving(workflow_id, answered))
        left, name, unpaid = reply
        return left, name.decode(), [stored_turn(text.decode()) for text in unpaid]

    def moving(self, workflow_id: str, answered: Sequence[str] = ()) -> Command:
        """Return the command that moves what a run owes, but for turns of which no account has answered."""
        run, script = RunKeys(workflow_id), self._connections.form.script(SETTLE)
        names = (run.spent, run.usage_parts, run.meta, OWED)
        fixed = (workflow_id, BOOKS, LIFE_S, LINGER, _AT_ONCE, MODELS, OTHER_MODELS, self._bills.settled_key)
        return ("EVAL", script, 4, *names, *fixed, *answered)

    def of_runs(self, workflow_ids: Sequence[str]) -> list[dict[str, int]]:
        """Return the sums of runs; they are those of their own transactions."""
        commands: list[Command] = [("HGETALL", RunKeys(name).usage) for name in workflow_ids]
        return [read_sums(reply) for reply in self._connections.send(*commands)] if commands else []

    def parts(self, workflow_id: str) -> dict[str, dict[str, dict[str, int]]]:
        """Return the sums of a run by state, by agent and by model."""
        self.settle(workflow_id)
        (reply,) = self._connections.send(("HGETALL", RunKeys(workflow_id).usage_parts))
        result: dict[str, dict[str, dict[str, int]]] = {"s": {}, "a": {}, "m": {}}
        for field, amount in read_sums(reply).items():
            kind, _, rest = field.partition(":")
            name, amount_name = _split(rest)
            if kind in result and amount_name:
                result[kind].setdefault(name, {})[amount_name] = amount
        return {"states": {decode_state(part): sums for part, sums in result["s"].items()}} | {
            "agents": result["a"],
            "models": result["m"],
        }

    def book(
        self, kind: Kind, name: str, days: Iterable[str] = ()
    ) -> tuple[dict[str, int], Mapping[str, dict[str, int]]]:
        """Return the sums of an agent or a project: of all time, and of days that have any."""
        self.settle_owed()
        book, chosen_days = f"{BOOKS}{kind}:{name}", list(days)
        commands: list[Command] = [("HGETALL", book), *(("HGETALL", f"{book}:{day}") for day in chosen_days)]
        total, *daily = (read_sums(reply) for reply in self._connections.send(*commands))
        return total, {day: sums for day, sums in zip(chosen_days, daily, strict=True) if sums}


def _split(rest: str) -> tuple[str, str]:
    """Return the name and what is summed of it; the name of a model may have colons, that of a sum of money has one."""
    name, _, amount_name = rest.rpartition(":")
    if name.endswith(":cost"):
        return name.removesuffix(":cost"), f"cost:{amount_name}"
    return name, amount_name


def settling(_: object, connections: Connections) -> Callable[[int], None]:
    """Return the duty of the timer loop to move usage to the books that a process owed when it died."""
    books, settled_at = UsageBooks(connections), 0

    def settle(now: int) -> None:
        nonlocal settled_at
        if now - settled_at > _SETTLED_EVERY:
            books.settle_owed(now)
            settled_at = now

    return settle
