"""Puts answers into the words of lists: where a verb is on no list, the merged tool that stands for it is named.

Verbs and their answers know nothing of merged tools. What leaves for a model passes here once.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Final

from dcf.core.access.model import Scope
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.verbs.description.table import TABLE
from dcf.verbs.merged.choices import Call, Choice
from dcf.verbs.merged.merges import MERGES, REPLACED

_CHOICES: Final[Mapping[str, tuple[tuple[str, Choice], ...]]] = {
    verb: tuple((merge.name, choice) for merge in MERGES for choice in merge.choices if choice.verb == verb)
    for verb in {choice.verb for merge in MERGES for choice in merge.choices}
}
RETIRED: Final = (frozenset(_CHOICES) | frozenset(REPLACED)) - {merge.name for merge in MERGES}
"""Verbs that merged tools stand for: programs call them by name, and no list has them."""

_NAMED: Final = rf"(?<!['\w])({'|'.join(sorted(RETIRED))})\b(?:\((\w+)=(\w+)\)| with (\w+)=(\w+))?"
"""Compiled when it is first used, and kept by `re`: a server starts without."""
_WORDS: Final[Mapping[str, Json]] = {"true": True, "false": False}


def offered(verb: str, arguments: Mapping[str, Json]) -> Call:
    """Return the call of a tool on a list that does what a call of a verb does."""
    if verb in REPLACED:
        choice = REPLACED[verb]
        return choice.verb, {**choice.outer(arguments), **choice.fixed}
    fitting = [(name, choice) for name, choice in _CHOICES.get(verb, ()) if choice.makes(arguments)]
    if not fitting:
        return verb, dict(arguments)
    name, choice = max(fitting, key=lambda item: _closeness(item[1], arguments))
    return name, choice.outer(arguments)


def _closeness(choice: Choice, arguments: Mapping[str, Json]) -> tuple[bool, bool]:
    """Rate a choice for a call: what it fixes is sent, else it fixes nothing; of the same rate the first counts."""
    sent = bool(choice.fixed) and all(name in arguments for name in choice.fixed)
    return sent, not choice.fixed


def former_names() -> Mapping[str, tuple[str, str]]:
    """Return for each verb that is on no list any more the tool that stands for it, and how it is called."""
    return {verb: (offered(verb, {})[0], call_of(verb, None, None)) for verb in sorted(RETIRED)}


def in_tools(text: str) -> str:
    """Return a text with the tools of lists in place of verbs that are on none."""
    return re.sub(_NAMED, _named, text)


def _named(match: re.Match[str]) -> str:
    verb, name, value = match[1], match[2] or match[4], match[3] or match[5]
    return call_of(verb, name, value)


@cache
def call_of(verb: str, name: str | None, value: str | None) -> str:
    """Return how a call of a verb, with an argument or without, is named in a text."""
    sent: dict[str, Json] = {} if name is None or value is None else {name: _WORDS.get(value, value)}
    tool, arguments = offered(verb, sent)
    given = next((choice.given for _, choice in _CHOICES.get(verb, ()) if choice.given), ())
    written = [f"{key}={_written(item)}" for key, item in arguments.items()]
    told = written if tool == verb else [*written, *given]
    return f"{tool}({', '.join(told)})" if told else tool


def _written(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@record(frozen=True, slots=True)
class Asked:
    """A call of a model: the tool that it called, the verb that was meant, and what the caller may do and is shown."""

    tool: str
    verb: str
    scopes: AbstractSet[Scope]
    shown: AbstractSet[str]


def as_listed(payload: Mapping[str, Json], asked: Asked) -> Mapping[str, Json]:
    """Return an answer in the words of lists; calls of tools that are not shown are left out.

    Who calls what is not shown knows of more tools than those.
    """
    code, told = payload["code"], {name: payload[name] for name in ("error", "hint") if payload.get(name) is not None}
    own = _own_names(asked.tool, asked.verb) if code == "invalid_argument" else {}
    texts: dict[str, Json] = {name: in_tools(_renamed(text, own)) for name, text in told.items()}
    if code == "forbidden" and (ways := _open_ways(asked)):
        texts["hint"] = f"{texts['hint']} This key may call {asked.tool} {ways}."
    if "findings" in payload:
        texts["findings"] = [_advised(finding) for finding in payload["findings"] or ()]
    if payload.get("next") is None:
        return {**payload, **texts}
    steps = map(_step, payload["next"])
    listed = [step for step in steps if step["tool"] in asked.shown or asked.tool not in asked.shown]
    return {**payload, **texts, "next": listed}


@cache
def _own_names(tool: str, verb: str) -> Mapping[str, str]:
    """Return the merged tool's names of the verb's arguments, where they differ."""
    choices = (choice for name, choice in _CHOICES.get(verb, ()) if name == tool)
    return {inner: name for choice in choices for inner, name in choice.outer_names.items()}


def _open_ways(asked: Asked) -> str:
    """Return in what other ways the caller may call the tool."""
    others = (choice for merge in MERGES if merge.name == asked.tool for choice in merge.choices)
    ways = (choice.said() for choice in others if TABLE[choice.verb].scope in asked.scopes)
    return ", or ".join(f"with {way}" for way in dict.fromkeys(ways) if way)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    if not names:
        return text
    return re.sub(rf"\b({'|'.join(names)})\b", lambda match: names[match[1]], text)


def _advised(finding: Json) -> Json:
    """Return a finding whose remedy is the call of a tool on a list."""
    remedy = finding.get("remedy")
    if not isinstance(remedy, dict):
        return finding
    tool, arguments = offered(remedy["call"]["tool"], remedy["call"]["arguments"])
    call = {**remedy["call"], "tool": tool, "arguments": arguments}
    return {**finding, "remedy": {**remedy, "sentence": in_tools(remedy["sentence"]), "call": call}}


def _step(step: Mapping[str, Json]) -> dict[str, Json]:
    tool, arguments = offered(step["tool"], step["arguments"])
    return {**step, "tool": tool, "arguments": arguments, "why": in_tools(step["why"])}
