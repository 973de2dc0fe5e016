"""Accounts in Redis: the script of the protocol, their names, agents and prices. It does not decide."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from dcf.features.accounts import keys, model
from dcf.features.accounts.model import Bill, Books, Closures, Done, Held, LimitMet, Used, Verdict, Wish
from dcf.features.accounts.scripts import PROTOCOL
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys import companions as companion_keys
from dcf.store.keys.parts import decode_state, encode_state
from dcf.store.transaction.attempts import Attempts
from dcf.values.json_text import Json, dump, load
from dcf.values.records import replace

_TEXTS: Final = frozenset({"currency", "probing", "kind", "by", "why"})
_CLOSURES: Final = ("since", "until", "was_since", "was_until", "told", "probe_at", "kind", "by", "probing")
_NUMBERS: Final = 6
_MOST_PARKED: Final = 1000


class AccountStore:
    """The accounts of one Redis. `clock` gives the time in tests; without one it is that of Redis."""

    def __init__(
        self, connections: Connections, clock: Callable[[], int] | None = None, *, wait_replicas: int = 0
    ) -> None:
        self._connections = connections
        self._clock = clock
        self._attempts = Attempts(connections=connections, wait_replicas=wait_replicas)

    def reserve(self, account: str, wish: Wish, lasts: int = model.RESERVED) -> Verdict:
        """Reserve a turn, or say why none may start. One round trip."""
        arguments = (wish.id, wish.run, wish.agent, wish.tokens, wish.nanos, lasts, wish.of_model)
        verdict, at, is_probe, now, *closure = self._call("reserve", account, *arguments)
        reply = Verdict(verdict=verdict.decode(), at=int(at), after=max(0, int(at) - int(now)), is_probe=bool(is_probe))
        if not closure:
            return reply
        kind, by, is_known, family = (part.decode() for part in closure)
        return replace(reply, kind=kind, by=by, is_known=is_known == "1", family=family)

    def report(self, account: str, bill: Bill, lasts: int = model.RESERVED) -> str:
        """Count what a turn has used so far, and keep its reservation or settle it."""
        arguments = (*_words(bill), int(bill.ended), int(bill.ok), lasts)
        return str(self._call("report", account, *arguments).decode())

    def state(self, account: str, bill: Bill, day: int) -> None:
        """Count what the provider's statement says of a turn."""
        self._call("state", account, *_words(bill), day)

    def limit(self, account: str, met: LimitMet) -> int:
        """Close the account, which is on the list from now on; return until when it is closed."""
        self._connections.send(("HSET", keys.ACCOUNTS, account, 1))
        return int(self._call("limit", account, met.id, met.until, met.kind, met.by, met.why, met.family))

    def reopen(self, account: str, by: str) -> bool:
        """End a closure; return whether there was one."""
        return bool(self._call("open", account, by))

    def settlement(self, account: str, bill: Bill) -> Command:
        """Return the command that settles a turn that the provider has accepted."""
        return self._command("report", account, *_words(bill), 1, 1, model.RESERVED)

    def _call(self, operation: str, account: str, *arguments: str | int) -> Reply:
        (reply,) = self._written(keys.account(account), self._command(operation, account, *arguments))
        return reply

    def _command(self, operation: str, account: str, *arguments: str | int) -> Command:
        named = keys.protocol(account)
        time = 0 if self._clock is None else self._clock()
        return ("EVAL", PROTOCOL, len(named), *named, operation, time, *arguments)

    def _written(self, key: str, *commands: Command) -> list[Reply]:
        """Send commands that may be repeated. Where replicas confirm writes, a failover does not undo them."""
        if not self._attempts.wait_replicas:
            return self._connections.send(*commands)
        return self._attempts.surely(commands, companion_keys.barrier(key))

    def put(self, account: str, limits: Mapping[str, int], texts: Mapping[str, str]) -> None:
        """Set limits of an account; those that are not named stay."""
        named: dict[str, int | str] = {**limits, **texts}
        written: list[Command] = [("HSET", keys.account(account), name, value) for name, value in named.items()]
        self._connections.send(("HSET", keys.ACCOUNTS, account, 1))
        if written:
            self._written(keys.account(account), *written)

    def now(self) -> int:
        """Return the time of Redis."""
        (clock,) = self._connections.send(("TIME",))
        return micros(clock) if self._clock is None else self._clock()

    def names(self) -> list[str]:
        """Return the names of all accounts, in their order."""
        (reply,) = self._connections.send(("HKEYS", keys.ACCOUNTS))
        return sorted(name.decode() for name in reply)

    def read(self, account: str, days: Sequence[int]) -> Books:
        """Return an account: its numbers, its turns in flight, and the ledger of these days."""
        hash_key, held_key, *_, shares, refused_key = keys.protocol(account)
        orders: list[Command] = [("ZRANGE", key, 0, -1, "WITHSCORES") for key in (shares, refused_key)]
        commands: list[Command] = [("HGETALL", hash_key), ("HGETALL", held_key), *orders]
        commands += [("HGETALL", keys.day(account, day)) for day in days]
        flat, turns, had, refused_at, *daily = self._connections.send(*commands)
        numbers, texts = read_hash(flat)
        return Books(
            numbers=numbers,
            texts=texts,
            shares={run: int(share) for run, share in pairs(had)},
            asked={run: int(at) for run, at in pairs(refused_at)},
            held={name: read_turn(value.decode()) for name, value in pairs(turns)},
            days={day: {n: int(v) for n, v in pairs(sums)} for day, sums in zip(days, daily, strict=True) if sums},
        )

    def settled(self, account: str, reservation: str) -> Done | None:
        """Return what the ledger has of a turn that ended."""
        (reply,) = self._connections.send(("GET", f"{keys.protocol(account)[3]}{reservation}"))
        return None if reply is None else read_done(reply.decode())

    def assign(self, agent: str, account: str | None, *, is_hosted: bool = False) -> None:
        """Give an account to an agent; None takes it away. A host reserves the turns of an agent that `is_hosted`."""
        hosted: Command = ("HSET", keys.HOSTED, agent, 1) if is_hosted else ("HDEL", keys.HOSTED, agent)
        if account is None:
            self._connections.send(("HDEL", keys.AGENTS, agent), hosted)
        else:
            self._connections.send(("HSET", keys.ACCOUNTS, account, 1), ("HSET", keys.AGENTS, agent, account), hosted)

    def account_of(self, agent: str) -> str | None:
        """Return the account of an agent, if it has one."""
        (reply,) = self._connections.send(("HGET", keys.AGENTS, agent))
        return None if reply is None else str(reply.decode())

    def agents(self) -> dict[str, str]:
        """Return the accounts of all agents that have one."""
        (reply,) = self._connections.send(("HGETALL", keys.AGENTS))
        return {agent: account.decode() for agent, account in pairs(reply)}

    def assigned(self) -> tuple[dict[str, str], frozenset[str]]:
        """Return the accounts of all agents that have one, and the agents whose hosts reserve each turn."""
        accounts, hosted = self._connections.send(("HGETALL", keys.AGENTS), ("HKEYS", keys.HOSTED))
        names = frozenset(agent.decode() for agent in hosted)
        return {agent: account.decode() for agent, account in pairs(accounts)}, names

    def closures(self, account: str) -> Closures:
        """Return when the account is closed, and was before. One round trip."""
        clock, reply = self._connections.send(("TIME",), ("HMGET", keys.account(account), *_CLOSURES))
        numbers = [0 if value is None else int(value) for value in reply[:_NUMBERS]]
        since, until, was_since, was_until, is_known, probe_at = numbers
        kind, by, probing = ("" if value is None else value.decode() for value in reply[_NUMBERS:])
        return Closures(
            now=micros(clock) if self._clock is None else self._clock(),
            current=(since, until),
            before=(was_since, was_until),
            is_known=is_known == 1,
            kind=kind,
            by=by,
            is_probing=probing != "",
            probe_at=probe_at,
        )

    def put_prices(self, prices: Mapping[str, Json]) -> None:
        """Set the prices of models by pattern; null takes one away."""
        for pattern, row in prices.items():
            removal: Command = ("HDEL", keys.PRICES, pattern)
            self._connections.send(removal if row is None else ("HSET", keys.PRICES, pattern, dump(row)))

    def prices(self) -> dict[str, Json]:
        """Return the prices by pattern of the model."""
        (reply,) = self._connections.send(("HGETALL", keys.PRICES))
        return {pattern: load(row) for pattern, row in pairs(reply)}

    def note_parked(self, account: str, workflow_id: str, state: str, until: int) -> None:
        """Note a state that waits for the account, and forget those that no longer wait."""
        entry, key = f"{workflow_id}/{encode_state(state)}", keys.parked(account)
        self._written(key, ("ZREMRANGEBYSCORE", key, "-inf", self.now()), ("ZADD", key, until, entry))

    def parked(self, account: str) -> list[tuple[str, str]]:
        """Return runs and states that wait for the account, those that are ready first."""
        key = keys.parked(account)
        (reply,) = self._connections.send(("ZRANGE", key, 0, _MOST_PARKED - 1))
        split = (entry.decode().partition("/") for entry in reply)
        return [(run, decode_state(part)) for run, _, part in split]

    def forget_parked(self, account: str, entries: Sequence[tuple[str, str]]) -> None:
        """Forget states that no longer wait."""
        if entries:
            names = [f"{run}/{encode_state(state)}" for run, state in entries]
            self._connections.send(("ZREM", keys.parked(account), *names))

    def log(self, account: str, most: int) -> list[dict[str, str]]:
        """Return the log of the account, the latest entry first."""
        (reply,) = self._connections.send(("XREVRANGE", keys.log(account), "+", "-", "COUNT", most))
        return [{name: value.decode() for name, value in pairs(fields)} for _, fields in reply]


