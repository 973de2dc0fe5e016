"""Decides about an account: whether a turn may start, what a report adds, when a limit closes it, how it opens. Pure.

The script in `scripts` does the same in Redis; a property test compares both. Change both together.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.parking import OF_MODELS
from dcf.core.documents.usage_sums import TOKENS
from dcf.features.accounts import model
from dcf.features.accounts.ledger import Ledger
from dcf.features.accounts.model import Bill, Books, Done, Held, LimitMet, Verdict, Wish
from dcf.values.records import replace

_CLOSURE: Final = ("until", "told", "since", "probe_at", "ramp", "guess")


def reserve(books: Books, wish: Wish, now: int, lasts: int = model.RESERVED) -> tuple[Verdict, Books]:
    """Decide whether a turn may start. A repetition finds its reservation."""
    if wish.id in books.done:
        return Verdict(verdict="settled"), books
    if wish.id in books.held:
        return Verdict(verdict="granted", is_probe=books.texts.get("probing") == wish.id), books
    ledger = Ledger(books)
    ledger.lapse(now)
    wish = replace(wish, tokens=wish.tokens or ledger.get("mean"))
    width = ledger.get("in_flight") or None
    verdict = _family(ledger, wish.of_model, now) or _opened(ledger, now)
    if verdict is None and ledger.get("ramp"):
        ramped = 2 ** (1 + (now - ledger.get("ramp")) // model.STEP)
        width = min(width or ramped, ramped)
    verdict = verdict or _room(ledger, now) or _turn(ledger, wish, width, now)
    if verdict is not None and verdict.verdict != "closed":
        ledger.asked[wish.run] = now
    verdict = verdict or _day(ledger, wish, now)
    if verdict is None:
        verdict = _granted(ledger, wish, now, lasts)
    if verdict.verdict == "closed" and not verdict.family:
        kind, by, is_known = ledger.texts["kind"], ledger.texts["by"], ledger.get("told") == 1
        verdict = replace(verdict, kind=kind, by=by, is_known=is_known)
    return replace(verdict, after=max(0, verdict.at - now)), ledger.books()


def _granted(ledger: Ledger, wish: Wish, now: int, lasts: int) -> Verdict:
    is_probe = ledger.get("until") > 0 and ledger.get("ramp") == 0
    if is_probe:
        ledger.set("probe_at", now)
        ledger.texts["probing"] = wish.id
    ledger.pour("rpm", 1)
    ledger.pour("tpm", wish.tokens)
    _start(ledger, wish)
    turn = Held(
        till=now + lasts,
        day=now // model.DAY,
        estimated_tokens=wish.tokens,
        estimated_nanos=wish.nanos,
        agent=wish.agent,
        run=wish.run,
    )
    ledger.hold(wish.id, turn)
    return Verdict(verdict="granted", is_probe=is_probe)


def _family(ledger: Ledger, of_model: str, now: int) -> Verdict | None:
    """Refuse while a limit on the family of the model lasts. At its end one turn of the account goes first."""
    own = {family: limit for family, limit in family_limits(ledger.texts).items() if family in of_model}
    for family, (until, _) in own.items():
        if until <= now:
            ledger.texts[model.FAMILY + family] = ""
            _go_first(ledger, now)
    family, (until, by) = max(own.items(), key=lambda limit: limit[1][0], default=("", (0, "")))
    if until <= now:
        return None
    return Verdict(verdict="closed", at=until, kind=OF_MODELS, by=by, is_known=True, family=family)


def family_limits(texts: Mapping[str, str]) -> dict[str, tuple[int, str]]:
    """Return the limits on families of models by family: until when, and who reported it. Some may have ended."""
    limits = {name.removeprefix(model.FAMILY): text for name, text in texts.items() if name.startswith(model.FAMILY)}
    parts = {family: text.partition("|") for family, text in limits.items() if text}
    return {family: (int(until), by) for family, (until, _, by) in parts.items()}


def _go_first(ledger: Ledger, now: int) -> None:
    """Have one turn go first, and then their number double, unless the account is closed or opens already."""
    if ledger.get("until") == 0:
        ledger.set("until", now)
        ledger.set("since", now)


def _opened(ledger: Ledger, now: int) -> Verdict | None:
    """Refuse while the account is closed, or more turns than may start at once after a limit are in flight."""
    until = ledger.get("until")
    if until > now:
        return _closed(ledger, until, now)
    ramp = ledger.get("ramp")
    if until == 0 or (ramp == 0 and not ledger.texts.get("probing", "")):
        return None
    if ramp == 0:
        ramp = ledger.get("probe_at") + model.SILENCE
        if now < ramp:
            return Verdict(verdict="probing", at=min(now + model.AGAIN, ramp))
        ledger.set("ramp", ramp)
        ledger.texts["probing"] = ""
    return _widened(ledger, ramp, now)


def _closed(ledger: Ledger, until: int, now: int) -> Verdict | None:
    """Refuse until a time that the provider told; without one let a turn look once a minute."""
    if ledger.get("told"):
        return Verdict(verdict="closed", at=until)
    next_probe = ledger.get("probe_at") + model.PROBE_EVERY
    if ledger.texts.get("probing", "") or next_probe > now:
        return Verdict(verdict="closed", at=min(until, max(next_probe, now + model.STEP)))
    return None


def _widened(ledger: Ledger, ramp: int, now: int) -> Verdict | None:
    """Refuse more turns at once than the time since the account opened allows. They double with each step."""
    steps = (now - ramp) // model.STEP
    width = 2 ** (1 + min(steps, model.DOUBLINGS))
    if steps >= model.DOUBLINGS or 0 < ledger.get("in_flight") <= width:
        _note_closure(ledger)
        for name in _CLOSURE:
            ledger.set(name, 0)
        return None
    return Verdict(verdict="ramp", at=ramp + model.STEP * (steps + 1)) if ledger.get("count") >= width else None


def _room(ledger: Ledger, now: int) -> Verdict | None:
    most = ledger.get("in_flight")
    if 0 < most <= ledger.get("count"):
        return Verdict(verdict="in_flight", at=now + model.AGAIN)
    for name in ("rpm", "tpm"):
        rate = ledger.get(name)
        if rate > 0:
            level = ledger.bucket(name, now)
            if level <= 0:
                return Verdict(verdict=name, at=now + 1000 * (1 + -level // rate))
    return None


def _start(ledger: Ledger, wish: Wish) -> None:
    """Charge a run for a turn. The time of the account follows the run that has had least of those that want turns."""
    ledger.asked.pop(wish.run, None)
    vmin, tokens = ledger.get("vmin"), max(1, wish.tokens)
    own = max(ledger.shares.get(wish.run, 0), vmin)
    waiting = [max(ledger.shares.get(run, 0), vmin) for _, run in _waiting(ledger)]
    least = min(own, *waiting) if waiting else own - tokens * ledger.get("count")
    vmin = max(vmin, least)
    ledger.set("vmin", vmin)
    ledger.shares[wish.run] = own + tokens
    past = sorted((share, run) for run, share in ledger.shares.items() if share <= vmin)
    for _, run in past[: model.MOST_PRUNED]:
        del ledger.shares[run]


def _waiting(ledger: Ledger) -> list[tuple[int, str]]:
    return sorted((at, run) for run, at in ledger.asked.items())[: model.MOST_WAITING]


def _turn(ledger: Ledger, wish: Wish, width: int | None, now: int) -> Verdict | None:
    """Refuse while runs that have had less, and asked a moment ago, are to get all turns that are free."""
    if width is None:
        return None
    for run in [run for run, at in ledger.asked.items() if at < now - model.SEEN]:
        del ledger.asked[run]
    vmin = ledger.get("vmin")
    own = max(ledger.shares.get(wish.run, 0), vmin)
    ahead = sum(max(ledger.shares.get(run, 0), vmin) < own for _, run in _waiting(ledger) if run != wish.run)
    if ahead >= width - ledger.get("count"):
        return Verdict(verdict="turn", at=now + model.AGAIN)
    return None


def _day(ledger: Ledger, wish: Wish, now: int) -> Verdict | None:
    """Refuse where the budget of the day is used up, or would be by the estimates of the turns in flight."""
    day, currency = now // model.DAY, ledger.texts.get("currency", "")
    sums = ledger.days.get(day, {})
    tokens = sum(sums.get(name, 0) for name in (*TOKENS, "open_tokens"))
    nanos = sums.get(f"cost:{currency}", 0) + sums.get(f"open_cost:{currency}", 0)
    if _over(ledger, "day_tokens", tokens + ledger.get("tokens"), wish.tokens) or _over(
        ledger, "day_nanos", nanos + ledger.get("nanos"), wish.nanos
    ):
        return Verdict(verdict="day", at=(day + 1) * model.DAY)
    return None


def _over(ledger: Ledger, budget: str, spent: int, more: int) -> bool:
    limit = ledger.get(budget)
    return limit > 0 and (spent >= limit or (spent + more > limit and ledger.get("count") > 0))


def report(books: Books, bill: Bill, now: int, lasts: int = model.RESERVED) -> tuple[str, Books]:
    """Count what a turn has used. Amounts are totals of the turn, so that order and repetition do not matter."""
    turn, done = books.held.get(bill.id), books.done.get(bill.id)
    ledger = Ledger(books)
    if turn is not None:
        return _of_turn(ledger, turn, bill, now, lasts), ledger.books()
    if done is not None and done.final:
        return "settled", books
    before = done or Done(day=now // model.DAY)
    currency = _currency(before.currency, bill)
    if currency is None:
        return "currency", books
    after = Done(day=before.day, used=before.used.at_least(bill.used), currency=currency)
    _moved(ledger, before, after)
    if done is None:
        ledger.enter(before.day, "turns", 1)
    ledger.done[bill.id] = after
    return "late" if done is not None else "unknown", ledger.books()


def _currency(known: str, bill: Bill) -> str | None:
    """Return the currency of a turn; None if the bill has another."""
    if bill.used.nanos == 0 or known in ("", bill.currency):
        return bill.currency if bill.used.nanos and bill.currency else known
    return None


def _of_turn(ledger: Ledger, turn: Held, bill: Bill, now: int, lasts: int) -> str:
    currency = _currency(turn.currency, bill)
    if currency is None:
        return "currency"
    used = turn.used.at_least(bill.used)
    ledger.enter_tokens(turn.day, turn.used, used)
    ledger.enter(turn.day, f"cost:{currency}", used.nanos - turn.used.nanos)
    _probed(ledger, bill, now)
    if bill.ended:
        ledger.enter(turn.day, "turns", 1)
        ledger.pour("tpm", used.tokens - turn.estimated_tokens)
        _average(ledger, used.tokens)
        had = max(ledger.shares.get(turn.run, 0), ledger.get("vmin"))
        ledger.shares[turn.run] = had + used.tokens - turn.estimated_tokens
        ledger.drop(bill.id)
        ledger.done[bill.id] = Done(day=turn.day, used=used, currency=currency)
        return "settled"
    ledger.hold(bill.id, replace(turn, used=used, currency=currency, till=now + lasts))
    return "renewed"


def _average(ledger: Ledger, tokens: int) -> None:
    """Note what a turn has used: the mean of the last turns is the estimate of those that come without one."""
    mean = ledger.get("mean") or tokens
    ledger.set("mean", min((mean * (model.AVERAGED - 1) + tokens) // model.AVERAGED, model.MOST_ESTIMATE))


def _probed(ledger: Ledger, bill: Bill, now: int) -> None:
    """Open the account if the provider accepted the turn that went first; otherwise let another go first."""
    if ledger.texts.get("probing", "") != bill.id:
        return
    if bill.ok or bill.used.tokens > 0:
        if ledger.get("until") > now:
            ledger.set("until", now)
        if ledger.get("until") > 0 and ledger.get("ramp") == 0:
            ledger.set("ramp", now)
        ledger.texts["probing"] = ""
    elif bill.ended:
        ledger.texts["probing"] = ""


def _moved(ledger: Ledger, before: Done, after: Done) -> None:
    """Enter the difference between what the ledger had of a turn and what it has now."""
    day = before.day
    ledger.enter_tokens(day, before.used, after.used)
    ledger.enter(day, f"cost:{before.currency}", -before.used.nanos)
    ledger.enter(day, f"cost:{after.currency}", after.used.nanos)
    ledger.enter(day, "open_tokens", -before.open_tokens)
    ledger.enter(day, f"open_cost:{before.open_currency}", -before.open_nanos)


def state(books: Books, bill: Bill, day: int, now: int) -> tuple[str, Books]:
    """Count what the provider's statement says of a turn: it replaces what was reported, also by less."""
    ledger = Ledger(books)
    turn, done = books.held.get(bill.id), books.done.get(bill.id)
    before = done or Done(day=day)
    if turn is not None:
        before = Done(day=turn.day, used=turn.used, currency=turn.currency)
        _probed(ledger, replace(bill, ended=True), now)
        ledger.drop(bill.id)
    after = Done(day=before.day, used=bill.used, currency=bill.currency, final=1)
    _moved(ledger, before, after)
    if done is None:
        ledger.enter(before.day, "turns", 1)
    ledger.done[bill.id] = after
    return "stated", ledger.books()


