"""Sums of reported usage, by their names in Redis: of a run, of its tree of runs, of agents and projects. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.values.json_text import Json

NANO: Final = 10**9
"""Billionths of a unit of money, in which sums are kept."""

COST: Final = "cost:"
"""How the name of a sum of money begins; its currency follows."""

TREE: Final = "tree:"
"""How the names of those sums of a run begin that are of all runs below it: its child runs, and theirs."""

CACHED_TOKENS: Final = ("tokens_cached", "tokens_cache_written")
"""Names of the sums of tokens that a provider read from its cache, or wrote to it."""

TOKENS: Final = ("tokens_in", "tokens_out", *CACHED_TOKENS)
"""Names of the sums of all kinds of tokens."""


def money(nanos: int) -> str:
    """Return an amount of money as text."""
    whole, part = divmod(nanos, NANO)
    return f"{whole}.{part:09d}".rstrip("0").rstrip(".") if part else str(whole)


def added(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of sums."""
    result: dict[str, int] = {}
    for sums in every:
        for name, amount in sums.items():
            result[name] = result.get(name, 0) + amount
    return result


def sums_of_tree(sums: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of a run and of all runs below it, from the sums of the run."""
    own = {name: amount for name, amount in sums.items() if not name.startswith(TREE)}
    below = {name.removeprefix(TREE): amount for name, amount in sums.items() if name.startswith(TREE)}
    return added((own, below))


def has_tree(sums: Mapping[str, int]) -> bool:
    """Return True if a run below this one has reported usage."""
    return f"{TREE}reports" in sums


def run_sums_shown(sums: Mapping[str, int]) -> dict[str, Json]:
    """Return the sums of a run as JSON, with those of its tree if a run below it has reported usage."""
    shown = sums_shown(sums)
    return shown | {"tree": sums_shown(sums_of_tree(sums))} if has_tree(sums) else shown


def sums_shown(sums: Mapping[str, int]) -> dict[str, Json]:
    """Return sums as JSON: money as text, by currency; tokens of caches where there are some."""
    cached = {name: sums[name] for name in CACHED_TOKENS if sums.get(name)}
    cost = {name.removeprefix(COST): money(nanos) for name, nanos in sorted(sums.items()) if name.startswith(COST)}
    return {
        "tokens_in": sums.get("tokens_in", 0),
        "tokens_out": sums.get("tokens_out", 0),
        **cached,
        "seconds": sums.get("ms", 0) / 1000,
        "cost": cost,
        "reports": sums.get("reports", 0),
    }
