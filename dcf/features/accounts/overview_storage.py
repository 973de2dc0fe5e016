"""Reads how accounts are, for lists, metrics and `why`: in two round trips, however many accounts and turns there are.

It reads sums and no turns. It must not write.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from dcf.features.accounts import keys, model
from dcf.features.accounts.model import Books
from dcf.features.accounts.showing import AccountView
from dcf.features.accounts.storage import pairs, read_hash
from dcf.features.diagnosis.facts import LimitSign, Signs
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command


class Overviews:
    """Reads the accounts of one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, only: str | None = None, most: int | None = None) -> tuple[int, list[AccountView]]:
        """Return the time of Redis, and the accounts in the order of their names: this one, or the first ones."""
        clock, assigned, names = self._connections.send(("TIME",), ("HGETALL", keys.AGENTS), ("HKEYS", keys.ACCOUNTS))
        now, agents = micros(clock), [(agent, account.decode()) for agent, account in pairs(assigned)]
        known = sorted(name.decode() for name in names)
        shown = [name for name in known if only in (None, name)][:most]
        day = now // model.DAY
        commands: list[Command] = [("HGETALL", keys.account(name)) for name in shown]
        commands += [("HGETALL", keys.day(name, day)) for name in shown]
        commands += [("ZCOUNT", keys.parked(name), f"({now}", "+inf") for name in shown]
        replies = self._connections.send(*commands) if commands else ()
        count = len(shown)
        parts = zip(shown, replies[:count], replies[count : 2 * count], replies[2 * count :], strict=True)
        return now, [
            AccountView(
                name=name,
                books=_books(flat, day, sums),
                agents=tuple(sorted(agent for agent, account in agents if account == name)),
                parked=parked,
            )
            for name, flat, sums, parked in parts
        ]

    def signs(self, limits: Collection[tuple[str, int]], now: int) -> Signs:
        """Return what accounts tell about limits until these times. One round trip."""
        named = sorted(limits)
        commands: list[Command] = []
        for account, until in named:
            parked = keys.parked(account)
            commands += [
                ("HGET", keys.account(account), "why"),
                ("ZCOUNT", parked, f"({now}", f"({until}"),
                ("ZCOUNT", parked, f"({now}", "+inf"),
            ]
        replies = self._connections.send(*commands) if commands else ()
        parts = zip(named, replies[::3], replies[1::3], replies[2::3], strict=True)
        return {
            limit: LimitSign(reason=(reason or b"").decode(), ahead=ahead, waiting=waiting)
            for limit, reason, ahead, waiting in parts
        }


def _books(flat: Sequence[bytes], day: int, sums: Sequence[bytes]) -> Books:
    numbers, texts = read_hash(flat)
    return Books(numbers=numbers, texts=texts, days={day: {name: int(value) for name, value in pairs(sums)}})
