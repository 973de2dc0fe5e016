"""The operations on accounts: reserve and report turns, close and open, park a state, keep the ledger."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dcf import metrics
from dcf.core.completing.updates import Update
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.answers import Released, Updated
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.model import Status
from dcf.core.documents.parking import ACCOUNT_LIMIT, CLOSING, LONGEST_S
from dcf.core.leasing.lease import Release
from dcf.core.leasing.parking import Excuse, moment_of
from dcf.errors import InvalidArgument, NotFound
from dcf.features.accounts import model
from dcf.features.accounts.admission_operations import admissions_of
from dcf.features.accounts.billing_operations import KnownPrices
from dcf.features.accounts.model import LimitMet, Verdict, Wish
from dcf.features.accounts.money import Price, Statement, price_of
from dcf.features.accounts.showing import account_shown, day_number, ledger_shown
from dcf.features.accounts.unparking import resume, warn
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.core.documents.usage import UsageReport
    from dcf.features.accounts.overview_storage import Overviews
    from dcf.features.accounts.showing import AccountView
    from dcf.features.accounts.storage import AccountStore
    from dcf.runs.control_plane import ControlPlane
    from dcf.store.transaction.runs import Committed

_STARTED: Final = frozenset({"granted", "settled"})


class Accounts:
    """The accounts of a deployment."""

    def __init__(self, plane: "ControlPlane", store: "AccountStore", overviews: "Overviews") -> None:
        self._plane = plane
        self._store = store
        self._admissions = admissions_of(plane)
        self._prices = KnownPrices(store)
        self._overviews = overviews

    def put(self, account: str, limits: Mapping[str, int], currency: str | None = None) -> dict[str, Json]:
        """Set limits; those that are not named stay, 0 removes a limit."""
        self._store.put(account, limits, {} if currency is None else {"currency": currency})
        return self.read(account)

    def read(self, account: str) -> dict[str, Json]:
        """Return how an account is; raise NotFound if there is none of this name."""
        now, views = self._overviews.read(account)
        if not views:
            raise NotFound(f"There is no account '{account}'.", "`list_accounts` shows those that there are.")
        return account_shown(views[0], now)

    def all(self) -> list[dict[str, Json]]:
        """Return all accounts."""
        now, views = self._overviews.read()
        return [account_shown(view, now) for view in views]

    def first(self, most: int) -> tuple[int, list["AccountView"]]:
        """Return the time of Redis and the first accounts by name, as metrics count them."""
        return self._overviews.read(most=most)

    def used(self, account: str, days: Sequence[str]) -> dict[str, Json]:
        """Return the ledger of these days (2026-11-24), and its sum; raise NotFound if there is no such account."""
        self.read(account)
        return ledger_shown(self._store.read(account, [day_number(day) for day in days]).days)

    def log(self, account: str, most: int) -> list[dict[str, str]]:
        """Return the log of the account, the latest entry first."""
        return self._store.log(account, most)

    def assign(self, agent: str, account: str | None, *, is_hosted: bool = False) -> None:
        """Give an account to an agent; None takes it away. A host reserves the turns of an agent that `is_hosted`."""
        self._store.assign(agent, account, is_hosted=is_hosted)
        self._admissions.refresh()

    def account_of(self, agent: str) -> str | None:
        """Return the account of an agent; None if it has none."""
        return self._store.account_of(agent)

    def reserve(self, account: str, wish: Wish, of_model: str | None = None) -> Verdict:
        """Reserve a turn before it starts, or say why none may start and when to ask again."""
        price = None if of_model is None else price_of(self._prices.all(), of_model)
        nanos = wish.nanos if price is None else max(wish.nanos, price.most(wish.tokens))
        wish = replace(wish, nanos=min(nanos, model.MOST_NANOS), of_model=(of_model or "").lower())
        verdict = self._store.reserve(account, wish)
        if verdict.verdict == "closed" and not verdict.family:
            self._admissions.note_limit(account, verdict.after)
        if metrics.current is not None and verdict.verdict not in _STARTED:
            metrics.current.turn_refused(account, verdict.verdict)
        return verdict

    def report(self, account: str, reservation: str, usage: "UsageReport", *, ended: bool, ok: bool) -> str:
        """Count what a turn has used so far. Money that it does not tell is computed by the prices."""
        bill = replace(self._prices.bill(reservation, usage), ended=ended, ok=ok)
        return self._store.report(account, bill)

    def state(self, account: str, statements: Sequence[Statement]) -> None:
        """Replace what turns reported by what the provider's statement says."""
        for line in statements:
            self._store.state(account, self._prices.bill(line.reservation, line.usage), line.day)

    def today(self) -> int:
        """Return the number of the day since 1970, by the time of Redis."""
        return self._store.now() // model.DAY

    def closed(self, account: str, met: LimitMet, *, until: str | None) -> tuple[int, int]:
        """Close the account as a caller says; return until when, and for how long.

        `until` is a time or a length of time as text. Raise InvalidArgument for more than 8 days ahead.
        """
        at, within_s = (None, None) if until is None else moment_of(until)
        now = self._store.now()
        if within_s is not None:
            at = now + within_s * model.STEP
        if at is not None and at > now + LONGEST_S * model.STEP:
            raise InvalidArgument("The limit would last longer than 8 days.", "Tell an earlier end, or none.")
        closed = self.limit(account, replace(met, until=at or 0))
        return closed, closed - now

    def limit(self, account: str, met: LimitMet, within_s: int | None = None) -> int:
        """Close the account for all of its agents; return until when."""
        now = self._store.now()
        until = met.until if within_s is None else now + within_s * model.STEP
        closed = self._store.limit(account, replace(met, until=until))
        if not met.family:
            self._admissions.note_limit(account, closed - now)
        return closed

    def reopen(self, account: str, by: str) -> int | None:
        """End a closure, and have the states announced that wait for it; None if the account was not closed."""
        if not self._store.reopen(account, by):
            return None
        parked = self._store.parked(account)
        resumed = sum(self._resumed(workflow_id, state, account) for workflow_id, state in parked)
        self._store.forget_parked(account, parked)
        return resumed

    def _resumed(self, workflow_id: str, state: str, account: str) -> bool:
        """Make a state ready that waits for the account; return False if it does not wait."""
        try:
            path = self._plane.path(workflow_id, state)
            reads = ReadSet(states=with_scopes([path]))
            done: Committed[bool] = self._plane.transactions.on_state(
                workflow_id, path, reads, lambda snapshot: resume(snapshot, path, account)
            )
        except NotFound:
            return False
        return done.answer

    def put_prices(self, prices: Mapping[str, Price | None]) -> dict[str, Json]:
        """Change the table of prices; return the whole of it."""
        self._store.put_prices({name: None if row is None else row.as_json() for name, row in prices.items()})
        self._prices.forget()
        return {pattern: price.as_json() for pattern, price in sorted(self._prices.all().items())}

    def release(self, workflow_id: str, request: Release) -> Released | Updated | Refusal:
        """Release a lease. A limit closes the account of the lease holder, unless that was reported before."""
        excuse = request.excuse
        if excuse is None or (excuse.until is None and excuse.within_s is None):
            return release(self._plane, workflow_id, request)
        if excuse.account is None and excuse.kind in CLOSING:
            excuse = self._reported(workflow_id, request, excuse)
        answer = release(self._plane, workflow_id, replace(request, excuse=excuse))
        if isinstance(answer, Released) and answer.doc.parked is not None:
            if excuse.account is not None:
                self._store.note_parked(excuse.account, workflow_id, request.state, answer.doc.parked.until)
            self._warn(workflow_id, request.state)
        return answer

    def _warn(self, workflow_id: str, state: str) -> None:
        """Tell the planner of a run that times out before the limit ends. `why` says so too, also if this is lost."""
        path = self._plane.path(workflow_id, state)
        reads = ReadSet(states=with_scopes([path]), whole_meta=True)
        committed: Committed[bool] = self._plane.transactions.on_state(
            workflow_id, path, reads, lambda snapshot: warn(snapshot, path)
        )
        self._plane.follow_ups.deliver(workflow_id, committed)

    def _reported(self, workflow_id: str, request: Release, excuse: Excuse) -> Excuse:
        """Report a limit for the account of the lease holder; return the excuse with what is known then."""
        owner = request.owner or self._holder(workflow_id, request.state)
        account = None if owner is None else self._store.account_of(owner)
        if owner is None or account is None:
            return excuse
        met = LimitMet(until=0 if excuse.kind == "guess" else excuse.until or 0, kind=excuse.kind, by=owner)
        within = None if excuse.within_s is None or excuse.kind == "guess" else int(excuse.within_s)
        until = self.limit(account, met, within)
        return replace(excuse, account=account, until=until, within_s=None)

    def _holder(self, workflow_id: str, state: str) -> str | None:
        snapshot = self._plane.read(workflow_id, (state,), whole_meta=False, with_data=False)
        doc = snapshot.states.get(state)
        return None if doc is None else doc.lease.owner_agent_id


def release(control_plane: "ControlPlane", workflow_id: str, request: Release) -> Released | Updated | Refusal:
    """Release a lease. Where the visit would be parked for too long, write the failure instead."""
    answer = control_plane.release(workflow_id, request)
    if not isinstance(answer, Refusal) or answer.code != "parked_too_long":
        return answer
    failure = Update(
        state=request.state,
        token=request.token,
        owner=request.owner,
        status=Status.FAILED,
        error=ACCOUNT_LIMIT,
        cause=answer.message,
    )
    return control_plane.update(workflow_id, failure)
