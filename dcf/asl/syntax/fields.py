"""Reads one JSON object of a definition, field by field. Pure.

Every reader records problems and continues, so that one pass finds all problems of a definition. A reader returns a
value of the right type even for a wrong field. So callers must check the problems before they use a value.
"""

from collections.abc import Collection, Iterable
from dataclasses import field
from typing import TypeVar

from dcf.asl.expressions.intrinsic_syntax import Call
from dcf.asl.expressions.paths import ROOT, Path, parse_path
from dcf.asl.expressions.query_templates import OPENING, Compiler
from dcf.asl.expressions.templates import (
    Literal,
    Template,
    TemplateProblem,
    compile_template,
    read_reference,
    variables_read,
)
from dcf.errors import Problem
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip

MAX_SECONDS = 99_999_999

_Kind = TypeVar("_Kind")


def token(name: str) -> str:
    """Return one step of a JSON Pointer, escaped."""
    return name.replace("~", "~0").replace("/", "~1").encode("utf-8", "replace").decode()


@record(frozen=True, slots=True, kw_only=True)
class Findings:
    """The problems and warnings found while reading a definition; `reads` lists which variables are read where."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    reads: list[tuple[str, frozenset[str]]] = field(default_factory=list)


@record(frozen=True, slots=True, kw_only=True)
class DefinitionFields:
    """A JSON object of a definition: its place, its name in messages, its query language, and where problems go."""

    document: dict[str, Json]
    pointer: str
    owner: str
    findings: Findings
    jsonata: bool = False

    def report(self, tail: str, code: str, message: str, hint: str) -> None:
        """Record a problem at `tail`, a JSON Pointer from here."""
        self.findings.problems.append(Problem(path=self.pointer + tail, code=code, message=message, hint=hint))

    def warn(self, tail: str, code: str, message: str, hint: str) -> None:
        """Record a warning at `tail`; a definition with warnings can still run."""
        problem = Problem(path=self.pointer + tail, code=code, message=f"{self.owner}: {message}", hint=hint)
        self.findings.warnings.append(problem)

    def note(self, name: str | None, code: str, message: str, hint: str) -> None:
        """Record a problem with the field `name`, or with the whole object."""
        tail = "" if name is None else f"/{token(name)}"
        self.report(tail, code, f"{self.owner}: {message}", hint)

    def allow(self, known: Collection[str], elsewhere: Collection[str] = ()) -> None:
        """Report unknown fields; those `elsewhere` belong to the other query language."""
        for name in self.document:
            if name in known:
                continue
            if name in elsewhere:
                language = "JSONata" if self.jsonata else "JSONPath"
                hint = "Remove it, or change the state's QueryLanguage."
                self.note(name, "wrong_language", f"the field {name} has no place in {language} mode.", hint)
            else:
                hint = f"Remove it or correct its spelling; these belong here: {', '.join(sorted(known))}."
                self.note(name, "unknown_field", f"the field '{clip(name)}' does not belong here.", hint)

    def members(self, tail: str, value: Json, owner: str) -> "DefinitionFields | None":
        """Return the object `value` at `tail`; report a problem and return None when it is no object."""
        if isinstance(value, dict):
            pointer = self.pointer + tail
            return DefinitionFields(
                document=value, pointer=pointer, owner=owner, findings=self.findings, jsonata=self.jsonata
            )
        message = f"{owner}: an object is needed here, not {kind(value)}."
        self.report(tail, "wrong_type", message, "Write a JSON object.")
        return None

    def part(self, name: str) -> "DefinitionFields | None":
        """Return the object in a field; None when there is no such field."""
        if name not in self.document:
            return None
        return self.members(f"/{token(name)}", self.document[name], f"{self.owner}, {name}")

    def value(self, name: str, python_type: type[_Kind], noun: str) -> _Kind | None:
        """Return the field's value; None when it is missing or of another type."""
        member = self.document.get(name)
        if isinstance(member, python_type):
            return member
        if name in self.document:
            self.note(name, "wrong_type", f"{name} must be {noun}, not {kind(member)}.", f"Give {name} as {noun}.")
        return None

    def text(self, name: str) -> str | None:
        """Read a string, or None."""
        return self.value(name, str, "a string")

    def required_text(self, name: str, hint: str) -> str:
        """Read a required string that must not be empty."""
        if name not in self.document or self.document[name] == "":
            self.note(name if name in self.document else None, "missing_field", f"{name} is missing.", hint)
        return self.text(name) or ""

    def choice(self, name: str, allowed: Iterable[str]) -> str | None:
        """Read a string that must be one of the allowed values."""
        text = self.text(name)
        if text is not None and text not in allowed:
            values = ", ".join(allowed)
            self.note(name, "invalid_value", f"{name} cannot be '{clip(text)}'.", f"Use one of: {values}.")
        return text

    def whole(self, name: str, least: int, most: int | None = None) -> int | None:
        """Read an integer within limits, or None."""
        whole = self.document.get(name)
        if name not in self.document or self.fits(name, whole, least, most):
            return whole
        return None

    def fits(self, name: str, document: Json, least: float, most: float | None, *, fraction: bool = False) -> bool:
        """Return True if a literal number is within the limits; report a problem otherwise."""
        number_type = int | float if fraction else int
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        noun = f"{'a number' if fraction else 'an integer'} {limits}"
        if isinstance(document, bool) or not isinstance(document, number_type):
            self.note(name, "wrong_type", f"{name} must be {noun}, not {kind(document)}.", f"Give {name} as {noun}.")
            return False
        if document < least or (most is not None and document > most):
            self.note(name, "invalid_value", f"{name} must be {noun}.", f"Give {name} as {noun}.")
            return False
        return True

    def path(self, name: str) -> Path | None:
        """Read a path; report a problem and return None when it is not one."""
        text = self.text(name)
        if text is None:
            return None
        try:
            path = parse_path(text)
        except ValueError as error:
            self.note(name, "invalid_path", f"{name}: {error}.", "Write a path such as $.order.id.")
            return None
        self._remember(path, name)
        return path

    def reference(self, name: str) -> Path | None:
        """Read a reference path, which selects exactly one value."""
        path = self.path(name)
        if path is not None and path.search is not None:
            hint = "Name one value, such as $.order.id."
            self.note(name, "invalid_path", f"{name} '{clip(path.text)}' may select several values.", hint)
        return path

    def selection(self, name: str) -> Path | None:
        """Read InputPath or OutputPath: the whole document by default, None for null."""
        if name not in self.document:
            return ROOT
        return None if self.document[name] is None else self.path(name)

    def destination(self, name: str) -> Path | None:
        """Read ResultPath: a place in the state's own input; None for null."""
        path = self.selection(name)
        if path is not None and not (path.in_document and path.plain):
            hint = "Name one place in the state's input, such as $.result; escape @ , : ? with a backslash."
            self.note(name, "invalid_path", f"{name} '{clip(path.text)}' is not a place to write to.", hint)
        return path

    def source(self, name: str) -> Path | Call | None:
        """Read a path or a call of an intrinsic function."""
        text = self.text(name)
        if text is None:
            return None
        try:
            reference = read_reference(text)
        except ValueError as error:
            hint = "Write a path such as $.order.id, or a call such as States.UUID()."
            self.note(name, "invalid_path", f"{name}: {error}.", hint)
            return None
        self._remember(reference, name)
        return reference

    def template(self, name: str) -> Template | None:
        """Compile a payload template of JSONPath mode, or None."""
        body = self.value(name, dict, "an object")
        if body is None:
            return None
        template_problems: list[TemplateProblem] = []
        template = compile_template(body, template_problems)
        self._report_all(
            name, template_problems, "A key that ends with .$ takes a path such as $.order.id, or States.UUID()."
        )
        self._remember(template, name)
        return template

    def query(self, name: str, *allowed: str, place: str | None = None) -> Template | None:
        """Compile any JSON with JSONata expressions in it; `allowed` parts of $states besides input and context."""
        if name not in self.document:
            return None
        compiler = Compiler(allowed=frozenset(allowed))
        template = compiler.compile(self.document[name], place or name)
        self._report_all(name, compiler.problems, "Write an expression such as {% $states.input.order %}.")
        if compiler.variables:
            self.findings.reads.append((f"{self.pointer}/{token(name)}", frozenset(compiler.variables)))
        return template

    def is_expression(self, name: str) -> bool:
        """Return True if the field holds a JSONata expression, and may hold one."""
        member = self.document.get(name)
        return self.jsonata and isinstance(member, str) and member.startswith(OPENING)

    def number(self, name: str, least: float, most: float | None = None, *, fraction: bool = False) -> Template | None:
        """Read a number: a literal, a path in the field's `…Path` variant, or a JSONata expression."""
        twin = f"{name}Path"
        if not self.jsonata and twin in self.document:
            self.exclusive(name, twin)
            return self.reference(twin)
        if self.is_expression(name):
            return self.query(name)
        if name in self.document and self.fits(name, self.document[name], least, most, fraction=fraction):
            return Literal(value=self.document[name])
        return None

    def exclusive(self, *names: str) -> None:
        """Report all but the first of several fields that exclude each other."""
        present = [name for name in names if name in self.document]
        for name in present[1:]:
            message = f"{present[0]} and {name} exclude each other."
            self.note(name, "conflicting_fields", message, "Keep one of the two.")

    def _report_all(self, name: str, problems: list[TemplateProblem], hint: str) -> None:
        for trail, code, reason in problems:
            tail = "".join(f"/{token(step)}" for step in (name, *trail))
            self.report(tail, code, f"{self.owner}: {name}: {reason}.", hint)

    def _remember(self, template: Template, name: str) -> None:
        names = frozenset(variables_read(template))
        if names:
            self.findings.reads.append((f"{self.pointer}/{token(name)}", names))


def kind(value: Json) -> str:
    """Return the name of a JSON value's type, for messages."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
