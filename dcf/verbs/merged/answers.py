"""Puts answers into the words of lists, and leaves out next calls of tools that the model is not shown.

Verbs and their answers must not know merged tools. Every answer to a model passes here once.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from dcf.core.access.model import Scope
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.verbs.description.table import TABLE
from dcf.verbs.merged.merges import MERGES
from dcf.verbs.merged.naming import offered, outer_names
from dcf.verbs.wording.sentences import message_worded, worded
from dcf.verbs.wording.tools import Tools


@record(frozen=True, slots=True)
class Asked:
    """A call of a model: the tool that it called, the verb that was meant, and what the caller may do and is shown."""

    tool: str
    verb: str
    scopes: AbstractSet[Scope]
    shown: AbstractSet[str]


def as_listed(payload: Mapping[str, Json], request: Asked) -> Mapping[str, Json]:
    """Return an answer in the words of lists; calls of tools that are not shown are left out.

    A caller of a tool that is not shown may call it again. It gets all calls if the list has none of them.
    """
    texts = _texts(payload, request)
    if payload["code"] == "forbidden" and (ways := _open_ways(request)):
        texts["hint"] = f"{texts['hint']} This key may call {request.tool} {ways}."
    if isinstance(payload.get("language"), str):
        texts["language"] = worded(payload["language"], Tools())
    if "findings" in payload:
        texts["findings"] = [_advised(finding) for finding in payload["findings"] or ()]
    if payload.get("next") is None:
        return {**payload, **texts}
    steps = [_step(step) for step in payload["next"]]
    listed = [step for step in steps if step["tool"] in request.shown or step["tool"] == request.tool]
    return {**payload, **texts, "next": listed if listed or request.tool in request.shown else steps}


def _texts(payload: Mapping[str, Json], request: Asked) -> dict[str, Json]:
    """Return the sentences of an answer. Those about a wrong argument have its name without backticks."""
    language, names = Tools(request.tool), outer_names(request.tool, request.verb)
    is_about_arguments = payload["code"] == "invalid_argument"
    sentences = {name: payload[name] for name in ("status", "error", "hint") if isinstance(payload.get(name), str)}
    bare = {"error", "hint"} if is_about_arguments else {"error"}
    return {
        name: message_worded(text, language, request.verb, names if is_about_arguments else ())
        if name in bare
        else worded(text, language, request.verb)
        for name, text in sentences.items()
    }


def _open_ways(request: Asked) -> str:
    """Return in what other ways the caller may call the tool."""
    others = (choice for merge in MERGES if merge.name == request.tool for choice in merge.choices)
    ways = (choice.in_words() for choice in others if TABLE[choice.verb].scope in request.scopes)
    return ", or ".join(f"with {way}" for way in dict.fromkeys(ways) if way)


def _advised(finding: Json) -> Json:
    """Return a finding whose remedy is the call of a tool on a list."""
    remedy = finding.get("remedy")
    if not isinstance(remedy, dict):
        return finding
    tool, arguments = offered(remedy["call"]["tool"], remedy["call"]["arguments"])
    call = {**remedy["call"], "tool": tool, "arguments": arguments}
    return {**finding, "remedy": {**remedy, "sentence": worded(remedy["sentence"], Tools()), "call": call}}


def _step(step: Mapping[str, Json]) -> dict[str, Json]:
    tool, arguments = offered(step["tool"], step["arguments"])
    return {**step, "tool": tool, "arguments": arguments, "why": worded(step["why"], Tools())}
