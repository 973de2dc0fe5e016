"""The verbs with which a host reserves a turn before it starts, and reports what it uses. They call and describe."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from dcf.core.documents.usage import UsageReport, read_report
from dcf.errors import InvalidArgument
from dcf.features.accounts.model import Verdict, Wish
from dcf.features.accounts.records import ReportedTurn, ReservedTurn
from dcf.features.accounts.verbs import AccountName, ReservationId
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, parse
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, verb
from dcf.verbs.description.words import ID, OwnAgentId

if TYPE_CHECKING:
    from dcf.application.application import Application


def _refused(answer: Mapping[str, Any]) -> str:
    """Say why a turn may not start: of a closed account until when, and who reported it."""
    closed = answer["closed"]
    if closed is None:
        return f"The turn may not start: {answer['verdict']}."
    until = f"until {answer['ask_again_at'][:19]}Z" if closed["is_known"] else "nobody knows until when"
    return f"Account '{answer['account']}' is closed, {until} (reported by {closed['reported_by']})."


@verb(
    toolset="execution",
    scope="work",
    says=lambda answer: "The turn may start." if answer["granted"] else _refused(answer),
    of_no_run=True,
    for_programs=True,
)
def reserve_turn(
    on: "Application",
    account: AccountName,
    reservation: ReservationId,
    agent_id: OwnAgentId,
    *,
    for_run: Annotated[str, Argument(means="The run that the turn is for.", pattern=ID)] = "none",
    tokens: Annotated[int, Argument(means="How many tokens the turn will use, about.", ge=0, le=100_000_000)] = 0,
    model_name: Annotated[
        str | None,
        Argument(means="The model: its price estimates the cost, and a limit may be its own.", max_length=100),
    ] = None,
) -> Answered[ReservedTurn]:
    """Reserve a turn of a model before it starts: for hosts of agents that share an account.

    A reservation lasts 30 seconds; each report renews it. Repeated, the call finds its reservation.
    """
    wish = Wish(id=reservation, run=for_run, agent=agent_id, tokens=tokens)
    verdict = on.accounts.reserve(account, wish, model_name)
    granted = verdict.verdict == "granted"
    members = {
        "account": account,
        "reservation": reservation,
        "granted": granted,
        "verdict": verdict.verdict,
        "ask_again_s": None if granted else verdict.after / SECOND,
        "ask_again_at": to_text(verdict.at) if verdict.at else None,
        "is_probe": verdict.is_probe,
        "closed": _closure(verdict),
    }
    return Answered(ReservedTurn, members)


def _closure(verdict: Verdict) -> dict[str, Json] | None:
    if verdict.verdict != "closed":
        return None
    return {
        "kind": verdict.kind,
        "reported_by": verdict.by,
        "is_known": verdict.is_known,
        "family": verdict.family or None,
    }


@verb(
    toolset="execution",
    scope="work",
    says=lambda answer: f"The turn is {answer['outcome']}.",
    of_no_run=True,
    for_programs=True,
)
def report_turn(
    on: "Application",
    account: AccountName,
    reservation: ReservationId,
    *,
    usage: Annotated[
        Mapping[str, Any] | None,
        Argument(
            means="Usage of the turn since its begin, as completions report it.", form="object", tool="usage_json"
        ),
    ] = None,
    ended: Annotated[bool, Argument(means="It has ended: settle it.")] = False,
    accepted: Annotated[bool, Argument(means="The provider accepted it.")] = False,
) -> ReportedTurn:
    """Report what a turn has used so far, which renews its reservation for 30 seconds, or settles it at the end.

    Amounts are totals of the turn, so a report may be repeated, and may come late.
    """
    used = UsageReport() if usage is None else read_report(parse(usage, name="usage_json"))
    outcome = on.accounts.report(account, reservation, used, ended=ended, ok=accepted)
    if outcome == "currency":
        raise InvalidArgument("The turn has reported another currency before.", "Report money in one currency.")
    return ReportedTurn(account=account, reservation=reservation, outcome=outcome)


add_tools(__name__)
