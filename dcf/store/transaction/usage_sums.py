"""The commands for the sums of a run's usage: its own transaction adds to them, and to the reports for the books.

`features/usage/storage.py` moves these reports to the books of agents and projects. This module must not send commands.
"""

from collections.abc import Sequence
from typing import Final

from dcf.core.documents.usage import Charge, UsageReport
from dcf.store.connection.commands import Command
from dcf.store.keys.parts import encode_state
from dcf.store.keys.table import RunKeys
from dcf.values.json_text import dump

OWED: Final = "cp:idx:usage:owed"
"""The runs with reports for the books, by the time of the oldest."""


def charge_commands(run: RunKeys, charges: Sequence[Charge]) -> list[Command]:
    """Return the commands of a transaction that add reports to the run's sums, and to the reports for the books."""
    commands: list[Command] = []
    for charge in charges:
        amounts = charge.usage.amounts()
        commands += [("HINCRBY", run.usage, name, amount) for name, amount in amounts.items()]
        about: dict[str, str] = {"state": encode_state(charge.state), "agent": charge.agent, "day": charge.day}
        about |= {} if charge.usage.model is None else {"model": charge.usage.model}
        about |= {} if not charge.usage.models else {"models": _by_model(charge.usage)}
        about |= {} if charge.usage.turn is None else {"turn": dump(charge.usage.turn.as_json())}
        trees = (*((run.workflow_id,) if charge.heads_tree else ()), *charge.ancestors)
        about |= {"trees": " ".join(trees)} if trees else {}
        fields: list[str | int] = [part for pair in about.items() for part in pair]
        fields += [part for pair in amounts.items() for part in pair]
        commands.append(("XADD", run.spent, "*", *fields))
    return commands


def _by_model(report: UsageReport) -> str:
    """Return the amounts by model as JSON, as text: a script reads numbers as floats."""
    return dump(
        [[part.model, {name: str(amount) for name, amount in part.amounts().items()}] for part in report.models]
    )


def owed_command(run: RunKeys, now: int) -> Command:
    """Return the command that notes, before the commit, that a run has reports for the books."""
    return ("ZADD", OWED, now, run.workflow_id)


def read_sums(reply: Sequence[bytes]) -> dict[str, int]:
    """Return the sums of a hash, from the reply of HGETALL."""
    return {name.decode(): int(amount) for name, amount in zip(reply[::2], reply[1::2], strict=True)}
