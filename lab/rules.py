"""The rules by which the lab judges a run: the invariants of ARCHITECTURE.md, and what a user expects of the end.

One function each, named for what must hold. It yields a sentence for each violation it finds.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import TypeAlias

from lab.evidence import BY_THE_CLOCK, ENDINGS, Happening, Story, is_task
from lab.expectation import plain
from lab.gate_rules import GATE_RULES
from lab.grown_rules import GROWN_RULES
from lab.journal_rules import a_blocked_run_neither_leases_nor_succeeds, each_issue_is_opened_and_resolved_once
from lab.parking_rules import PARKING_RULES
from lab.recording import HELD_UP, Call
from lab.talk_rules import a_corrected_result_is_what_the_follower_saw, each_question_is_answered_once

Rule: TypeAlias = Callable[[Story], Iterator[str]]

_BY_HOLDER = ("LeaseRenewed", "LeaseReleased", "StateUpdated", "TaskLogged")
_WRITES = ("complete", "write", "renew", "correct")
_BY_OPERATOR = ("pause", "resume", "cancel", "resolve", "skip", "error", "retry")
_BY_PLANNER = ("grow", "seal", "retry_unit", "rewind", "without", "close", "judge")
_NOT_YET = ("children_open", *HELD_UP)
"""Refusals of a completion that may be applied later, by the same call."""

_ENDS = ("RunSucceeded", "RunFailed", "RunCancelled", "RunClosed")
_TERMINAL = ("succeeded", "failed", "skipped", "cancelled")


def one_holder_per_epoch(story: Story) -> Iterator[str]:
    """No epoch of a state is granted twice, neither in the history nor in the answers to callers."""
    granted = Counter((result.state, result.epoch) for result in story.of("LeaseAcquired"))
    yield from (
        f"{state} was granted {times} times with epoch {epoch}"
        for (state, epoch), times in granted.items()
        if times > 1
    )
    tokens: dict[tuple[str, int], set[str]] = defaultdict(set)
    for grant in story.grants:
        tokens[grant.state, grant.epoch].add(grant.token)
    for (state, epoch), token in tokens.items():
        if len(token) > 1:
            yield f"{len(token)} tokens were told to hold {state} with epoch {epoch}"


def epochs_grow(story: Story) -> Iterator[str]:
    """Each grant of a state has a larger epoch than those before: in the history, and for those told in turn."""
    last: dict[str, int] = {}
    for result in story.of("LeaseAcquired"):
        if result.epoch <= last.get(result.state, 0):
            yield f"{result.state} was granted with epoch {result.epoch} after {last[result.state]}"
        last[result.state] = result.epoch
    first_grants = [grant for grant in story.grants if not grant.call.repeated]
    for earlier in first_grants:
        for later in first_grants:
            in_turn = earlier.call.end is not None and earlier.call.end < later.call.start
            if later.state == earlier.state and in_turn and later.epoch < earlier.epoch:
                yield f"{later.state} was granted with epoch {later.epoch} after {earlier.epoch} was told"


def no_stale_write(story: Story) -> Iterator[str]:
    """Only the current holder writes: after a later grant, and before any, nothing written with a token counts."""
    holder: dict[str, int | None] = {}
    for happening in story.happenings:
        if happening.type == "LeaseAcquired":
            holder[happening.state] = happening.epoch
        elif happening.type in _BY_HOLDER and holder.get(happening.state) != happening.epoch:
            yield f"{happening.told()}, while epoch {holder.get(happening.state)} held the state"
        elif (happening.state, happening.epoch) in story.resolved and happening.type in {"StateResolved", *ENDINGS}:
            holder[happening.state] = None
        elif _is_by_holder(happening) and holder.get(happening.state) is None and not _is_odd_input(story, happening):
            yield f"{happening.told()}, while nobody held the state"
        if happening.type in {*ENDINGS, "LeaseReleased", "StateCancelled", "UnitRewound"}:
            holder[happening.state] = None
        if happening.type == "RunRetried":
            holder = dict.fromkeys(holder)  # a holder of a state loses it when the run ends
    yield from _stale_answers(story)


def _is_odd_input(story: Story, happening: Happening) -> bool:
    """Return True if a state failed when it was entered: a state before it was skipped, and left it an odd input."""
    return story.is_free and happening.data.get("error") == "States.Runtime"


def _is_by_holder(happening: Happening) -> bool:
    """Return True if only a holder can have ended the state so."""
    return happening.type in ENDINGS and is_task(happening.state) and happening.data.get("error") not in BY_THE_CLOCK


def _stale_answers(story: Story) -> Iterator[str]:
    tokens = {call.token for call in story.calls if call.op == "acquire"}
    tokens |= {call.claimed["token"] for call in story.calls if call.claimed is not None}
    for call in _applied(story, *_WRITES):
        if call.after_end:
            yield f"written after the end of the run: {call.told()}"
        if call.token not in tokens:
            yield f"a token that nobody asked for was accepted: {call.told()}"
        epoch = story.epochs.get(call.token or "")
        for grant in story.kept_grants:
            over = grant.call.end is not None and grant.call.end < call.start
            if epoch is not None and grant.state == call.state and grant.epoch > epoch and over:
                yield f"accepted although epoch {grant.epoch} had been granted: {call.told()}"


def _applied(story: Story, *ops: str) -> Iterator[Call]:
    """Return the calls that were told to have taken effect just then."""
    return (call for call in story.calls if call.op in ops and call.is_ok and not call.repeated)


def _surviving(story: Story, *ops: str) -> Iterator[Call]:
    """Return those whose effect no power loss may have taken back."""
    return (call for call in _applied(story, *ops) if not story.may_be_lost(call))


def no_early_start(story: Story) -> Iterator[str]:
    """A state is leased only once control has entered it, and with the input that the states before give it."""
    is_open: dict[str, bool] = {}
    for happening in story.happenings:
        if happening.type == "StateEntered":
            is_open[happening.state] = True
        elif happening.type == "LeaseAcquired" and not is_open.get(
            happening.state, _is_entered_by_claim(story, happening)
        ):
            yield f"leased before it was entered: {happening.told()}"
        elif happening.type in {"StateSucceeded", "StateFailed", "StateCancelled"}:
            is_open[happening.state] = False
    for call in story.calls:
        is_odd = call.op == "acquire" and call.is_ok and not story.is_free
        if is_odd and plain(call.given) not in story.expected.inputs.get(call.state, []):
            yield f"an input that no run of the workflow gives this state ({call.given}): {call.told()}"


def _is_entered_by_claim(story: Story, happening: Happening) -> bool:
    """Return True if the entry stands behind the lease: a completion that leases the next state writes both at once."""
    return any(
        later.type == "StateEntered" and later.state == happening.state and later.number - happening.number <= 1
        for later in story.happenings
        if later.number > happening.number
    )


def terminal_documents_do_not_change(story: Story) -> Iterator[str]:
    """An ended state does not change until control enters it again. An ended run does not change."""
    before = dict[str, dict[str, object]]()
    for documents in (*story.observed, story.documents, story.documents_later):
        for path, document in documents.items():
            earlier = before.get(path)
            if earlier is not None and _epoch(earlier) == _epoch(document) and _body(earlier) != _body(document):
                yield f"{path} was {_body(earlier)} and became {_body(document)}"
            if document.get("status") in _TERMINAL:
                before[path] = document
    for path, document in story.documents.items():
        if story.documents_later and story.documents_later.get(path) != document:
            yield f"{path} changed after the end of the run"


def _epoch(document: dict[str, object]) -> object:
    lease = document.get("lease")
    return lease.get("epoch") if isinstance(lease, dict) else None


def _body(document: dict[str, object]) -> dict[str, object]:
    return {name: document.get(name) for name in ("status", "attempts", "finished_at", "last_error")}


def one_effective_completion_per_attempt(story: Story) -> Iterator[str]:
    """Each lease ends its state at most once, and one request at most is told to have done it."""
    for (state, epoch), ending in story.endings.items():
        if len(ending) > 1:
            yield f"{state} ended {len(ending)} times with epoch {epoch}"
    done: dict[str | None, list[Call]] = defaultdict(list)
    for call in _surviving(story, "complete"):
        done[call.token].append(call)
    for calls in done.values():
        if len(calls) > 1:
            yield "told twice to have completed: " + " and ".join(call.told() for call in calls)


def an_applied_request_is_never_refused(story: Story) -> Iterator[str]:
    """A repetition of a request that took effect is answered so, whatever came between.

    A refusal may rest on what a power loss takes back; the same request may then take effect later.
    """
    applied: dict[tuple[str, str, str | None, str], Call] = {}
    for call in _surviving(story, "complete", "write", "release", "answer", *_BY_OPERATOR, *_BY_PLANNER):
        applied.setdefault(_request(call), call)
    for call in story.calls:
        first = applied.get(_request(call))
        is_late = first is not None and call.end is not None and call.end > first.start
        if is_late and call.is_refused and call.code not in _NOT_YET:
            yield f"refused although it was applied: {call.told()}"
    for call in story.calls:
        epoch = story.epochs.get(call.token or "")
        is_final = call.is_refused and call.code not in _NOT_YET and not story.may_be_lost(call)
        was_new = call.op == "complete" and is_final and _request(call) not in applied
        if was_new and epoch is not None and (call.state, epoch) in story.endings and _wrote_one_thing(story, call):
            yield f"refused, and the history has it: {call.told()}"


def _wrote_one_thing(story: Story, call: Call) -> bool:
    """Return True if only this result was ever written with the token, so that it is the one that took effect."""
    same = (other for other in story.calls if other.op == "complete" and other.token == call.token)
    return len({str(other.content) for other in same}) == 1


def _request(call: Call) -> tuple[str, str, str | None, str]:
    return call.op, call.state, call.token, str(call.content)


def nothing_acknowledged_is_lost(story: Story) -> Iterator[str]:
    """Every acknowledged change is in the history."""
    for grant in story.grants:
        if not story.was_granted(grant.state, grant.epoch) and not story.may_be_lost(grant.call):
            yield f"granted, and not in the history: {grant.call.told()}"
    for call in _applied(story, "complete"):
        epoch = story.epochs.get(call.token or "")
        if epoch is not None and (call.state, epoch) not in story.endings and not story.may_be_lost(call):
            yield f"completed, and not in the history: {call.told()}"


def only_the_assigned_hold_states(story: Story) -> Iterator[str]:
    """Only an assigned agent leases a state. Any agent may lease a unit that has no assignment."""
    for result in story.of("LeaseAcquired"):
        is_for_anybody = story.is_grown and result.state not in story.meta["agents"]
        if not is_for_anybody and result.data.get("owner") not in story.agents:
            yield f"leased by somebody else: {result.told()}"


def agents_are_notified(story: Story) -> Iterator[str]:
    """Every entered Task is announced, taken or cancelled, and the planner is notified of the end.

    An unconfirmed region that is lost may take the record of a lease with it. Its task token survives.
    """
    for entered in story.of("StateEntered"):
        if not is_task(entered.state):
            continue
        after = [
            happening
            for happening in story.happenings
            if happening.state == entered.state and happening.epoch >= entered.epoch
        ]
        known = {"NotificationSent", "LeaseAcquired", "StateCancelled", "StateFailed", "StateResolved"}
        was_taken = any(result.type in known or result.data.get("via") == "callback" for result in after)
        if not was_taken and story.meta.get("status") == "succeeded":
            yield f"nobody was told, and nobody took it: {entered.told()}"
    if story.meta.get("status") != "running" and "run_finished" not in story.planner_notices:
        yield "the planner was not told of the end"


def the_run_ends_once(story: Story) -> Iterator[str]:
    """The run ends, in time, once; once more after each time that it was retried."""
    status = story.meta.get("status")
    if status is None:
        yield "the run is gone"
    elif status == "running":
        yield "the run stands still, or takes far too long"
    ends: list[str] = []
    for result in story.of(*_ENDS, "RunRetried"):
        ends = [] if result.type == "RunRetried" else [*ends, result.type]
        if len(ends) > 1:
            yield f"the run ended {len(ends)} times: {ends}"


def the_output_is_right(story: Story) -> Iterator[str]:
    """The run ends as the lab computed it, and every state completed as often as it should."""
    expected, meta = story.expected, story.meta
    if meta.get("status") in {None, "running"} or story.is_free:
        return
    if meta.get("status") != expected.status:
        yield f"it is {meta.get('status')}, not {expected.status}: {meta.get('error')} {meta.get('cause')}"
        return
    if expected.status == "succeeded" and plain(meta.get("output")) != expected.output:
        yield f"its output is {meta.get('output')}, not {expected.output}"
    if expected.status == "failed" and meta.get("error") != expected.error:
        yield f"its error is {meta.get('error')}, not {expected.error}"
    yield from _wrong_counts(story)


def paused_runs_grant_no_lease(story: Story) -> Iterator[str]:
    """Between the pause and the resumption of a run nothing is leased, and nothing at all after its end."""
    stopped = ""
    for happening in story.happenings:
        if happening.type in {"RunPaused", *_ENDS}:
            stopped = happening.type
        elif happening.type in {"RunResumed", "RunRetried"}:
            stopped = ""
        elif happening.type == "LeaseAcquired" and stopped:
            yield f"leased after {stopped}: {happening.told()}"
        elif happening.type in {*ENDINGS, "StateResolved"} and stopped in _ENDS:
            yield f"ended after {stopped}: {happening.told()}"


def the_first_answer_of_a_person_counts(story: Story) -> Iterator[str]:
    """Each visit of a task for people has one answer: the acknowledged one."""
    is_open: dict[str, bool] = {}
    for happening in story.happenings:
        if happening.type == "StateEntered":
            is_open[happening.state] = True
        elif _is_of_person(happening) and not is_open.get(happening.state):
            yield f"answered, though nobody was asked any more: {happening.told()}"
        if happening.type in {"StateConcluded", "StateResolved", "StateCancelled"}:
            is_open[happening.state] = False
    answered = [result for result in story.of("StateConcluded") if _is_of_person(result)]
    done = Counter((result.state, str(result.data.get("answered_by"))) for result in answered)
    counter = Counter((call.state, call.agent) for call in _surviving(story, "answer"))
    tried = Counter({(call.state, call.agent, _request_id(call)): 1 for call in story.calls if call.op == "answer"})
    request = Counter((state, agent) for state, agent, _ in tried)
    for person in {*done, *counter}:
        if counter[person] > done[person]:
            yield f"{person} was told {counter[person]} times to have answered, and did {done[person]} times"
        if done[person] > request[person]:
            yield f"{person} answered {done[person]} times, by {request[person]} requests"


def _is_of_person(happening: Happening) -> bool:
    return happening.type == "StateConcluded" and happening.data.get("via") == "person"


def people_are_notified(story: Story) -> Iterator[str]:
    """Each person that a task asks at its entry is notified, unless the task ended before."""
    for entered in story.of("StateEntered"):
        if not entered.state.rpartition("/")[2].startswith("Ask") or story.meta.get("status") != "succeeded":
            continue
        after = [
            happening
            for happening in story.happenings
            if happening.state == entered.state and happening.epoch >= entered.epoch
        ]
        if not any(result.type in {"NotificationSent", "StateConcluded", "StateCancelled"} for result in after):
            yield f"nobody was told: {entered.told()}"


def an_operators_requests_take_effect_once(story: Story) -> Iterator[str]:
    """Whatever was resolved, retried or cancelled has a request of its own; what one was told to have done is there."""
    verbs = (
        (("resolve", "skip", "error", "without"), "StateResolved"),
        (("retry",), "RunRetried"),
        (("cancel",), "RunCancelled"),
    )
    for ops, type_ in verbs:
        request = {_request_id(call) for call in story.calls if call.op in ops and not call.is_refused}
        done = sum(1 for _ in story.of(type_))
        if done > len(request):
            yield f"{done} times {type_}, by {len(request)} requests"
        details = {_request_id(call) for call in _surviving(story, *ops)}
        if done < len(details) and type_ != "RunCancelled":
            yield f"{done} times {type_}, and {len(details)} requests were told to have done it"


def _request_id(call: Call) -> str:
    return str(call.content.get("request"))


def _wrong_counts(story: Story) -> Iterator[str]:
    done = Counter(result.state for result in story.of("StateSucceeded"))
    for path in {*done, *story.expected.done}:
        is_choice = path.rpartition("/")[2].startswith(("Pick", "More"))
        if not is_choice and story.expected.is_determined(path) and done[path] != story.expected.done[path]:
            yield f"{path} completed {done[path]} times, not {story.expected.done[path]}"


def each_signal_is_taken_once(story: Story) -> Iterator[str]:
    """No signal is taken twice, lost or made up; those of one name are taken in the order in which they came."""
    received = [item.data["number"] for item in story.of("SignalReceived")]
    taken = [item for item in story.of("StateConcluded") if item.data.get("via") == "signal"]
    numbers = [item.data["number"] for item in taken]
    if len(set(received)) < len(received) or len(set(numbers)) < len(numbers):
        yield f"received {received}, taken {numbers}: some twice"
    if sorted({*numbers, *story.signals_kept}) != sorted(received):
        yield f"received {received}, but taken {numbers} and kept {story.signals_kept}"
    last: dict[str, int] = {}
    for message in taken:
        name, number = message.data["signal"], message.data["number"]
        if number < last.get(name, 0):
            yield f"signal {number} was taken after {last[name]}, though both are {name}"
        last[name] = number
    request = {_request_id(call) for call in story.calls if call.op == "signal" and not call.is_refused}
    if len(received) > len(request):
        yield f"{len(received)} signals were received, by {len(request)} requests"
    for call in _surviving(story, "signal"):
        if call.epoch not in received:
            yield f"sent, and not in the history: {call.told()}"


def children_are_started_once_and_end_with_their_parents(story: Story) -> Iterator[str]:
    """A visit of a state starts one run at most, ends as that does, and leaves none behind."""
    by_visit = Counter((child["parent"]["state"], child["parent"]["epoch"]) for child in story.children)
    yield from (f"{times} runs were started by {visit}" for visit, times in by_visit.items() if times > 1)
    noted = Counter((element.state, element.epoch) for element in story.of("ChildStarted"))
    yield from (f"the start of {visit} is noted {times} times" for visit, times in noted.items() if times > 1)
    status = {child["workflow_id"]: child["status"] for child in story.children}
    for item in story.of("StateConcluded"):
        child = item.data.get("run")
        if child is not None and status.get(child) != item.data.get("run_status"):
            yield f"{child} is {status.get(child)}: {item.told()}"
    if story.meta.get("status") not in {None, "running"}:
        yield from (f"child {name} goes on" for name, result in status.items() if result == "running")


def a_deleted_run_is_gone(story: Story) -> Iterator[str]:
    """Nothing is kept of a deleted run, no list names it, and no late call brings it back."""
    if story.is_deleted:
        yield from (f"kept of a deleted run: {name}" for name in story.kept)


def a_run_is_repeated_once(story: Story) -> Iterator[str]:
    """However often a run is repeated as the same new one, that is created once, and both name each other."""
    if sum(1 for _ in story.of("RunCreated")) > 1:
        yield "the run was created twice"
    if story.repeats is not None and story.meta and story.meta.get("rerun_of") != story.repeats:
        yield f"it repeats {story.meta.get('rerun_of')}, not {story.repeats}"
    named = story.meta.get("reruns") or []
    if story.repeated_as is not None and story.meta and named != [story.repeated_as]:
        yield f"it was repeated as {named}, not as {story.repeated_as} alone"


def each_task_token_serves_once(story: Story) -> Iterator[str]:
    """A task token ends one visit of its state, with one answer. The history has each acknowledged answer."""
    request, details = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    answers = defaultdict[str, set[str]](set)
    for call in story.calls:
        if call.op != "callback" or call.is_refused:
            continue
        token = str(call.content.get("token"))
        request[call.state].add(token)
        if call.is_ok and not story.may_be_lost(call):
            details[call.state].add(token)
            answers[token].add(str(call.content.get("answer")))
    yield from (f"a task token was told to serve with {answer}" for answer in answers.values() if len(answer) > 1)
    done = Counter(item.state for item in story.of("StateConcluded") if item.data.get("via") == "callback")
    for state in {*done, *details}:
        if not len(details[state]) <= done[state] <= len(request[state]):
            yield f"{state} ended {done[state]} times by {len(request[state])} tokens, {len(details[state])} told so"


def passing_faults_are_reported_as_such(story: Story) -> Iterator[str]:
    """No passing fault is reported as permanent or as a defect: a caller would give up a finished result."""
    for call in story.calls:
        if call.code in {"store_unsuitable", "!internal_error", "internal_error", "error"}:
            yield f"told as a fault that stays: {call.told()}"


def nothing_is_left_over(story: Story) -> Iterator[str]:
    """After the end no timer, notification, claim, lease or place in a list is left, and no state is open."""
    if story.meta.get("status") in {None, "running"}:
        return
    yield from (f"left over: {subject}" for subject in story.left)
    for path, document in story.documents_later.items():
        if document.get("status") not in _TERMINAL:
            yield f"{path} is still {document.get('status')}"


def a_logged_line_stands_once(story: Story) -> Iterator[str]:
    """However often a line of a lease is sent, the history has it once."""
    lines = Counter((result.state, result.epoch, result.data.get("number")) for result in story.of("TaskLogged"))
    yield from (
        f"line {number} of {state} with epoch {epoch} stands there {times} times"
        for (state, epoch, number), times in lines.items()
        if times > 1
    )


RULES: tuple[Rule, ...] = (
    one_holder_per_epoch,
    epochs_grow,
    no_stale_write,
    no_early_start,
    terminal_documents_do_not_change,
    one_effective_completion_per_attempt,
    an_applied_request_is_never_refused,
    nothing_acknowledged_is_lost,
    only_the_assigned_hold_states,
    agents_are_notified,
    the_run_ends_once,
    the_output_is_right,
    paused_runs_grant_no_lease,
    the_first_answer_of_a_person_counts,
    people_are_notified,
    an_operators_requests_take_effect_once,
    each_signal_is_taken_once,
    each_task_token_serves_once,
    children_are_started_once_and_end_with_their_parents,
    a_deleted_run_is_gone,
    a_run_is_repeated_once,
    passing_faults_are_reported_as_such,
    nothing_is_left_over,
    a_logged_line_stands_once,
    each_question_is_answered_once,
    a_corrected_result_is_what_the_follower_saw,
    a_blocked_run_neither_leases_nor_succeeds,
    each_issue_is_opened_and_resolved_once,
    *PARKING_RULES,
)


_OF_THE_DELETED: tuple[Rule, ...] = (a_deleted_run_is_gone, passing_faults_are_reported_as_such)


_NOT_OF_THE_GROWN: tuple[Rule, ...] = (the_output_is_right, a_corrected_result_is_what_the_follower_saw)
"""Rules that need a graph: the output of a grown run is not known, and its units do not see each other's results."""


def judge(story: Story) -> list[tuple[str, str]]:
    """Return every violation: the rule and the sentence. Of a deleted run there is no history to judge."""
    rules = _OF_THE_DELETED if story.is_deleted else RULES
    if story.is_grown:
        rules = (*(rule for rule in RULES if rule not in _NOT_OF_THE_GROWN), *GROWN_RULES, *GATE_RULES)
    return [(rule.__name__, sentence) for rule in rules for sentence in rule(story)]
