"""Shows what `dcf runs note`, `ask`, `reply` and `correct` have done."""

from collections.abc import Mapping
from typing import Any

import typer

from dcf.cli.commands.lifecycle import BEFORE
from dcf.cli.reading.views import say
from dcf.cli.text import clean
from dcf.values.json_text import Json


def show_note(answer: Mapping[str, Json], _: Mapping[str, Any]) -> None:
    """Print where the note is, and which planner was notified."""
    planner = answer["planner_agent_id"]
    notice = f"{clean(planner)} is notified" if planner is not None else "the run has no planner to notify"
    _show(answer, f"The note is in the history of {clean(answer['workflow_id'])}; {notice}.")


def show_question(answer: Mapping[str, Json], _: Mapping[str, Any]) -> None:
    """Print for whose answer the question waits, and until when."""
    waits = f"waits for an answer of {clean(answer['asked'])} until {clean(answer['waits_until'])}"
    _show(answer, f"Question {clean(answer['question_id'])} of {clean(answer['workflow_id'])} {waits}.")


def show_reply(answer: Mapping[str, Json], _: Mapping[str, Any]) -> None:
    """Print who answered which question, and which agent was notified."""
    question = f"question {clean(answer['question_id'])} of {clean(answer['workflow_id'])}"
    _show(answer, f"{clean(answer['answered_by'])} answered {question}; {clean(answer['asked_by'])} is notified.")


def show_correction(answer: Mapping[str, Json], call: Mapping[str, Any]) -> None:
    """Print which result is corrected, and which states will get it."""
    follow = answer["next_states"]
    followers = f"; {clean(', '.join(follow))} will get it" if follow else ""
    _show(answer, f"The result of {clean(call['state'])} of {clean(answer['workflow_id'])} is corrected{followers}.")


def _show(answer: Mapping[str, Json], sentence: str) -> None:
    typer.echo(sentence)
    if answer["repeated"]:
        say(f"That was done before{BEFORE.removeprefix(',')}.")
