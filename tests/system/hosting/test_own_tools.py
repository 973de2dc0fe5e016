"""An agent of a host leaves notes and asks: the host fills in what it may not see."""

from typing import Any

import pytest

from dcf.errors import RunFailed
from tests.support.waiting import wait_until
from tests.system.hosting.conftest import Hosted, Hosting

HANDLERS = """
from dcf.hosting.protocol import TaskFailed

async def note(work, tools):
    result = await tools.call("leave_note", {"text": "two orders have no address"})
    return [[one.name for one in tools.list()], result.text, result.is_error]

async def report(work, tools):
    tools.report_usage(tokens_in=100, cost=0.5, currency="USD", model="m")
    tools.report_usage(tokens="none of these words")
    if work.attempt == 1 and not work.problems:
        return ["no object"]
    raise TaskFailed("Rejected", "after two turns")

async def ask(work, tools):
    if not work.questions:
        await tools.call("ask_question", {"question": "EUR or USD?", "choices": ["EUR", "USD"]})
        return "a guess, which nobody waits for"
    return [work.questions[0]["answer"], str(work).count("lease-")]

async def wrong(work, tools):
    results = [await tools.call(name, {}) for name in ("leave_note", "ask_question")]
    return [[result.text, result.is_error] for result in results]
"""
PLACES = pytest.mark.parametrize("process", ["false", "true"], ids=["in the host", "in a child"])


def agents(handler: str, process: str, *names: str) -> str:
    return f'[agents.me]\nhandler = "handlers.py:{handler}"\nprocess = {process}\ndcf_tools = {list(names)}'


def happened(hosted: Hosted, run: str, kind: str) -> list[Any]:
    return [event for event in hosted.client.events(run) if event.type == kind]


@PLACES
def test_a_note_is_in_the_history_under_the_name_of_the_agent(hosting: Hosting, process: str) -> None:
    with hosting(agents("note", process, "leave_note"), HANDLERS) as hosted:
        run = hosted.start({})
        names, text, is_error = hosted.client.result(run)
        (note,) = happened(hosted, run, "NoteLeft")
    assert (names, is_error) == (["leave_note"], False)
    assert text == "The planner gets the note."
    assert note.data["text"] == "two orders have no address"
    assert (note.state, note.data["agent"]) == ("A", hosted.agent)


@PLACES
def test_what_the_turns_of_an_agent_used_is_summed_and_charged_also_where_it_fails(
    hosting: Hosting, process: str
) -> None:
    with hosting(agents("report", process), HANDLERS) as hosted:
        run = hosted.start({"OutputSchema": {"type": "object"}})
        with pytest.raises(RunFailed):
            hosted.client.result(run)
        used = hosted.client.read_usage(run)
    assert (used.total.tokens_in, used.total.cost, used.total.reports) == (200, {"USD": "1"}, 1)
    assert used.agents[hosted.agent] == used.total


@PLACES
def test_a_question_ends_the_turn_and_its_answer_comes_with_the_next(hosting: Hosting, process: str) -> None:
    with hosting(agents("ask", process, "ask_question"), HANDLERS) as hosted:
        run = hosted.start({})
        wait_until(lambda: happened(hosted, run, "QuestionAsked"))
        hosted.client.answer_question(run, "q1", "EUR", agent_id="planner")
        assert hosted.client.result(run) == ["EUR", 0]


def test_a_wrong_argument_is_told_and_tools_that_are_not_given_are_not_there(hosting: Hosting) -> None:
    with hosting(agents("wrong", "false", "leave_note"), HANDLERS) as hosted:
        (note, noted), (request, is_asked) = hosted.result()
    assert noted
    assert is_asked
    assert "'text' must be a text" in note
    assert "There is no tool 'ask_question'" in request
