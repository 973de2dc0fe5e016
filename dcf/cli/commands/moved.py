"""Earlier and guessed names of commands, with the present ones: loaded only for a word that names no command."""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.cli.command_table import DAILY, NOUNS, rows

_WITHOUT_NOUN: Final[Mapping[str, str]] = {
    "runs": (
        "export timeline top brief events search rerun prune usage budget signal open seal close delete"
        " hold pause resume notify finalize note"
    ),
    "states": "add rewind release resolve correct",
    "tasks": "reject answer ask reply",
    "gates": "decide override",
    "workflows": "language stub",
    "agents": "local tools",
    "store": "audit pulse",
}
"""The commands that had no noun before the first release, by the noun that they have now."""

MOVED: Final[Mapping[str, str]] = {
    **{word: f"{noun} {word}" for noun, words in _WITHOUT_NOUN.items() for word in words.split()},
    "trace export": "runs trace",
    "work": "states ls",
    "retry-unit": "states retry",
    "task success": "states succeed",
    "task failure": "states fail",
    "task heartbeat": "states heartbeat",
    "gates": "gates ls",
    "journal": "journal ls",
    "journal show": "journal ls",
    "artifacts put": "artifacts add",
    "artifacts get": "artifacts show",
    "artifacts list": "artifacts ls",
    "schedule create": "schedules add",
    "schedule list": "schedules ls",
    "schedule show": "schedules show",
    "schedule pause": "schedules pause",
    "schedule resume": "schedules resume",
    "schedule trigger": "schedules trigger",
    "schedule delete": "schedules delete",
    "findings search": "findings ls",
    "catalogue put": "catalogue add",
    "catalogue search": "catalogue ls",
    "projects put": "projects add",
    "projects get": "projects show",
    "projects list": "projects ls",
    "skills list": "skills ls",
    "agents list": "agents ls",
    "agents remove": "agents delete",
    "keys create": "keys add",
    "keys list": "keys ls",
    "context": "context show",
}
"""The name of each command that had another one before the first release, as the changelog has it."""

_SAME_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("list", "search", "find"), ("ls",)),
    **dict.fromkeys(("get", "describe", "view", "cat", "download"), ("show", "ls")),
    **dict.fromkeys(("create", "new", "put", "set", "register", "apply"), ("add",)),
    **dict.fromkeys(("delete", "remove", "rm"), ("delete", "revoke", "rm")),
}
"""The verbs of dcf for the verbs of other programs, with every noun."""

_ELSEWHERE: Final[Mapping[str, str]] = {"tasks ls": "inbox", "questions": "tasks", "people": "tasks"}
"""The command or noun that a user may look for under another name."""

_OF_RUNS: Final = ("runs", "tasks", "workflows", "agents")
"""The nouns of the daily commands."""


def meant(noun: str, words: Sequence[str]) -> str | None:
    """Return the command that words mean which name none, behind a noun or not; None if it is not clear."""
    names = {row.full_name for row in rows()}
    typed = [noun, *words] if noun else list(words)
    others = [f"{noun} {word}" for word in _SAME_WORDS.get(words[0], ())] if noun else []
    for name in (" ".join(typed[:2]), *others):
        if name in names:
            return name
        if name in MOVED or name in _ELSEWHERE:
            return MOVED.get(name) or _ELSEWHERE[name]
    if noun in _OF_RUNS and words[0] in DAILY:
        return words[0]
    first = typed[0]
    return MOVED.get(first) or _ELSEWHERE.get(first) or (f"{first}s" if f"{first}s" in NOUNS else None)
