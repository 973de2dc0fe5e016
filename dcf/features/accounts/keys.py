"""The Redis keys of accounts. None belongs to a run.

All keys of one account have its name as their hash tag, so that one script may use them on a Cluster.

| key | type | writer | lifetime |
|---|---|---|---|
| `cp:idx:account:{<name>}` | hash | setting an account; each reservation, report, limit: its limits, closure, buckets and sums | for ever |
| `cp:idx:account:{<name>}:held` | hash | reserving, reporting: turns in flight, by reservation | until the turn is settled, or lapses |
| `cp:idx:account:{<name>}:till` | sorted set | the same: reservations by when they lapse | as `:held` |
| `cp:idx:account:{<name>}:done:<reservation>` | string | settling, lapsing: what was counted of a turn, so that a repetition adds nothing | a week |
| `cp:idx:account:{<name>}:day:<number>` | hash | settling, lapsing: the ledger of a day, which is named by its number since 1970 | 400 days |
| `cp:idx:account:{<name>}:shares`, `:asked` | sorted set | reserving: runs by the tokens that they have had; runs whose turns were refused, by when | until others have had as much; 5 seconds |
| `cp:idx:account:{<name>}:parked` | sorted set | parking a state: states by when they become ready | until they are ready |
| `cp:idx:account:{<name>}:log` | stream | the same: when it was closed, probed and opened, and by whom | the last 1000 or so |
| `cp:idx:accounts` | hash | setting an account, giving one to an agent: the names | for ever |
| `cp:idx:accounts:agents` | hash | giving an account to an agent: accounts by agent | for ever |
| `cp:idx:accounts:hosted` | hash | giving an account to an agent: agents whose hosts reserve each turn | for ever |
| `cp:idx:accounts:prices` | hash | setting prices: by pattern of the model | for ever |
"""

from typing import Final

ACCOUNTS: Final = "cp:idx:accounts"
AGENTS: Final = "cp:idx:accounts:agents"
HOSTED: Final = "cp:idx:accounts:hosted"
PRICES: Final = "cp:idx:accounts:prices"


SETTLED: Final = "cp:idx:account:{%s}:done:%s"
"""The key of what an account has of a settled turn."""


def account(name: str) -> str:
    """Return the key of an account's hash."""
    return f"cp:idx:account:{{{name}}}"


def protocol(name: str) -> tuple[str, ...]:
    """Return what the script of the protocol uses: hash, reservations, their order, and what the others begin with."""
    key = account(name)
    return tuple(f"{key}{part}" for part in ("", ":held", ":till", ":done:", ":day:", ":log", ":shares", ":asked"))


def day(name: str, number: int) -> str:
    """Return the key of the ledger of a day."""
    return f"{account(name)}:day:{number}"


def parked(name: str) -> str:
    """Return the key of the states that wait for the account."""
    return f"{account(name)}:parked"


def log(name: str) -> str:
    """Return the key of the account's log."""
    return f"{account(name)}:log"
