"""A run does not end `succeeded` over an issue that asks for a person, nor over an open group or unit."""

from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.finalization import Finalize
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry, ResolveIssue
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.support.workflows.growing import Server
from tests.support.workflows.machines import chain
from tests.support.world import World


def raised(world: World, run: str, text: str = "Which currency?") -> str:
    """Raise an issue that blocks the run; return its id."""
    wish = AddEntry(kind=EntryKind.ISSUE, text=text, agent="w", key=text, blocks=True, is_operator=True)
    added = world.journal.add_journal_entry(run, wish)
    assert not isinstance(added, Refusal)
    return added.entry.entry_id


def resolved(world: World, run: str, issue: str) -> RunAnswer:
    answer = world.journal.resolve_issue(run, ResolveIssue(issue=issue, how="Euro.", by="rita", may_any=True))
    assert isinstance(answer, RunAnswer)
    return answer


@rows("force", [False, True])
def test_a_close_over_a_blocking_issue_names_it_and_a_failed_one_is_accepted(real: World, force: bool) -> None:
    server = Server(real)
    run = server.open({"name": "A"})
    server.finish(run, "A")
    issue = raised(real, run)
    refused = server.close(run, force=force)
    assert isinstance(refused, Refusal)
    assert (refused.code, issue in refused.message, "Which currency?" in refused.message) == ("issues_open", True, True)
    assert real.run_status(run) is RunStatus.RUNNING
    assert isinstance(server.close(run, status=RunStatus.FAILED, force=force), RunAnswer)
    assert real.run_status(run) is RunStatus.FAILED


@rows(
    ("units", "named"),
    [
        ([{"name": "A"}], "'A'"),
        ([{"name": "G", "kind": "group"}], "'G'"),
        ([{"name": "G", "kind": "group"}, {"name": "A", "group": "G"}], "'A'"),
    ],
)
def test_not_even_by_force_does_a_run_succeed_over_what_is_open(
    real: World, units: list[dict[str, str]], named: str
) -> None:
    server = Server(real)
    run = server.open(*units)
    refused = server.close(run, force=True)
    assert isinstance(refused, Refusal)
    assert (refused.code, named in refused.message) == ("units_open", True)
    assert isinstance(server.close(run, status=RunStatus.FAILED, force=True), RunAnswer)


def test_blocked_run_without_open_states_ends_when_the_issue_is_resolved(real: World) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A")
    first, second = raised(real, run), raised(real, run, "Which colour?")
    assert real.complete(run, "A", token, {"sum": 3}).run_status is RunStatus.RUNNING
    assert real.run_status(run) is RunStatus.RUNNING
    assert resolved(real, run, first).answer["run_status"] == "running"
    assert resolved(real, run, second).answer["run_status"] == "succeeded"
    meta = real.meta(run)
    assert (meta["status"], meta["output"], meta["held_end"]) == ("succeeded", {"sum": 3}, None)
    types = real.event_types(run)
    assert types.index("RunEndHeld") < types.index("RunSucceeded")


def test_blocked_sealed_run_ends_with_its_issue_unless_a_unit_was_rewound(real: World) -> None:
    server = Server(real)
    ends, goes_on = server.open({"name": "A"}), server.open({"name": "A"})
    for run in (ends, goes_on):
        issue = raised(real, run)
        assert isinstance(server.seal(run), RunAnswer)
        resolved(real, run, issue)
        again = raised(real, run, "Which colour?")
        resolved(real, run, again)
    last_issues = {}
    for run in (ends, goes_on):
        token = real.acquire(run, "A")
        last_issues[run] = raised(real, run, "Last?")
        real.complete(run, "A", token, {})
        assert real.run_status(run) is RunStatus.RUNNING
    assert isinstance(server.rewind(goes_on, "A"), RunAnswer)
    for run in (ends, goes_on):
        resolved(real, run, last_issues[run])
    assert real.run_status(ends) is RunStatus.SUCCEEDED
    assert real.run_status(goes_on) is RunStatus.RUNNING
    server.finish(goes_on, "A")
    assert real.run_status(goes_on) is RunStatus.SUCCEEDED


def test_a_run_that_is_held_at_its_end_can_be_cancelled(real: World) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A")
    raised(real, run)
    real.complete(run, "A", token, {})
    assert isinstance(real.lifecycle.cancel(run), RunAnswer)
    assert real.run_status(run) is RunStatus.CANCELLED


def test_a_run_is_not_finalized_as_succeeded_over_what_is_open(real: World) -> None:
    run = real.create(chain("A", "B"))
    refused = real.plane.finalize(run, Finalize(workflow_id=run, status=RunStatus.SUCCEEDED))
    assert isinstance(refused, Refusal)
    assert (refused.code, "'A'" in refused.message, "'B'" in refused.message) == ("states_open", True, False)
    issue = raised(real, run)
    for status in (RunStatus.RUNNING, RunStatus.CANCELLED):
        refused = real.plane.finalize(run, Finalize(workflow_id=run, status=RunStatus.SUCCEEDED))
        assert isinstance(refused, Refusal), status
        assert (refused.code, issue in refused.message) == ("issues_open", True)
        real.lifecycle.cancel(run)
    assert real.finalize(run, status=RunStatus.FAILED).audit["final_status"] == "failed"
