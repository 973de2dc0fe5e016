"""The sums of what work used up: of a run in its own transaction, of agents, projects and their days once, from there.

A completion that reports usage adds it to the run's sums (`usage`), and appends it to the run's `spent` stream, in its
own transaction. From there one script moves it, exactly once, to the sums of the run by state, agent and model
(`usageparts`). It also moves it to the books of its agent and its project, of all time and of the day, and to the sums
of its ancestors: fields of their `usage` that begin with `tree:`. The process that committed runs the script at once,
and each reader runs it before it reads. The timer loop finds the reports of a dead process in `cp:idx:usage:owed`,
which was entered before the commit. The script is atomic, so that each report is in the books or still owed, never
both.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from dcf.core.documents.model import RunStatus
from dcf.core.documents.usage import BilledTurn, Budget, stored_budget
from dcf.features.usage.bill_storage import BILLS, stored_turn
from dcf.features.usage.moving import move
from dcf.features.usage.scripts import BOOKS, LIFE_S, LINGER, MODELS, OTHER_MODELS, RUNS, SETTLE
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED, read_sums
from dcf.values.records import record

Kind: TypeAlias = Literal["agent", "project"]

_AT_ONCE: Final = 500
_MOST_RUNS: Final = 100
_BUDGET: Final = ("status", "budget")


@record(frozen=True, slots=True, kw_only=True)
class Moved:
    """What is to be checked after reports were moved: the budget of the run's project, and those of trees.

    `trees` are the runs in whose trees the reports count; the run itself, if its budget is one of its tree.
    """

    project: str | None = None
    trees: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.project is not None or bool(self.trees)

    def __or__(self, later: "Moved") -> "Moved":
        return Moved(project=later.project or self.project, trees=tuple(dict.fromkeys((*self.trees, *later.trees))))


class UsageBooks:
    """The usage books in one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._bills = BILLS.make(connections)

    def settle(self, workflow_id: str, turns: Sequence[BilledTurn] = ()) -> Moved:
        """Move what the run owes to the books.

        The bills of `turns` are sent with it: of a commit a moment ago, and of a refused one, which the run has not.
        """
        moved, answered = Moved(), list[str]()
        while True:
            left, more, unpaid = self._moved(workflow_id, turns, answered)
            moved |= more
            if not left:
                return moved
            answered += unpaid
            turns = [stored_turn(text) for text in unpaid]

    def settle_owed(self, now: int | None = None) -> dict[str, Moved]:
        """Move what runs owe whose reports are older than a minute, or of all. Return of which runs."""
        until = "+inf" if now is None else now - LINGER
        (reply,) = self._connections.send(("ZRANGE", OWED, "-inf", until, "BYSCORE", "LIMIT", 0, _MOST_RUNS))
        runs = [run.decode() for run in reply]
        if self._connections.shards > 1:
            return {run: self._moved(run)[1] for run in runs}
        replies = self._connections.send(*map(self.moving, runs)) if runs else []
        result = {}
        for run, (_, moved, unpaid) in zip(runs, map(_read_moved, replies), strict=True):
            result[run] = moved | self.settle(run) if unpaid else moved
        return result

    def _moved(
        self, workflow_id: str, turns: Sequence[BilledTurn] = (), answered: Sequence[str] = ()
    ) -> tuple[int, Moved, list[str]]:
        """Move some of what a run owes, and settle turns, of which accounts have `answered` for others before.

        Return how many reports are left, what to check, and the turns that are still to be settled.
        """
        if self._connections.shards > 1:
            return _read_moved((*move(self._connections, workflow_id, _AT_ONCE, self._bills, turns), ()))
        *_, reply = self._connections.send(*self._bills.commands(turns), self.moving(workflow_id, answered))
        return _read_moved(reply)

    def moving(self, workflow_id: str, answered: Sequence[str] = ()) -> Command:
        """Return the command that moves what a run owes, but for turns of which no account has answered."""
        run, script = RunKeys(workflow_id), self._connections.form.script(SETTLE)
        names = (run.spent, run.usage_parts, run.meta, OWED)
        fixed = (workflow_id, BOOKS, LIFE_S, LINGER, _AT_ONCE, MODELS, OTHER_MODELS, RUNS, self._bills.settled_key)
        return ("EVAL", script, 4, *names, *fixed, *answered)

    def budgets(self, workflow_ids: Sequence[str]) -> dict[str, tuple[Budget, dict[str, int]]]:
        """Return the budgets of those of these runs that run and have one, with their sums. One round trip."""
        form, runs = self._connections.form, [RunKeys(name) for name in workflow_ids]
        commands: list[Command] = [form.members(run.meta, _BUDGET) for run in runs]
        replies = self._connections.send(*commands, *(("HGETALL", run.usage) for run in runs)) if runs else []
        result = {}
        for name, meta, sums in zip(workflow_ids, replies[: len(runs)], replies[len(runs) :], strict=True):
            members = form.values(_BUDGET, meta) or {}
            budget = stored_budget(members.get("budget"))
            if budget is not None and members.get("status") == RunStatus.RUNNING:
                result[name] = budget, read_sums(sums)
        return result

    def of_runs(self, workflow_ids: Sequence[str]) -> list[dict[str, int]]:
        """Return the sums of runs; they are those of their own transactions."""
        commands: list[Command] = [("HGETALL", RunKeys(name).usage) for name in workflow_ids]
        return [read_sums(reply) for reply in self._connections.send(*commands)] if commands else []

    def parts(self, workflow_id: str) -> dict[str, dict[str, dict[str, int]]]:
        """Return the sums of a run by state, by agent and by model, of the reports that were moved."""
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
        """Return the sums of an agent or a project: of all time, and of days that have any. Reports were moved."""
        book, chosen_days = f"{BOOKS}{kind}:{name}", list(days)
        commands: list[Command] = [("HGETALL", book), *(("HGETALL", f"{book}:{day}") for day in chosen_days)]
        total, *daily = (read_sums(reply) for reply in self._connections.send(*commands))
        return total, {day: sums for day, sums in zip(chosen_days, daily, strict=True) if sums}


def _read_moved(reply: Reply) -> tuple[int, Moved, list[str]]:
    """Return how many reports are left, what to check, and unpaid turns, from the reply of the script or of `move`."""
    left, project, trees, unpaid = reply
    return int(left), Moved(project=_text(project) or None, trees=tuple(map(_text, trees))), [*map(_text, unpaid)]


def _text(word: str | bytes) -> str:
    return word.decode() if isinstance(word, bytes) else word


def _split(rest: str) -> tuple[str, str]:
    """Return the name and what is summed of it; the name of a model may have colons, that of a sum of money has one."""
    name, _, amount_name = rest.rpartition(":")
    if name.endswith(":cost"):
        return name.removesuffix(":cost"), f"cost:{amount_name}"
    return name, amount_name
