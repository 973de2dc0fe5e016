"""The quality gate of `.deepwork/config.yml`: the command that reviews outputs, its time limit, its attempts.

A person configures the command. It is read once, when the server starts, so that an agent cannot change it by editing
the file. It runs without a shell, gets the review as its input, and answers with a verdict.
"""

from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from dcf.authoring.yaml_text import read_yaml
from dcf.errors import InvalidArgument
from dcf.local import commands, file_reading
from dcf.local.command_templates import words_of
from dcf.local.deepwork.review_request import ReviewRequest, request_text
from dcf.local.deepwork.review_verdict import ReviewVerdict, read_verdict
from dcf.values.located import Report
from dcf.values.records import record

CONFIGURATION: Final = ".deepwork/config.yml"
_FIELD: Final = "quality_gate"
_USUAL_S: Final = 120.0
_USUAL_ATTEMPTS: Final = 3
_MOST_ATTEMPTS: Final = 100
_HINT: Final = 'Write quality_gate: {agent_review_command: "claude --print", default_timeout: 120}.'


@record(frozen=True, slots=True, kw_only=True)
class QualityGate:
    """The words of the command that reviews, the seconds for a review, and after how many failures it is an error."""

    words: tuple[str, ...]
    timeout_s: float = _USUAL_S
    max_attempts: int = _USUAL_ATTEMPTS

    async def review(self, root: Path, request: ReviewRequest) -> ReviewVerdict:
        """Run the command on the outputs of a step; the verdict says why there is none, where there is none."""
        query = await anyio.to_thread.run_sync(request_text, root, request)
        answer = await commands.ask(self.words, root, query, self.timeout_s)
        if answer.why_not is not None:
            return ReviewVerdict(why_none=answer.why_not)
        return read_verdict(answer.text, request.criteria)


def configured_gate(root: Path, command: str | None) -> QualityGate | None:
    """Return the gate that the project configures, with another command if one is given; None without any command."""
    written = _written(root)
    words = words_of(command) if command is not None else _words(written.get("agent_review_command"))
    if not words:
        return None
    return QualityGate(
        words=words,
        timeout_s=_number(written, "default_timeout", _USUAL_S, commands.LONGEST_S),
        max_attempts=int(_number(written, "default_max_attempts", _USUAL_ATTEMPTS, _MOST_ATTEMPTS)),
    )


def _written(root: Path) -> dict[str, Any]:
    if not (root / CONFIGURATION).is_file():
        return {}
    report = Report()
    text = file_reading.content(root, file_reading.found(root, CONFIGURATION)).decode("utf-8", "replace")
    yaml_document = read_yaml(text, CONFIGURATION, report)
    document = None if yaml_document is None else yaml_document.plain()
    if report.problems:
        problem = report.problems[0]
        raise InvalidArgument(f"{CONFIGURATION}, line {problem.place.line}: {problem.message}", problem.hint)
    if document is None:
        return {}
    written = document.get(_FIELD) if isinstance(document, dict) else document
    if written is not None and not isinstance(written, dict):
        raise InvalidArgument(f"{_FIELD} of {CONFIGURATION} must be a mapping.", _HINT)
    return written or {}


def _words(command: Any) -> tuple[str, ...]:
    if command is None:
        return ()
    if isinstance(command, str):
        return words_of(command)
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return tuple(command)
    raise InvalidArgument(f"agent_review_command of {CONFIGURATION} must be a text.", _HINT)


def _number(written: dict[str, Any], name: str, usual: float, most: float) -> float:
    number = written.get(name, usual)
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number <= most:
        raise InvalidArgument(f"{name} of {CONFIGURATION} must be a number above 0, at most {most:g}.", _HINT)
    return number
