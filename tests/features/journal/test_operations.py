"""The journal of a run: entries are written once, found again by any filter, and issues block until resolved."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.documents.answers import Leased
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.errors import InvalidArgument, UnknownRun
from dcf.features.journal import model as limits
from dcf.features.journal.keys import entry_commands
from dcf.features.journal.model import EntryKind, JournalEntry
from dcf.features.journal.operations import Journal
from dcf.features.journal.query import JournalPage, JournalQuery, check_cursor
from dcf.features.journal.storage import JournalReader
from dcf.features.journal.writing import AddEntry, EntryAdded, ResolveIssue
from dcf.features.questions.notes import Note
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections
from dcf.store.transaction.runs import RunStore
from dcf.values.instants import from_text
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.trouble import Meanwhile
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World

AGENTS = {"A": "a", "B": "b"}


def wish(key: str = "k1", text: str = "It works.", kind: str = "log", agent: str = "a", **more: Any) -> AddEntry:
    return AddEntry(kind=EntryKind(kind), text=text, agent=agent, key=key, **more)


def added(world: World, run: str, key: str = "k1", **more: Any) -> EntryAdded:
    answer = world.journal.add_journal_entry(run, wish(key, **more))
    assert isinstance(answer, EntryAdded), answer
    return answer


def refused(world: World, run: str, key: str = "k1", **more: Any) -> str:
    answer = world.journal.add_journal_entry(run, wish(key, **more))
    assert isinstance(answer, Refusal), answer
    return answer.code


def page(world: World, run: str, limit: int = 50, **more: Any) -> JournalPage:
    return world.journal.read_journal(run, JournalQuery(limit=limit, **more))


def texts(world: World, run: str, **more: Any) -> list[str]:
    return [entry.text for entry in page(world, run, **more).entries]


def every(world: World, run: str, limit: int, **more: Any) -> list[JournalEntry]:
    """All entries, page after page."""
    journal_entries: list[JournalEntry] = []
    cursor = None
    while True:
        item = page(world, run, limit, cursor=cursor, **more)
        journal_entries += item.entries
        cursor = item.next_cursor
        if cursor is None:
            return journal_entries
        check_cursor(cursor)


def resolve(world: World, run: str, issue: str, by: str = "alice", *, may_any: bool = True, **more: Any) -> Any:
    return world.journal.resolve_issue(run, ResolveIssue(issue=issue, how="Fixed.", by=by, may_any=may_any), **more)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


@pytest.fixture
def run(real: World) -> str:
    return real.create(chain("A", "B"), agents=AGENTS, planner="boss")


# Writing


def test_an_entry_says_who_wrote_what_when_and_about_which_attempt_of_a_state(real: World, run: str) -> None:
    real.acquire(run, "A", "a")
    done = added(real, run, kind="decision", text="Take B.", state="A", details={"options": ["A", "B"], "chosen": "B"})
    (entry,) = page(real, run).entries
    assert entry == done.entry
    shown = entry.as_json()
    assert from_text(shown["at"]) is not None
    assert {name: shown[name] for name in ("kind", "text", "agent", "state", "attempt", "details", "key")} == {
        "kind": "decision",
        "text": "Take B.",
        "agent": "a",
        "state": "A",
        "attempt": 1,
        "details": {"options": ["A", "B"], "chosen": "B"},
        "key": "k1",
    }


def test_the_same_key_with_the_same_content_is_the_same_entry(real: World, run: str) -> None:
    first, again = added(real, run), added(real, run)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.entry == first.entry
    assert len(page(real, run).entries) == 1


@rows("other", [{"text": "else"}, {"kind": "note"}, {"state": "A"}, {"agent": "b"}, {"details": {"level": "warn"}}])
def test_the_same_key_with_other_content_is_refused_and_not_dropped(
    real: World, run: str, other: dict[str, Any]
) -> None:
    added(real, run)
    assert refused(real, run, **other) == "conflict"
    assert texts(real, run) == ["It works."]


def test_entries_of_many_writers_at_once_are_all_there_each_once_and_in_order(
    worlds: Callable[..., World], real: World, run: str
) -> None:
    many, each = 6, 20
    writers = [worlds() for _ in range(many)]

    def write(number: int) -> None:
        for at in range(each):
            for _ in range(2):  # and every call is repeated
                added(writers[number], run, key=f"{number}-{at}", text=f"{number} {at}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal_entries = every(real, run, 7, oldest_first=True)
    assert len(journal_entries) == many * each
    assert [entry.place for entry in journal_entries] == sorted(entry.place for entry in journal_entries)
    assert len({entry.at for entry in journal_entries}) == many * each
    for number in range(many):
        own = [entry.text for entry in journal_entries if entry.text.startswith(f"{number} ")]
        assert own == [f"{number} {at}" for at in range(each)]


@pytest.mark.parametrize("text", ["It works.", "else"])
def test_of_two_calls_with_one_key_at_once_one_counts_and_the_other_hears_so(real: World, run: str, text: str) -> None:
    first: list[EntryAdded] = []
    slow = ControlPlane(
        RunStore(real.connections, before_commit=Meanwhile(lambda: first.append(added(real, run)))), real.index
    )
    late = Journal(slow, JournalReader(real.connections)).add_journal_entry(run, wish(text=text))
    (entry,) = page(real, run).entries
    assert entry == first[0].entry
    if text == entry.text:
        assert isinstance(late, EntryAdded)
        assert (late.entry, late.repeated) == (entry, True)
    else:
        assert code(late) == "conflict"


def test_the_times_of_entries_grow_in_the_order_in_which_they_are_written(real: World, run: str) -> None:
    first: list[EntryAdded] = []
    slow = ControlPlane(
        RunStore(real.connections, before_commit=Meanwhile(lambda: first.append(added(real, run, "k2")))), real.index
    )
    late = Journal(slow, JournalReader(real.connections)).add_journal_entry(run, wish())
    assert isinstance(late, EntryAdded)
    assert late.entry.place > first[0].entry.place
    assert [entry.entry_id for entry in page(real, run, cursor=first[0].entry.place, oldest_first=True).entries] == [
        late.entry.entry_id
    ]


def test_a_reader_who_goes_on_where_it_stopped_misses_nothing(
    worlds: Callable[..., World], real: World, run: str
) -> None:
    writers, most = [worlds() for _ in range(3)], 30
    threads = [
        threading.Thread(
            target=lambda item=writer, number=number: [added(item, run, f"{number}-{at}") for at in range(most)]
        )
        for number, writer in enumerate(writers)
    ]
    seen: list[str] = []
    last: str | None = None
    for thread in threads:
        thread.start()
    while len(seen) < most * len(writers):
        entries = page(real, run, oldest_first=True, cursor=last).entries
        seen += [entry.entry_id for entry in entries]
        last = entries[-1].place if entries else last
    for thread in threads:
        thread.join()
    assert len(set(seen)) == len(seen) == most * len(writers)


def test_somebody_without_a_part_in_the_run_writes_nothing(real: World, run: str) -> None:
    assert refused(real, run, agent="stranger") == "no_part"
    assert added(real, run, "k2", agent="stranger", is_operator=True).entry.agent == "stranger"
    assert added(real, run, "k3", agent="boss").entry.agent == "boss"


def test_a_run_that_is_over_takes_no_more_entries(real: World, run: str) -> None:
    real.lifecycle.cancel(run)
    assert refused(real, run) == "run_over"


def test_a_full_journal_says_so_and_keeps_what_it_has(real: World, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.features.journal.writing.MOST_ENTRIES", 2)
    assert [added(real, run, f"k{number}").left for number in range(2)] == [1, 0]
    assert refused(real, run, "k9") == "too_many"
    assert added(real, run, "k1").repeated
    monkeypatch.undo()
    monkeypatch.setattr("dcf.features.journal.writing.MOST_BYTES", 100)
    assert refused(real, run, "k9") == "too_many"


@rows(
    ("more", "about"),
    [
        ({"text": "x" * (limits.LONGEST_ENTRY_TEXT + 1)}, "text"),
        ({"text": " "}, "text"),
        ({"key": ""}, "key"),
        ({"key": "note:1"}, "dcf's own"),
        ({"key": "gate:A:review:1"}, "dcf's own"),
        ({"kind": "log", "details": {"level": "loud"}}, "level"),
        ({"kind": "decision", "details": {"question": "Which?"}}, "chosen"),
        ({"kind": "decision", "details": {"chosen": "A", "options": "A, B"}}, "options"),
        ({"kind": "milestone", "details": {"progress": 101}}, "progress"),
        ({"kind": "issue", "details": {"type": "Not A Name"}}, "type"),
        ({"kind": "note", "details": {"all": "x" * limits.MOST_DETAILS}}, "bytes"),
        ({"kind": "note", "blocks": True}, "issue"),
        ({"token": "t"}, "lease_token"),
    ],
)
def test_what_is_no_entry_is_refused_with_what_is_wrong(more: dict[str, Any], about: str) -> None:
    with pytest.raises(InvalidArgument, match=about):
        wish(**more)


def test_options_as_json_string(real: World, run: str) -> None:
    """mission-control gave options back as JSON text: here they are a list, however they were sent."""
    added(real, run, kind="decision", details={"chosen": "A", "options": '["A", "B"]'})
    added(real, run, "k2", kind="decision", details={"chosen": "A", "options": ["A", "B"]})
    assert [entry.details["options"] for entry in page(real, run).entries] == [["A", "B"], ["A", "B"]]


def test_a_note_that_is_left_stands_in_the_journal_too(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"}, planner="boss")
    left = world.talking.leave_note(run, Note(text="Odd.", by="a", state="A"), request_id="r1")
    assert isinstance(left, RunAnswer)
    assert isinstance(world.talking.leave_note(run, Note(text="Odd.", by="a", state="A"), request_id="r1"), RunAnswer)
    answer = world.ask("HGETALL", world.store.keys(run).of("journal"))
    assert len(answer[::2]) == 2, "one entry and the count of bytes"


def test_notes_and_entries_are_read_in_one_place(real: World, run: str) -> None:
    added(real, run, kind="handoff", text="Go on with the totals.", details={"next_steps": ["check"]})
    real.talking.leave_note(run, Note(text="Odd.", by="a", state="A"))
    assert [(entry.kind, entry.text) for entry in page(real, run).entries] == [
        (EntryKind.NOTE, "Odd."),
        (EntryKind.HANDOFF, "Go on with the totals."),
    ]


def test_a_milestone_renews_the_lease_of_its_holder(timely: World) -> None:
    run = timely.create(chain("A"), agents={"A": ("a", "b")})
    token = timely.acquire(run, "A", "a", ttl_s=60)
    before = timely.doc(run, "A").lease.expires_at or 0
    ahead.let_pass(timely, 30)
    by_name = added(timely, run, "k1", kind="milestone", state="A", details={"progress": 50})
    ahead.let_pass(timely, 30)
    by_token = added(timely, run, "k2", kind="milestone", state="A", agent="b", token=token)
    ends = [timely.doc(run, "A").lease.expires_at, by_token.leased_until, by_name.leased_until]
    assert ends[0] == ends[1] > ends[2] > before  # type: ignore[operator]
    other = added(timely, run, "k3", kind="milestone", state="A", agent="b")
    assert other.leased_until is None
    assert refused(timely, run, "k4", kind="milestone", state="A", token="not-it") == "lease_lost"
    assert added(timely, run, "k5", kind="log", state="A", token=token).leased_until is None


# Issues


def test_an_issue_blocks_the_run_until_somebody_resolves_it(real: World, run: str) -> None:
    real.plane.kick_off(run, "go")
    issue = added(real, run, kind="issue", text="Which price?", state="A", blocks=True)
    assert [item.issue for item in issue.blocked_by] == [issue.entry.entry_id]
    assert code(real.try_acquire(run, "A", "a")) == "run_blocked"
    assert texts(real, run, open=True) == ["Which price?"]
    answer = resolve(real, run, issue.entry.entry_id)
    assert isinstance(answer, RunAnswer)
    assert (answer.answer["run_status"], answer.answer["blocked_by"], answer.answer["announced"]) == ("running", [], 1)
    assert isinstance(real.try_acquire(run, "A", "a"), Leased)
    assert texts(real, run, open=True) == []


def test_blockers_never_clear(real: World, run: str) -> None:
    """In mission-control a blocker stayed forever. Here a person resolves it, with a note, and the run continues."""
    issue = added(real, run, kind="issue", text="Which price?", blocks=True).entry.entry_id
    resolve(real, run, issue, by="alice")
    (entry,) = page(real, run, kind=EntryKind.ISSUE).entries
    assert entry.as_json()["resolved"] | {"at": ""} == {"how": "Fixed.", "by": "alice", "at": ""}
    assert not entry.is_open
    assert real.meta(run)["blocked_by"] is None
    assert real.event_types(run)[-2:] == ["IssueResolved", "RunUnblocked"]


def test_the_planner_is_told_of_a_blocking_issue_and_the_agents_of_its_end(real: World, run: str) -> None:
    real.plane.kick_off(run, "go")
    real.notifications.pulse()
    issue = added(real, run, kind="issue", text="Which price?", blocks=True).entry.entry_id
    real.notifications.pulse()
    (event,) = [message for message in real.messages("boss") if message["type"] == "run_blocked"]
    assert (event["issue"], event["text"], event["from"]) == (issue, "Which price?", "a")
    resolve(real, run, issue)
    real.notifications.pulse()
    assert [(message["target_state"], message["reason"]) for message in real.messages("a")][-1] == ("A", "unblocked")


def test_an_issue_is_resolved_once(real: World, run: str) -> None:
    issue = added(real, run, kind="issue", blocks=True).entry.entry_id
    first = resolve(real, run, issue, request_id="r1")
    again = resolve(real, run, issue, request_id="r1")
    assert (first.answer, first.repeated, again.answer, again.repeated) == (again.answer, False, first.answer, True)
    assert code(resolve(real, run, issue, by="bob")) == "already_resolved"
    assert real.event_types(run).count("IssueResolved") == 1


def test_two_who_resolve_an_issue_at_once_are_one_and_a_refusal(worlds: Callable[..., World], real: World) -> None:
    people = {"alice": worlds(), "bob": worlds()}
    for _ in range(100):
        run = real.create(chain("A"))
        issue = added(real, run, kind="issue", blocks=True, is_operator=True).entry.entry_id
        with ThreadPoolExecutor(2) as pool:
            updateds = [pool.submit(resolve, world, run, issue, by) for by, world in people.items()]
        answers = [updated.result() for updated in updateds]
        assert sorted(str(code(answer)) for answer in answers) == ["None", "already_resolved"]


def test_only_those_in_charge_resolve_a_blocking_issue_its_author_an_open_one(real: World, run: str) -> None:
    blocking = added(real, run, "k1", kind="issue", blocks=True).entry.entry_id
    harmless = added(real, run, "k2", kind="issue").entry.entry_id
    log = added(real, run, "k3").entry.entry_id
    assert code(resolve(real, run, blocking, by="a", may_any=False)) == "not_yours"
    assert code(resolve(real, run, harmless, by="b", may_any=False)) == "not_yours"
    assert code(resolve(real, run, harmless, by="a", may_any=False)) is None
    assert code(resolve(real, run, log)) == "unknown_issue"
    assert code(resolve(real, run, "j0")) == "unknown_issue"


def test_an_issue_is_resolved_after_the_run_ended_and_does_not_block_its_retry(real: World) -> None:
    run = real.create(workflow({"Fan": parallel({"A": task()}, {"B": task()}, End=True)}))
    acquire = real.acquire(run, "Fan/0/A")
    issue = added(real, run, kind="issue", blocks=True, is_operator=True).entry.entry_id
    real.fail(run, "Fan/0/A", acquire)
    assert real.run_status(run) is RunStatus.FAILED
    assert code(resolve(real, run, issue)) is None
    assert real.meta(run)["blocked_by"] is None


def test_no_more_issues_block_a_run_than_its_meta_keeps(real: World, run: str) -> None:
    issues = [added(real, run, f"k{number}", kind="issue", blocks=True).entry.entry_id for number in range(20)]
    assert refused(real, run, "more", kind="issue", blocks=True) == "too_many"
    added(real, run, "more", kind="issue")
    for issue in issues:
        assert code(resolve(real, run, issue)) is None
    assert real.meta(run)["blocked_by"] is None


# Reading


def test_entries_are_found_by_kind_agent_state_and_openness_together(real: World, run: str) -> None:
    for number, (kind, agent, state) in enumerate(
        (kind, agent, state) for kind in ("log", "issue") for agent in ("a", "b") for state in ("A", None)
    ):
        added(real, run, f"k{number}", kind=kind, agent=agent, state=state, text=f"{kind} {agent} {state}")
    assert len(texts(real, run)) == 8
    assert sorted(texts(real, run, kind=EntryKind.LOG, agent="b")) == ["log b A", "log b None"]
    assert texts(real, run, kind=EntryKind.ISSUE, agent="b", state="A") == ["issue b A"]
    assert texts(real, run, state="A", oldest_first=True) == ["log a A", "log b A", "issue a A", "issue b A"]
    assert len(texts(real, run, open=True)) == 4
    assert texts(real, run, agent="nobody") == []
    assert (page(real, run, agent="a").matching, page(real, run, agent="a", state="A").matching) == (4, None)


def test_since_loses_events(timely: World) -> None:
    """mission-control looked at when a task began: here `since` is about when the entry was written."""
    run = timely.create(chain("A"))
    timely.acquire(run, "A", "a")
    added(timely, run, "k1", text="before", state="A", is_operator=True)
    ahead.let_pass(timely, 60)
    since = ahead.now(timely)
    ahead.let_pass(timely, 60)
    late = added(timely, run, "k2", text="on a state that began long before", state="A", is_operator=True)
    assert texts(timely, run, since=since) == ["on a state that began long before"]
    assert texts(timely, run, since=late.entry.at) == ["on a state that began long before"]
    assert texts(timely, run, until=since) == ["before"]
    assert texts(timely, run, until=late.entry.at) == ["before"]
    assert texts(timely, run, since=since, until=since) == []


@rows("oldest_first", [False, True])
@rows("limit", [1, 3, 10, 100])
def test_offset_without_limit(real: World, run: str, limit: int, oldest_first: bool) -> None:
    """midex could not page without a limit. Here a cursor continues from any page, of any length, and ends honestly."""
    for number in range(10):
        added(real, run, f"k{number}", text=str(number), kind="log" if number % 2 else "note")
    expected = [str(number) for number in range(10)]
    texts = [entry.text for entry in every(real, run, limit, oldest_first=oldest_first)]
    assert texts == (expected if oldest_first else expected[::-1])
    odd = [entry.text for entry in every(real, run, limit, oldest_first=oldest_first, kind=EntryKind.LOG, agent="a")]
    assert odd == (expected[1::2] if oldest_first else expected[1::2][::-1])
    full = page(real, run, 10, oldest_first=oldest_first)
    assert (len(full.entries), full.next_cursor) == (10, None)


def test_a_page_ends_where_its_bytes_do(real: World, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.features.journal.storage.PAGE_BYTES", 500)
    for number in range(5):
        added(real, run, f"k{number}", text="x" * 400)
    assert len(page(real, run, 50).entries) == 1
    assert len(every(real, run, 50)) == 5


def test_a_page_looks_at_so_many_entries_and_says_that_there_may_be_more(
    real: World, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.features.journal.storage._LOOKED_AT", 4)
    for number in range(6):
        added(real, run, f"n{number}", kind="note", agent="a")
        added(real, run, f"l{number}", kind="log", agent="b")
    added(real, run, "seldom", kind="note", agent="b")
    short = page(real, run, 10, kind=EntryKind.NOTE, agent="b")
    assert (len(short.entries), short.next_cursor is not None) == (1, True)
    assert [entry.text for entry in every(real, run, 10, kind=EntryKind.NOTE, agent="b")] == ["It works."]


@rows(
    "wanted", [{}, {"kind": EntryKind.LOG}, {"kind": EntryKind.LOG, "agent": "a"}, {"open": True, "oldest_first": True}]
)
def test_a_page_is_one_round_trip_however_long_the_journal_is(
    real: World, run: str, counting: CountingPool, wanted: dict[str, Any]
) -> None:
    reader = JournalReader(Connections(counting))
    for number in range(3):
        added(real, run, f"k{number}")
    spent: list[int] = []
    for _ in range(2):
        with counting.counted() as packets:
            assert reader.page(run, JournalQuery(limit=2, **wanted)) is not None
        spent.append(len(packets))
        keys, entry = real.store.keys(run), added(real, run, "long").entry
        more = [replace(entry, entry_id=f"j{number:016x}", at=entry.at + number) for number in range(1, 5_000)]
        for start in range(0, len(more), 500):
            batch = more[start : start + 500]
            real.connections.send(*(command for entry in batch for command in entry_commands(keys, entry)))
    assert spent == [1, 1]


def test_a_journal_of_no_run_is_not_read(real: World) -> None:
    with pytest.raises(UnknownRun):
        page(real, "nothing-here")


def test_names_that_look_alike_are_told_apart(real: World) -> None:
    run = real.create(chain("A", "A:1", "A%3A"))
    for number, state in enumerate(("A", "A:1", "A%3A")):
        added(real, run, f"k{number}", text=state, state=state, is_operator=True)
    for state in ("A", "A:1", "A%3A"):
        assert texts(real, run, state=state) == [state]


def test_the_journal_goes_with_its_run(real: World, run: str) -> None:
    added(real, run)
    kinds = {key.rsplit(":", 1)[1] for key in real.keys_of(run)}
    assert {"journal", "journalorder"} <= kinds
    real.lifecycle.cancel(run)
    real.finalize(run)
    real.retention.delete(run)
    assert real.keys_of(run) == []
