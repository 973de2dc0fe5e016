"""Answers that depend on the call: `{{ … }}` in the texts of a case's responseTemplate.

    {{ args.a.b }} or {{ a.b }}   a value of the arguments
    {{ now_iso }}                 the time, ISO 8601 in UTC
    {{ uuid }}                    a new UUID
    {{ random_int(1, 6) }}        a whole number between two bounds, both included

A text that is only one expression becomes that value and keeps its type. Time and randomness come from the caller.
"""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.asl.surroundings import Chance
from dcf.stub.matching import compile_path, text_of
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

_EXPRESSION: Final = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_RANDOM_INT: Final = re.compile(r"random_int\(\s*(-?[0-9]{1,9})\s*,\s*(-?[0-9]{1,9})\s*\)")


class TemplateFailed(Exception):
    """The call's arguments lack a value that the template uses; the text names it."""


@record(frozen=True, slots=True, kw_only=True)
class Occasion:
    """The data that a template may use: arguments of the call, the time (ISO 8601), and the tool's random numbers."""

    arguments: Json
    now: str
    chance: Chance


Rendering: TypeAlias = Callable[[Occasion], Json]
"""Renders the answer to a call; raises TemplateFailed."""


def compile_template(template: Json) -> Rendering:
    """Compile all texts of a template; raise ValueError with a reason for people."""
    if isinstance(template, str):
        return _text(template)
    if isinstance(template, list):
        items = [compile_template(item) for item in template]
        return lambda occasion: [item(occasion) for item in items]
    if isinstance(template, dict):
        members = {name: compile_template(part) for name, part in template.items()}
        return lambda occasion: {name: part(occasion) for name, part in members.items()}
    return lambda _: template


def _text(text: str) -> Rendering:
    whole = _EXPRESSION.fullmatch(text.strip())
    if whole is not None and "{{" not in whole[1]:
        return _expression(whole[1].strip())
    pieces: list[Rendering] = []
    end = 0
    for match in _EXPRESSION.finditer(text):
        pieces += [_literal(text[end : match.start()]), _expression(match[1].strip())]
        end = match.end()
    pieces.append(_literal(text[end:]))
    return lambda occasion: "".join(text_of(piece(occasion)) for piece in pieces)


def _literal(text: str) -> Rendering:
    return lambda _: text


def _expression(text: str) -> Rendering:
    if text == "now_iso":
        return lambda occasion: occasion.now
    if text == "uuid":
        return lambda occasion: occasion.chance.uuid()
    bounds = _RANDOM_INT.fullmatch(text)
    if bounds is not None:
        return _random_int(int(bounds[1]), int(bounds[2]))
    if not text or "(" in text:
        raise ValueError(f"'{clip(text)}' is none of now_iso, uuid, random_int(a, b) and a path into args")
    return _argument(text)


def _random_int(low: int, high: int) -> Rendering:
    if low > high:
        raise ValueError(f"random_int({low}, {high}) has its bounds the wrong way round")
    return lambda occasion: low + int(occasion.chance.fraction() * (high - low + 1))


def _argument(path: str) -> Rendering:
    read = compile_path("$" if path == "args" else path.removeprefix("args."))

    def render(occasion: Occasion) -> Json:
        values = read(occasion.arguments)
        if not values:
            raise TemplateFailed(f"the arguments have no '{clip(path)}'")
        return values[0]

    return render
