"""The rules for questions of workers and corrections of results; as in `rules.py`, one function each."""

from collections import Counter
from collections.abc import Iterator

from dcf.values.digest import content_fingerprint
from lab.evidence import Story


def each_question_is_answered_once(story: Story) -> Iterator[str]:
    """A question is asked once, and answered once or given up. Its asker receives that answer once.

    A power loss may take back an answer that the asker has received.
    """
    asked = Counter(str(one.data["question"]) for one in story.of("QuestionAsked"))
    ended = Counter(str(one.data["question"]) for one in story.of("QuestionAnswered", "QuestionExpired"))
    for question, times in {**asked, **ended}.items():
        if asked[question] != 1 or times > 1 or ended[question] > 1:
            yield f"{question} was asked {asked[question]} times, and answered or given up {ended[question]} times"
    requests = {str(call.content["request"]) for call in story.calls if call.op == "ask" and not call.is_refused}
    if sum(asked.values()) > len(requests):
        yield f"{sum(asked.values())} questions, by {len(requests)} requests"
    given = {str(one.data["question"]): one.data["answer"] for one in story.of("QuestionAnswered")}
    for call in story.calls:
        if call.op == "reply" and call.is_ok and not story.may_be_lost(call):
            question, answer = str(call.content["question"]), call.content["answer"]
            if given.get(question) != answer:
                yield f"the answer is {given.get(question)}: {call.told()}"
    told = [
        one for one in story.of("NotificationSent") if one.data.get("reason") == "question_answered" and not one.state
    ]
    lost = sum(call.op == "reply" and call.is_ok and story.may_be_lost(call) for call in story.calls)
    if len(told) > sum(ended.values()) + lost:
        yield f"askers were told {len(told)} times of {sum(ended.values())} answers"


def a_corrected_result_is_what_the_follower_saw(story: Story) -> Iterator[str]:
    """A result is corrected until a state that follows is leased, whose lease then shows the correction."""
    inputs = {(grant.state, grant.epoch): grant.call.given for grant in story.grants if grant.call.op == "acquire"}
    source_of: dict[str, str] = {}
    used: set[str] = set()
    latest: dict[str, str] = {}
    for found in story.happenings:
        if found.type == "StateEntered" and found.data.get("source"):
            source_of[found.state] = str(found.data["source"])
        elif found.type in {"StateSucceeded", "StateResolved", "StateConcluded"}:
            used.discard(found.state)
            latest.pop(found.state, None)
        elif found.type == "ResultCorrected":
            latest[found.state] = str(found.data["after"])
            if found.state in used:
                yield f"corrected after it was used: {found.told()}"
        elif found.type == "LeaseAcquired" and found.state in source_of:
            source = source_of[found.state]
            used.add(source)
            seen = inputs.get((found.state, found.epoch))
            is_whole = found.state.rpartition("/")[2].startswith(
                ("Work_", "Checked_")
            )  # others see a part of the result
            if source in latest and is_whole and seen is not None and content_fingerprint(seen) != latest[source]:
                yield f"{source} was corrected, and {seen} is what was seen: {found.told()}"
