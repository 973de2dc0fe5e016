"""The answers of the tasks of a recorded run and the files it read, served to its workers.

An answer is `{output}`, `{error, cause}`, `{timed_out, error}` or `{never}`; with an `input` it serves a call of just
that input first.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dcf.asl.items.sources import bring
from dcf.asl.steps import NeedItems
from dcf.workflows.simulation import GivenFiles

Answer = Mapping[str, Any]


class Mocks:
    def __init__(self, answers: Mapping[str, Iterable[Answer]] | None = None) -> None:
        self._answers = {name: list(answer) for name, answer in (answers or {}).items()}

    def take(self, name: str, output: Any) -> Answer:
        """The next answer of this task to this input; a task without one hands its input back."""
        answers = self._answers.get(name, [])
        exact = (number for number, answer in enumerate(answers) if "input" in answer and answer["input"] == output)
        number = next(exact, 0)
        return answers.pop(number) if answers else {"output": output, "unprepared": True}

    def give_back(self, name: str, answer: Answer) -> None:
        """No caller received this answer: the next call gets it."""
        if not answer.get("unprepared"):
            self._answers[name].insert(0, answer)


class Files:
    """Brings the items of a Map from texts by `bucket/key`."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})
        self.read_count = 0

    def read(self, need_items: NeedItems) -> Any:
        self.read_count += 1
        return bring(need_items, GivenFiles(texts=self.texts))
