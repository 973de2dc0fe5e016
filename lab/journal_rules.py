"""The rules for issues that block a run, and for entries of its journal; as in `rules.py`, one function each."""

from collections import Counter
from collections.abc import Iterator

from dcf.features.journal.model import entry_id_of
from lab.evidence import Story


def a_blocked_run_neither_leases_nor_succeeds(story: Story) -> Iterator[str]:
    """While an issue blocks a run, nothing of it is leased, and it does not succeed."""
    blocked: set[str] = set()
    for happening in story.happenings:
        issue = str(happening.data.get("issue"))
        if happening.type == "RunBlocked":
            blocked.add(issue)
        elif happening.type == "RunUnblocked":
            blocked.discard(issue)
            if bool(blocked) is not happening.data["still_blocked"]:
                yield f"{len(blocked)} issues block it after {happening.told()}"
        elif happening.type == "LeaseAcquired" and blocked:
            yield f"leased while {sorted(blocked)} block it: {happening.told()}"
        elif blocked and (happening.type == "RunSucceeded" or happening.data.get("status") == "succeeded"):
            yield f"succeeded while {sorted(blocked)} block it: {happening.told()}"


def each_issue_is_opened_and_resolved_once(story: Story) -> Iterator[str]:
    """An issue is opened once for its key and resolved once; none that was acknowledged is missing, and none blocks on.

    A run that ended while it was blocked, by a timer or by who held a state, may keep the issue.
    """
    opened = Counter(str(item.data["issue"]) for item in story.of("IssueOpened"))
    resolved = Counter(str(item.data["issue"]) for item in story.of("IssueResolved"))
    for issue, times in {**opened, **resolved}.items():
        if opened[issue] != 1 or times > 1 or resolved[issue] > 1:
            yield f"{issue} was opened {opened[issue]} times and resolved {resolved[issue]} times"
    entry_ids = {entry_id_of(str(call.content["request"])) for call in story.calls if call.op == "block"}
    yield from (f"nobody opened {issue}" for issue in opened if issue not in entry_ids)
    for call in story.calls:
        if call.op == "block" and call.is_ok and not story.may_be_lost(call):
            issue = entry_id_of(str(call.content["request"]))
            if not opened[issue]:
                yield f"{issue} is not in the history: {call.told()}"
    for left in story.meta.get("blocked_by") or ():
        issue = left["issue"]
        if resolved[issue] or story.meta.get("status") == "running":
            yield f"{issue} still blocks it, and was resolved {resolved[issue]} times"