def meet(books: Books, limit: LimitMet, now: int) -> tuple[int, Books]:
    """Close the account. A later time extends a closure, an earlier one does not shorten it. Return when it ends.

    An unknown end is guessed: 1, 2, 4, 8, then 16 minutes. A limit on a family of models with a known end closes only
    turns of these.
    """
    ledger = Ledger(books)
    until = ledger.get("until")
    if limit.family and limit.until > now and _has_room_for(ledger, limit.family):
        return _met_by_family(ledger, limit), ledger.books()
    if limit.until > now:
        if limit.until > until or not ledger.get("told"):
            _close(ledger, limit, limit.until, 1, now)
            ledger.set("guess", 0)
            ledger.texts["probing"] = ""  # what the provider accepted before does not open the account
    elif limit.until == 0 and until <= now:
        guess = ledger.get("guess")
        _close(ledger, limit, now + model.PROBE_EVERY * 2 ** min(guess, 4), 0, now)
        ledger.set("guess", guess + 1)
        ledger.set("probe_at", now)
    if limit.id and ledger.texts.get("probing", "") == limit.id:
        ledger.texts["probing"] = ""
    return max(ledger.get("until"), now), ledger.books()


def _has_room_for(ledger: Ledger, family: str) -> bool:
    known = [name for name in ledger.texts if name.startswith(model.FAMILY)]
    return model.FAMILY + family in known or len(known) < model.MOST_FAMILIES


