"""A question that many ask at once: it is asked once, and who asks later gets a new answer."""

import anyio
import pytest

from dcf.tools.shared_question import SharedQuestion

pytestmark = pytest.mark.anyio


class _Probe:
    def __init__(self) -> None:
        self.asked = 0
        self.gate = anyio.Event()

    async def ask(self) -> int:
        self.asked += 1
        await self.gate.wait()
        return self.asked


async def test_all_who_ask_at_once_get_one_answer() -> None:
    probe, answers = _Probe(), list[int]()
    question = SharedQuestion(probe.ask)

    async def ask() -> None:
        answers.append(await question.answer())

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        probe.gate.set()
    assert answers == [1] * 100
    assert await question.answer() == 2


async def test_one_who_goes_away_takes_the_answer_from_nobody() -> None:
    probe = _Probe()
    question = SharedQuestion(probe.ask)
    with anyio.move_on_after(0.01):
        await question.answer()
    probe.gate.set()
    assert await question.answer() == 1


async def test_a_failure_is_told_to_all_and_the_next_is_asked_again() -> None:
    asked = []

    async def fail_first() -> str:
        asked.append(1)
        if len(asked) == 1:
            raise ValueError("first")
        return "second"

    question = SharedQuestion(fail_first)
    with pytest.raises(ValueError, match="first"):
        await question.answer()
    assert await question.answer() == "second"
