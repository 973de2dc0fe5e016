"""The answers of verbs on accounts. Loads the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

AccountStatus: TypeAlias = Literal["open", "closed", "opening"]
LimitKindName: TypeAlias = Literal["limit", "guess", "spent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAccount:
    """An account. `closed` says until when it is closed and who reported it, `today` is the ledger of the day (UTC).

    Money is text. `open` in `today` is what killed turns may have used as well: their bill is unknown. `parked_states`
    wait for the account. `closed_models` are families of models, each with the end of its limit and who reported it.
    """

    account: str
    status: AccountStatus
    limits: Mapping[str, Json] = field(default_factory=dict)
    closed: Mapping[str, Json] | None = None
    closed_models: Mapping[str, Json] = field(default_factory=dict)
    in_flight: int = 0
    reserved_tokens: int = 0
    parked_states: int = 0
    today: Mapping[str, Json] = field(default_factory=dict)
    agents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAccounts:
    """All accounts."""

    accounts: tuple[ShownAccount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedAccount:
    """An account that a limit closes. No turn of its agents starts before `closed_until`.

    `family`: only turns of models with this in their names wait.
    """

    account: str
    closed_until: datetime
    closed_for_s: float
    family: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedAccount:
    """Whether the account was closed, and how many states were ready again since they waited for it."""

    account: str
    was_closed: bool
    states: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedAccount:
    """The account of an agent; None: it has none."""

    agent_id: str
    account: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedTurn:
    """Whether a turn may start. If not, `verdict` is why, and `ask_again_s` when to ask again.

    `is_probe`: after a limit it goes first, and the others wait for its first sign. `closed` says who closed it.
    """

    account: str
    reservation: str
    granted: bool
    verdict: str
    ask_again_s: float | None = None
    ask_again_at: datetime | None = None
    is_probe: bool = False
    closed: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTurn:
    """The outcome of a report. `outcome` is renewed, settled, late (it had lapsed) or unknown (it was not reserved)."""

    account: str
    reservation: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBills:
    """How many lines of the provider's statement were counted, and the ledger of today."""

    account: str
    lines: int
    today: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPrices:
    """The whole table of prices: by pattern of the model, money for a million tokens of each kind."""

    prices: Mapping[str, Json] = field(default_factory=dict)