def _met_by_family(ledger: Ledger, limit: LimitMet) -> int:
    """Close a family of models until then, or later if that is known; return until when."""
    until, _ = family_limits(ledger.texts).get(limit.family, (0, ""))
    if limit.until > until:
        ledger.texts[model.FAMILY + limit.family] = f"{limit.until}|{limit.by}"
    if limit.id and ledger.texts.get("probing", "") == limit.id:
        ledger.texts["probing"] = ""
    return max(until, limit.until)


def _close(ledger: Ledger, limit: LimitMet, until: int, is_known: int, now: int) -> None:
    if ledger.get("until") <= now:
        if ledger.get("until"):
            _note_closure(ledger)
        ledger.set("since", now)
    ledger.set("until", until)
    ledger.set("told", is_known)
    ledger.set("ramp", 0)
    ledger.texts.update(kind=limit.kind, by=limit.by, why=limit.why)


def _note_closure(ledger: Ledger) -> None:
    """Keep from when to when the account was closed: leases that were lost meanwhile do not count."""
    ledger.set("was_since", ledger.get("since"))
    ledger.set("was_until", ledger.get("until"))


def open_by_hand(books: Books, now: int) -> tuple[bool, Books]:
    """End a closure now: one turn goes first, as at the end of a limit. Return whether it was closed."""
    ledger = Ledger(books)
    families = [model.FAMILY + family for family in family_limits(ledger.texts)]
    if ledger.get("until") <= now and not families:
        return False, books
    ledger.texts.update(dict.fromkeys(families, ""))
    for name, value in (("until", now), ("told", 0), ("ramp", 0), ("guess", 0)):
        ledger.set(name, value)
    ledger.texts["probing"] = ""
    return True, ledger.books()
