"""The templates of JSONata mode: JSON in which every string `{% … %}` is an expression.

Keys are never evaluated. The variables of an expression depend on its place: `$states.result` only where there is a
result, `$states.errorOutput` only in a Catcher.
"""

from dataclasses import field
from typing import Final

from dcf.asl.expressions.templates import Literal, ObjectTemplate, Template, TemplateProblem, gather
from dcf.asl.jsonata.expressions import Compiled, Query, compile_expression
from dcf.asl.jsonata.text import refusals
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

OPENING: Final = "{%"
CLOSING: Final = "%}"
_GUARDED: Final = ("result", "errorOutput")


@record(frozen=True, slots=True, kw_only=True)
class Compiler:
    """Compiles the templates of one field; problems and the variables read are added to its lists."""

    allowed: frozenset[str] = frozenset()
    problems: list[TemplateProblem] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)

    def compile(self, body: Json, place: str, trail: tuple[str, ...] = ()) -> Template:
        """Compile JSON whose depth was already checked; `place` is the field's name in messages."""
        if isinstance(body, str):
            return self._string(body, place, trail)
        if isinstance(body, list):
            parts = [self.compile(item, f"{place}[{at}]", (*trail, str(at))) for at, item in enumerate(body)]
            return gather(body, parts)
        if isinstance(body, dict):
            members = {name: self.compile(item, f"{place}/{name}", (*trail, name)) for name, item in body.items()}
            literal = all(isinstance(part, Literal) for part in members.values())
            return Literal(value=body) if literal else ObjectTemplate(members=tuple(members.items()))
        return Literal(value=body)

    def _string(self, text: str, place: str, trail: tuple[str, ...]) -> Template:
        opened, closed = text.startswith(OPENING), text.endswith(CLOSING)
        if not opened and not closed:
            return Literal(value=text)
        if not (opened and closed and len(text) >= len(OPENING + CLOSING)):
            message = f"'{clip(text)}' must begin with {OPENING} and end with {CLOSING}, or have neither"
            self.problems.append(TemplateProblem(trail, "invalid_expression", message))
            return Literal(value=None)
        try:
            compiled = compile_expression(text[len(OPENING) : -len(CLOSING)].strip())
        except ValueError as error:
            self.problems.append(TemplateProblem(trail, "invalid_expression", f"'{clip(text)}': {error}"))
            return Literal(value=None)
        self._judge(compiled, trail)
        return Query(field=place, compiled=compiled)

    def _judge(self, compiled: Compiled, trail: tuple[str, ...]) -> None:
        reasons = refusals(compiled.text)
        if compiled.reads_input:
            reasons.append("there is no input document: read $states.input or a variable")
        for name in _GUARDED:
            if name not in self.allowed and name in (compiled.states or ()):
                reasons.append(f"$states.{name} is not available here")
        for reason in reasons:
            message = f"'{clip(compiled.text)}': {reason}"
            self.problems.append(TemplateProblem(trail, "invalid_expression", message))
        self.variables.update(compiled.variables)