def _words(bill: Bill) -> tuple[str | int, ...]:
    used = bill.used
    tokens = (used.tokens_in, used.tokens_out, used.tokens_cached, used.tokens_cache_written)
    return (bill.id, *tokens, used.nanos, bill.currency)


def _used(tokens_in: str, tokens_out: str, nanos: str, caches: Sequence[str]) -> Used:
    """Read the amounts of a turn. An earlier version wrote none of caches."""
    cached, written = map(int, caches or ("0", "0"))
    return Used(
        tokens_in=int(tokens_in),
        tokens_out=int(tokens_out),
        tokens_cached=cached,
        tokens_cache_written=written,
        nanos=int(nanos),
    )


def read_turn(text: str) -> Held:
    """Read a turn in flight, as the script writes it."""
    till, day, et, en, ti, to, un, cur, pt, pn, _, agent, run, *caches = text.split("|")
    return Held(
        till=int(till),
        day=int(day),
        estimated_tokens=int(et),
        estimated_nanos=int(en),
        used=_used(ti, to, un, caches),
        currency=cur,
        open_tokens=int(pt),
        open_nanos=int(pn),
        agent=agent,
        run=run,
    )


def read_done(text: str) -> Done:
    """Read a settled turn, as the script writes it."""
    day, ti, to, un, cur, ot, on, ocur, final, *caches = text.split("|")
    return Done(
        day=int(day),
        used=_used(ti, to, un, caches),
        currency=cur,
        open_tokens=int(ot),
        open_nanos=int(on),
        open_currency=ocur,
        final=int(final),
    )


def read_hash(flat: Sequence[bytes]) -> tuple[dict[str, int], dict[str, str]]:
    """Read the hash of an account: its numbers, and its texts."""
    reply = {name: value.decode() for name, value in pairs(flat)}
    texts = {name: value for name, value in reply.items() if name in _TEXTS or name.startswith(model.FAMILY)}
    return {name: int(value) for name, value in reply.items() if name not in texts}, texts


def pairs(reply: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the fields of a hash, or the members of a sorted set, with their values."""
    return ((name.decode(), value) for name, value in zip(reply[::2], reply[1::2], strict=True))
