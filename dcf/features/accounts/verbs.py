"""The verbs with which operators look after accounts, and with which a limit is reported. They call and describe."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.core.documents.parking import ACCOUNT_NAME
from dcf.core.documents.usage import read_report
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.accounts import model
from dcf.features.accounts.model import LimitMet
from dcf.features.accounts.money import MOST_LINES, read_prices, read_statement
from dcf.features.accounts.records import (
    AssignedAccount,
    ClosedAccount,
    LimitKindName,
    ListedAccounts,
    OpenedAccount,
    PutPrices,
    ShownAccount,
    StatedBills,
)
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, parse
from dcf.verbs.callers import bound_to, current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import ID, OtherAgentId, OwnAgentId, Reason

if TYPE_CHECKING:
    from dcf.application.application import Application

_SHOW: Final = "dcf.cli.features.usage"

AccountName = Annotated[
    str, Argument(means="Name of the account.", example="anthropic-1", pattern=f"^{ACCOUNT_NAME}$", plain=True)
]
ReservationId = Annotated[
    str,
    Argument(
        means="Id of the turn: your own, another for each turn.",
        example="order-42-7",
        pattern=ID,
    ),
]

_FAMILY: Final = "^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$"


def _count(means: str, most: int) -> Any:
    return Argument(means=f"{means} 0: any number.", ge=0, le=most)


@verb(
    toolset="operations",
    scope="operate",
    says=lambda answer: f"Account '{answer['account']}' is set.",
    command=Command(
        name="accounts set",
        example="dcf accounts set anthropic-1 --in-flight 20 --tokens-per-day 5000000",
        show=f"{_SHOW}:show_account",
    ),
    audit=("account",),
    for_programs=True,
)
def put_account(
    on: "Application",
    account: AccountName,
    *,
    in_flight: Annotated[int | None, _count("Most turns at once.", model.MOST_IN_FLIGHT)] = None,
    requests_per_minute: Annotated[int | None, _count("Most turns a minute.", model.MOST_A_MINUTE)] = None,
    tokens_per_minute: Annotated[int | None, _count("Most tokens a minute.", model.MOST_A_MINUTE)] = None,
    tokens_per_day: Annotated[int | None, _count("Most tokens a day (UTC).", model.MOST_TOKENS)] = None,
    cost_per_day: Annotated[
        Mapping[str, Any] | None,
        Argument(
            means='Most money a day (UTC): {"cost": "12.50", "currency": "EUR"}.',
            form="object",
            tool="cost_per_day_json",
        ),
    ] = None,
) -> Answered[ShownAccount]:
    """Set the limits of an account that agents share: a subscription, an API key or an organisation at a provider.

    Limits that are left out stay as they are.
    """
    named = {
        "in_flight": in_flight,
        "rpm": requests_per_minute,
        "tpm": tokens_per_minute,
        "day_tokens": tokens_per_day,
    }
    limits, currency = {name: value for name, value in named.items() if value is not None}, None
    if cost_per_day is not None:
        money = read_report(parse(cost_per_day, name="cost_per_day_json"), "cost_per_day_json")
        if money.currency is None:
            raise InvalidArgument("cost_per_day_json has no cost.", 'Send {"cost": "12.50", "currency": "EUR"}.')
        limits["day_nanos"], currency = money.nanos, money.currency
    return Answered(ShownAccount, on.accounts.put(account, limits, currency))


@verb(
    toolset="operations",
    scope="read",
    effect="reads",
    says=lambda answer: f"{len(answer['accounts'])} account(s).",
    command=Command(name="accounts ls", show=f"{_SHOW}:show_accounts"),
    in_refusals={"accounts": []},
    for_programs=True,
)
def list_accounts(on: "Application") -> Answered[ListedAccounts]:
    """List the accounts: whether each is closed and until when, its turns in flight, and what it has used today."""
    return Answered(ListedAccounts, {"accounts": on.accounts.all()})


@verb(
    toolset="operations",
    scope="read",
    effect="reads",
    says=lambda answer: f"Account '{answer['account']}' is {answer['status']}.",
    codes=("not_found",),
    command=Command(name="accounts show", show=f"{_SHOW}:show_account"),
    for_programs=True,
)
def read_account(on: "Application", account: AccountName) -> Answered[ShownAccount]:
    """Show an account: its limits, until when it is closed, its turns in flight, its agents, the ledger of today."""
    return Answered(ShownAccount, on.accounts.read(account))


def _says_closed(answer: Mapping[str, Json]) -> str:
    models = "" if answer["family"] is None else f" for models of the family {answer['family']}"
    return f"Account '{answer['account']}' is closed{models} until {answer['closed_until']}."


@verb(
    toolset="execution",
    scope="work",
    says=_says_closed,
    command=Command(
        name="accounts close",
        summary="Let no turn of an account start before a time. Turns in flight continue.",
        example="dcf accounts close anthropic-1 --until 2h",
        fixed={"agent_id": "operator", "reservation": None, "kind": "limit"},
    ),
    about_others=True,
    page=PageAction(
        title="Close the account",
        effect="No turn of its agents starts before the end, and their states wait. Turns in flight continue.",
        form=("until", "reason"),
        scopes=("operate",),
    ),
    audit=("account", "until", "agent_id"),
    of_no_run=True,
    for_programs=True,
)
def report_limit(
    on: "Application",
    account: AccountName,
    *,
    agent_id: Annotated[OwnAgentId, Argument(means="The agent that met the limit.", option="--as")] = "operator",
    until: Annotated[
        str | None,
        Argument(
            means="When it ends: a time with its zone, or from now (90s). Without it the end is unknown.",
            max_length=40,
            option="--until",
            label="Until: 2h, or 2026-11-24T14:00:00Z; empty if nobody knows",
        ),
    ] = None,
    kind: Annotated[LimitKindName, Argument(means="Spent: credit is used up, and a person must pay.")] = "limit",
    reason: Reason = None,
    reservation: Annotated[ReservationId | None, Argument(means="The turn that was rejected.")] = None,
    family: Annotated[
        str | None,
        Argument(
            means="Only turns of models with this in their names (opus) are rejected; needs until.",
            pattern=_FAMILY,
            listed=False,
        ),
    ] = None,
) -> Answered[ClosedAccount]:
    """Report that the provider rejects turns of an account: no turn of any of its agents starts before the end.

    A later end extends a closure, an earlier one does not shorten it.
    """
    own = bound_to()
    if own is not None and (own != agent_id or on.accounts.account_of(own) != account):
        raise Forbidden(
            f"Account '{account}' is not the account of the agent of this key.",
            "An operator gives agents their accounts: `assign_account`.",
        )
    if family is not None and until is None:
        raise InvalidArgument("A limit on a family of models needs its end.", "Tell until, or close all models.")
    caller = current_caller()
    by = agent_id if agent_id != "operator" else caller.name
    met = LimitMet(
        until=0, kind=kind, by=by, why=(reason or "")[:200], id=reservation or "", family=(family or "").lower()
    )
    closed, for_us = on.accounts.closed(account, met, until=until)
    members = {
        "account": account,
        "closed_until": to_text(closed),
        "closed_for_s": max(0, for_us) / SECOND,
        "family": met.family or None,
    }
    return Answered(ClosedAccount, members)


@verb(
    toolset="operations",
    scope="operate",
    says=lambda answer: f"Account '{answer['account']}' {'opens' if answer['was_closed'] else 'was not closed'}.",
    command=Command(name="accounts open"),
    page=PageAction(
        title="Open the account",
        effect="One turn goes first, then their number doubles each second. States that wait for it are announced.",
    ),
    audit=("account", "reason"),
    for_programs=True,
)
def open_account(
    on: "Application",
    account: AccountName,
    *,
    reason: Reason = None,  # noqa: ARG001 - the audit trail has it
) -> OpenedAccount:
    """End a closure now: one turn goes first, then their number doubles each second. States that wait are announced."""
    states = on.accounts.reopen(account, current_caller().name)
    return OpenedAccount(account=account, was_closed=states is not None, states=states or 0)


@verb(
    toolset="operations",
    scope="work",
    says=lambda answer: (
        f"Agent '{answer['agent_id']}' has "
        + ("no account." if answer["account"] is None else f"the account '{answer['account']}'.")
    ),
    command=Command(name="accounts assign", example="dcf accounts assign coder-3 --account anthropic-1"),
    audit=("agent_id", "account"),
    of_no_run=True,
    for_programs=True,
)
def assign_account(
    on: "Application",
    agent_id: OtherAgentId,
    *,
    account: Annotated[AccountName | None, Argument(means="Its account; none: it has none.")] = None,
    hosted: Annotated[bool, Argument(means="Its host reserves each turn: `reserve_turn`.", listed=False)] = False,
) -> AssignedAccount:
    """Give an agent its account. `dcf host` does so for each agent of its file that names one."""
    before = None if bound_to() is None else on.accounts.account_of(agent_id)
    if before not in {None, account}:
        raise Forbidden(f"Agent '{agent_id}' has another account.", "An operator may change it: `assign_account`.")
    on.accounts.assign(agent_id, account, is_hosted=hosted)
    return AssignedAccount(agent_id=agent_id, account=account)


@verb(
    toolset="operations",
    scope="operate",
    says=lambda answer: f"{len(answer['prices'])} price(s).",
    command=Command(
        name="accounts prices",
        example='dcf accounts prices \'{"claude-*": {"input": "3", "output": "15", "currency": "USD"}}\'',
        show=f"{_SHOW}:show_prices",
    ),
    audit=("prices",),
    for_programs=True,
)
def put_prices(
    on: "Application",
    prices: Annotated[
        Mapping[str, Any],
        Argument(
            means="Money for a million tokens, by pattern; cached_input and cache_write too; null takes a row away.",
            example={"claude-*": {"input": "3", "output": "15", "currency": "USD"}},
            form="object",
            tool="prices_json",
        ),
    ],
) -> PutPrices:
    """Change the table of prices, by which turns cost that report no cost of their own. dcf ships no prices."""
    return PutPrices(prices=on.accounts.put_prices(read_prices(parse(prices, name="prices_json"))))


@verb(
    toolset="operations",
    scope="operate",
    says=lambda answer: f"{answer['lines']} line(s) of the statement are in the ledger.",
    codes=("not_found",),
    command=Command(
        name="accounts settle",
        example="dcf accounts settle anthropic-1 statement.json",
        show=f"{_SHOW}:show_stated",
    ),
    audit=("account", "lines"),
    for_programs=True,
)
def settle_account(
    on: "Application",
    account: AccountName,
    bills: Annotated[
        Sequence[Mapping[str, Any]],
        Argument(
            means=f"Lines: reservation, usage; day (2026-11-24) of a turn unknown to dcf; {MOST_LINES} at most.",
            example=[{"reservation": "order-42-7", "usage": {"tokens_in": 900, "cost": "0.25", "currency": "EUR"}}],
            form="array",
            tool="bills_json",
        ),
    ],
) -> Answered[StatedBills]:
    """Count what the provider's statement says: it replaces what turns reported, also by less, and is final."""
    on.accounts.read(account)
    lines = read_statement(parse(bills, name="bills_json"), on.accounts.today())
    on.accounts.state(account, lines)
    members: dict[str, Json] = {"account": account, "lines": len(lines)}
    return Answered(StatedBills, members | {"today": on.accounts.read(account)["today"]})


add_tools(__name__)
