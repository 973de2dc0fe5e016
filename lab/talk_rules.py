"""The rules for questions of workers and corrections of results; as in `rules.py`, one function each."""

from collections import Counter
from collections.abc import Iterator

from dcf.values.digest import content_fingerprint
from lab.evidence import Story


def each_question_is_answered_once(story: Story) -> Iterator[str]:
    """A question is asked once, and answered once or given up. Its asker receives that answer once.

    A power loss may take back an answer that the asker has received.
    """
    counter = Counter(str(item.data["question"]) for item in story.of("QuestionAsked"))
    ended = Counter(str(item.data["question"]) for item in story.of("QuestionAnswered", "QuestionExpired"))
    for question, times in {**counter, **ended}.items():
        if counter[question] != 1 or times > 1 or ended[question] > 1:
            yield f"{question} was asked {counter[question]} times, and answered or given up {ended[question]} times"
    requests = {str(call.content["request"]) for call in story.calls if call.op == "ask" and not call.is_refused}
    if sum(counter.values()) > len(requests):
        yield f"{sum(counter.values())} questions, by {len(requests)} requests"
    answers = {str(item.data["question"]): item.data["answer"] for item in story.of("QuestionAnswered")}
    for call in story.calls:
        if call.op == "reply" and call.is_ok and not story.may_be_lost(call):
            question, answer = str(call.content["question"]), call.content["answer"]
            if answers.get(question) != answer:
                yield f"the answer is {answers.get(question)}: {call.told()}"
    details = [
        item
        for item in story.of("NotificationSent")
        if item.data.get("reason") == "question_answered" and not item.state
    ]
    lost = sum(call.op == "reply" and call.is_ok and story.may_be_lost(call) for call in story.calls)
    if len(details) > sum(ended.values()) + lost:
        yield f"askers were told {len(details)} times of {sum(ended.values())} answers"


def a_corrected_result_is_what_the_follower_saw(story: Story) -> Iterator[str]:
    """A result is corrected until a state that follows is leased, whose lease then shows the correction."""
    inputs = {(grant.state, grant.epoch): grant.call.given for grant in story.grants if grant.call.op == "acquire"}
    source_of: dict[str, str] = {}
    used: set[str] = set()
    latest: dict[str, str] = {}
    for happening in story.happenings:
        if happening.type == "StateEntered" and happening.data.get("source"):
            source_of[happening.state] = str(happening.data["source"])
        elif happening.type in {"StateSucceeded", "StateResolved", "StateConcluded"}:
            used.discard(happening.state)
            latest.pop(happening.state, None)
        elif happening.type == "ResultCorrected":
            latest[happening.state] = str(happening.data["after"])
            if happening.state in used:
                yield f"corrected after it was used: {happening.told()}"
        elif happening.type == "LeaseAcquired" and happening.state in source_of:
            source = source_of[happening.state]
            used.add(source)
            seen = inputs.get((happening.state, happening.epoch))
            is_whole = happening.state.rpartition("/")[2].startswith(
                ("Work_", "Checked_")
            )  # others see a part of the result
            if source in latest and is_whole and seen is not None and content_fingerprint(seen) != latest[source]:
                yield f"{source} was corrected, and {seen} is what was seen: {happening.told()}"
