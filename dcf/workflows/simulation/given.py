"""Checks the inputs of a simulation besides the machine: answers of Tasks, files, and the context object.

An invalid input gets an error in plain words, never a traceback.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from hashlib import md5
from typing import Final, TextIO, TypeAlias

from dcf.asl.briefs import TaskBrief
from dcf.asl.items.sources import Listed, missing, name_of
from dcf.asl.resources import Kind
from dcf.errors import InvalidArgument
from dcf.values.json_text import MAX_BYTES, Json, check
from dcf.values.records import record

Answer: TypeAlias = Mapping[str, Json]
"""The answer of a Task to one call: `{output}`, `{error, cause}`, `{timed_out}` or `{never}`.

With `after` it comes that number of seconds later, if the Task has not timed out by then.
"""

Mocks: TypeAlias = Mapping[str, Answer | Sequence[Answer]]
"""The answers of each Task by its name, call by call. An answer with an `input` is used first for that input."""

_KINDS: Final = frozenset({"output", "error", "cause", "timed_out", "never"})
_ALL_MOCKS_BYTES: Final = 64 * MAX_BYTES
_LONGEST_S: Final = 99_999_999


@record(frozen=True, slots=True, kw_only=True)
class AskedTask:
    """A Task that is to be answered: its name and path, its input, and which attempt of which visit this is.

    `visit` is a number that grows with each visit; `at` is the virtual time in microseconds. `brief`
    is what the Task tells its worker. `kind` says who ends it (`asl/resources.py`): an agent ("work"), or others.
    `is_invocation` is also told there.
    """

    name: str
    path: str
    given: Json
    attempt: int
    visit: int
    at: int
    timeout_s: int | None = None
    heartbeat_s: int | None = None
    brief: TaskBrief | None = None
    kind: Kind = "work"
    is_invocation: bool = False


class Answers:
    """The answers not used yet, by the name of the Task."""

    def __init__(self, mocks: Mocks) -> None:
        self._left = {name: list(answers) for name, answers in _read(mocks).items()}

    def take(self, task: AskedTask) -> Answer:
        """Return the next answer of a Task to its input.

        Without answers, an agent's Task returns its input. A Task for something outside waits.
        """
        name, output = task.name, task.given
        answers = self._left.get(name, [])
        exact = next((answer for answer in answers if "input" in answer and answer["input"] == output), None)
        answer = exact or (answers[0] if answers else None)
        if answer is None:
            return {"output": output} if task.kind == "work" else {"never": True}
        answers.remove(answer)
        if "output" in answer and task.kind == "work":
            refuse_misfit(task, answer["output"])
        return answer


def refuse_misfit(task: AskedTask, output: Json) -> None:
    """Raise InvalidArgument if an output that was given for a Task does not match its OutputSchema."""
    misfits = () if task.brief is None else task.brief.misfits(output)
    if misfits:
        reasons = "; ".join(f"{misfit.pointer or 'the output'}: {misfit.message}" for misfit in misfits)
        raise InvalidArgument(
            f"The output given for the Task '{task.name[:80]}' does not match its OutputSchema: {reasons}.",
            "A run would refuse it. Correct the output, or the schema.",
        )


def _read(mocks: Mocks) -> dict[str, list[Answer]]:
    """Check the answers and return them as arrays; a single answer need not be in one."""
    document = check(mocks, name="mocks", max_bytes=_ALL_MOCKS_BYTES)
    if not isinstance(document, dict):
        raise _wrong("mocks is not an object.")
    result = {name: answers if isinstance(answers, list) else [answers] for name, answers in document.items()}
    for name, answers in result.items():
        for answer in answers:
            if not isinstance(answer, dict) or _KINDS.isdisjoint(answer):
                raise _wrong(f"An answer of the Task '{name[:80]}' is none.")
            if not (_is_words(answer.get("error")) and _is_words(answer.get("cause"))):
                raise _wrong(f"The error and the cause of the Task '{name[:80]}' must be strings.")
            if not (is_time(answer.get("after", 0))):
                raise _wrong(f"`after` of the Task '{name[:80]}' must be a number of seconds.")
    return result


def _is_words(value: Json) -> bool:
    return value is None or isinstance(value, str)


def is_time(value: Json) -> bool:
    """Return True for a number of seconds that a simulation can let pass."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_S


def _wrong(message: str) -> InvalidArgument:
    return InvalidArgument(message, 'Write {"Task": [{"output": …}, {"error": "Name", "cause": "why"}]}.')


@record(frozen=True, slots=True, kw_only=True)
class GivenFiles:
    """Files given as text, by `bucket/key`."""

    texts: Mapping[str, str] = field(default_factory=dict)
    modified: int = 0

    def open(self, bucket: str | None, key: str) -> AbstractContextManager[TextIO]:
        """Open a given text."""
        name = name_of(bucket, key)
        if name not in self.texts:
            raise missing(bucket, key)
        return io.StringIO(self.texts[name].removeprefix("\ufeff"), newline="")

    def listing(self, bucket: str | None, prefix: str) -> Iterator[Listed]:
        """List the given texts."""
        start = name_of(bucket, "")
        for name in sorted(self.texts):
            if name.startswith(start + prefix):
                content = self.texts[name].encode("utf-8", "replace")
                etag = md5(content, usedforsecurity=False).hexdigest()
                yield Listed(key=name.removeprefix(start), size=len(content), modified=self.modified, etag=etag)


def context_of(run_input: Json, started: str, members: Mapping[str, Json]) -> dict[str, Json]:
    """Return the context object of a simulated run; values in `given` replace the generated ones."""
    execution = {
        "Id": "arn:aws:states:us-east-1:123456789012:execution:simulated:run",
        "Input": run_input,
        "Name": "run",
        "RoleArn": "arn:aws:iam::123456789012:role/simulated",
        "StartTime": started,
        "RedriveCount": 0,
    }
    machine = {"Id": "arn:aws:states:us-east-1:123456789012:stateMachine:simulated", "Name": "simulated"}
    own = check(members, name="context", max_bytes=_ALL_MOCKS_BYTES)
    if not isinstance(own, dict):
        raise InvalidArgument(
            "context is not an object.", 'Give parts of the context object, such as {"Execution": {…}}.'
        )
    return {"Execution": execution, "StateMachine": machine, **own}
