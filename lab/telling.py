"""The story of a run that broke a rule: what everybody did and heard, what struck, what the history says, in order."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

from lab.evidence import Story
from lab.session import Violation
from lab.workflows import draw

_BRIEF = 40


def story_of(kind: str, violations: list[Violation], *, brief: bool = False) -> str:
    """Return the whole story of one run, with the rules that it broke; or in brief what concerns the states in them."""
    first = violations[0]
    story, workflow = first.story, draw(first.seed)
    lines = [f"kind {kind}, seed {first.seed}, run {story.run}", ""]
    lines += [f"{violation.rule}: {violation.sentence}" for violation in violations]
    moments = sorted(_moments(story, first.strikes))
    if brief:
        named = {path for path in story.documents for violation in violations if path in violation.sentence}
        details = [
            (at, text) for at, text in moments if text.startswith("STRIKE") or any(path in text for path in named)
        ]
        return "\n".join(lines + [f"{at - _start(story):9.3f} {text}" for at, text in details[-_BRIEF:]])
    lines += ["", "workflow:", json.dumps(workflow.definition["asl"]), f"input: {workflow.run_input}"]
    expected = story.expected
    lines += [f"expected: {expected.status} {expected.output} {expected.error}", f"meta: {json.dumps(story.meta)}"]
    lines += [f"left: {story.left}", f"documents: {json.dumps(story.documents_later)}", "", "what happened:"]
    lines += [f"{at - _start(story):9.3f} {text}" for at, text in moments]
    return "\n".join(lines) + "\n"


def write_story(folder: Path, kind: str, violations: list[Violation]) -> Path:
    """Write the story of one run to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kind}-{violations[0].seed}.txt"
    path.write_text(story_of(kind, violations))
    return path


def _start(story: Story) -> float:
    return min((call.start for call in story.calls), default=0.0)


def _moments(story: Story, strikes: tuple[tuple[float, str], ...]) -> Iterator[tuple[float, str]]:
    ahead = time.time() - time.monotonic()
    for call in story.calls:
        yield call.start, f"call    {call.told()}"
    for happening in story.happenings:
        yield happening.at_ms / 1000 - ahead, f"history {happening.told()}"
    for at, subject in strikes:
        yield at, f"STRIKE  {subject}"
