"""The kind of faults that meets usage limits: agents share accounts, whose provider rejects calls for a while.

Processes are killed and frozen at the steps of the protocol, and so are servers and clocks. The replica takes the place
of its primary.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from dcf.features.accounts.money import read_prices
from dcf.features.accounts.operations import Accounts
from dcf.features.accounts.overview_storage import Overviews
from dcf.features.accounts.storage import AccountStore
from lab import limited_worker
from lab.crews import AGENTS, Crew
from lab.extras import Bench, NoErrands
from lab.kind import freeze_worker, kill_clock, kill_worker, strike_server
from lab.limit_evidence import AccountReader
from lab.limit_rules import LIMIT_RULES, UsedAccount
from lab.limited_worker import ACCOUNTS, NOTES, PEACE, TRAPS
from lab.primary_kinds import Failover
from lab.process import Dcf, opened, patiently
from lab.providers import CURRENCY, LARGEST_TURN, MODEL, NANOS
from lab.traps import MOMENTS, STEPS, Trap, Traps
from lab.turn_notes import Notes, read_notes
from lab.worker import Duty

_IN_FLIGHT: Final = {"lab-shared": 5, "lab-budget": 3}
_BUDGETS: Final = {"lab-shared": 10**14, "lab-budget": 3 * LARGEST_TURN // 2}
_NO_BUDGET: Final = 10**14
_COMES_S: Final = 2.0
_LOOK_S: Final = 0.01
_SHORT_S: Final = (0.05, 0.5)
_LONG_S: Final = (1.6, 2.2)
"""Seconds in which a reservation lapses: it lasts for 30 s of the lab's time."""


class Limits(Failover):
    """Agents belong to accounts, whose provider rejects calls now and then. All processes are struck."""

    name = "limit"
    pause_s = (0.2, 0.8)
    striking_s = 60.0
    patience_s = 60.0
    accounts: "AccountsOfBatch"

    def __init__(self, home: Any, *, acl: bool = False, http: bool = False) -> None:
        super().__init__(home, acl=acl, http=True)
        self.traps = Traps(home / TRAPS)
        self.notes = Notes(home / NOTES / "strikes.jsonl")

    @property
    def work(self) -> Callable[[Duty], None]:
        """Let workers reserve their turns."""
        return limited_worker.main

    def begin(self) -> None:
        """Begin with an empty Redis, and a provider that bills and rejects."""
        super().begin()
        shutil.rmtree(self.home / NOTES)
        self.notes = Notes(self.home / NOTES / "strikes.jsonl")
        (self.home / PEACE).unlink(missing_ok=True)
        self.traps.disarm()
        with opened(self.place()) as dcf:
            patiently(lambda: _set_up(_accounts_of(dcf)))

    def closures(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """Return when the account of each agent was closed, in the time of the machine."""
        with opened(self.place()) as dcf:
            reader = AccountReader(_accounts_of(dcf), _store_of(dcf), self.time)
            spans = {account: patiently(partial(reader.closed, account)) for account in _IN_FLIGHT}
        return {agent: spans[account] for agent, account in ACCOUNTS.items()}

    def errands(self, bench: Bench) -> "AccountsOfBatch":
        """Judge the accounts."""
        self.accounts = AccountsOfBatch(bench)
        return self.accounts

    def strike(self, luck: random.Random, crew: Crew) -> str:
        """Strike a worker at a step or anywhere, a server, a clock, or the primary."""
        number = luck.random()
        if number < 0.55:
            return self.spring(luck, crew)
        if number < 0.65:
            return luck.choice((kill_worker, freeze_worker))(luck, crew)
        if number < 0.8:
            return strike_server(luck, self.servers)
        return kill_clock(luck, crew) if number < 0.87 else super().strike(luck, crew)

    def spring(self, luck: random.Random, crew: Crew) -> str:
        """Kill or freeze the worker that comes to a step first."""
        trap = Trap(
            agent=luck.randrange(len(AGENTS)),
            step=luck.choice(STEPS),
            moment=luck.choice(MOMENTS),
            is_frozen=luck.random() < 0.4,
        )
        name, where = f"worker {AGENTS[trap.agent]}", f"{trap.moment} {trap.step}"
        length = luck.uniform(*luck.choice((_SHORT_S, _LONG_S)))
        self.traps.set(trap)
        until = time.monotonic() + _COMES_S
        while self.traps.is_armed and time.monotonic() < until:
            time.sleep(_LOOK_S)
        if self.traps.is_armed:
            self.traps.disarm()
            return f"{name} did not come to {where}"
        if trap.is_frozen:
            time.sleep(length)
            crew.thaw(name)
            return f"froze {name} {where} for {length:.2f} s"
        crew.kill(name)
        return f"killed {name} {where}"

    def heal(self, crew: Crew) -> None:
        """Let the provider accept all calls, and give the days more money."""
        super().heal(crew)
        self.traps.disarm()
        (self.home / PEACE).touch()
        patiently(self.accounts.lift)


class AccountsOfBatch(NoErrands[UsedAccount]):
    """The accounts of the agents."""

    rules = LIMIT_RULES

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._accounts = _accounts_of(bench.dcf)
        self._reader = AccountReader(self._accounts, _store_of(bench.dcf), bench.kind.time)
        self._lifted_on = 0

    def lift(self) -> None:
        """Lift the budgets."""
        self._lifted_on = self._accounts.today()
        for name in _IN_FLIGHT:
            self._accounts.put(name, {"day_nanos": _NO_BUDGET})

    def _used(self, name: str, notes: list[dict[str, Any]]) -> UsedAccount:
        return self._reader.used(name, notes, _BUDGETS[name], until=self._lifted_on)

    def judge(self) -> list[str]:
        """Count the statements of the provider, and judge the accounts."""
        notes = read_notes(self.kind.home / NOTES)
        for name in _IN_FLIGHT:
            self.note(patiently(partial(self._used, name, notes)))
        _say(notes, self._noted)
        return super().judge()


def _store_of(dcf: Dcf) -> AccountStore:
    return AccountStore(dcf.connections, wait_replicas=1)


def _accounts_of(dcf: Dcf) -> Accounts:
    return Accounts(dcf.plane, _store_of(dcf), Overviews(dcf.connections))


def _set_up(accounts: Accounts) -> None:
    """Give the agents their accounts, and these their limits."""
    price = {"input": str(NANOS // 1000), "output": str(NANOS // 1000), "currency": CURRENCY}
    accounts.put_prices(read_prices({MODEL: price}))
    for name, most in _IN_FLIGHT.items():
        accounts.put(name, {"in_flight": most, "day_nanos": _BUDGETS[name]}, CURRENCY)
    for agent, account in ACCOUNTS.items():
        accounts.assign(agent, account, is_hosted=True)


def _say(notes: list[dict[str, Any]], accounts: list[UsedAccount]) -> None:
    """Print the figures of the batch."""
    count = {name: sum(note["event"] == name for note in notes) for name in ("begun", "rejected", "struck", "billed")}
    steps = Counter(f"{note['how']} {note['step']}" for note in notes if note["event"] == "struck")
    lapsed = sum(note.get("outcome") == "late" for note in notes)
    budgets = [
        (max(account.days.values(), default=0) - account.budget) / account.largest
        for account in accounts
        if account.budget < _NO_BUDGET
    ]
    print(f"  struck at steps: {dict(sorted(steps.items()))}")
    print(f"  {count}, {lapsed} reports came late, a day exceeded its budget by {max(budgets):.2f} of the largest turn")
