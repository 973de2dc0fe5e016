"""Reading one JSON object of a definition, field by field.

Every reader notes what is wrong and carries on, so that one look at a definition finds all its problems.
It answers something of the right type even then: whoever reads a definition looks at the problems first.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from dcf.asl.path_syntax import UnsupportedPathError, clip
from dcf.asl.paths import ROOT, Path, parse_path
from dcf.asl.templates import Template, TemplateProblem, compile_template
from dcf.core.json_text import Json
from dcf.errors import Problem

SCOPE = "dcf runs Task, Pass, Choice, Succeed and Fail with JSONPath reference paths so far."

_Kind = TypeVar("_Kind")


def token(name: str) -> str:
    """One step of a JSON Pointer."""
    return name.replace("~", "~0").replace("/", "~1").encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """A JSON object, where it stands, how a message calls it, and where its problems go."""

    document: dict[str, Json]
    pointer: str
    owner: str
    problems: list[Problem]

    def report(self, tail: str, code: str, message: str, hint: str) -> None:
        """Record a problem at `tail`, a JSON Pointer from here."""
        self.problems.append(Problem(path=self.pointer + tail, code=code, message=message, hint=hint))

    def note(self, field: str | None, code: str, message: str, hint: str) -> None:
        """Record a problem of `field`, or of the whole object."""
        tail = "" if field is None else f"/{token(field)}"
        self.report(tail, code, f"{self.owner}: {message}", hint)

    def allow(self, known: Collection[str], later: Collection[str]) -> None:
        """Refuse fields that nobody would read: `later` ones are the language's but not dcf's yet."""
        for field in self.document:
            if field in later:
                self.note(field, "unsupported", f"the field {field} is not supported yet.", SCOPE)
            elif field not in known:
                hint = f"Remove it or correct its spelling; these belong here: {', '.join(sorted(known))}."
                self.note(field, "unknown_field", f"the field '{clip(field)}' does not belong here.", hint)

    def members(self, tail: str, value: Json, owner: str) -> "Fields | None":
        """Open the object `value` that stands at `tail`; None with a problem noted when it is none."""
        if isinstance(value, dict):
            return Fields(document=value, pointer=self.pointer + tail, owner=owner, problems=self.problems)
        message = f"{owner}: an object is needed here, not {kind(value)}."
        self.report(tail, "wrong_type", message, "Write a JSON object.")
        return None

    def value(self, field: str, wanted: type[_Kind], noun: str) -> _Kind | None:
        """Read the field's value when it is there and of the wanted type."""
        found = self.document.get(field)
        if isinstance(found, wanted):
            return found
        if field in self.document:
            self.note(field, "wrong_type", f"{field} must be {noun}, not {kind(found)}.", f"Give {field} as {noun}.")
        return None

    def text(self, field: str) -> str | None:
        """Read a string, or None."""
        return self.value(field, str, "a string")

    def required_text(self, field: str, hint: str) -> str:
        """Read a string that must be there and not be empty."""
        if field not in self.document or self.document[field] == "":
            self.note(field if field in self.document else None, "missing_field", f"{field} is missing.", hint)
        return self.text(field) or ""

    def choice(self, field: str, allowed: Iterable[str]) -> None:
        """Check a string that may have only a few values."""
        found = self.text(field)
        if found is not None and found not in allowed:
            values = ", ".join(allowed)
            self.note(field, "invalid_value", f"{field} cannot be '{clip(found)}'.", f"Use one of: {values}.")

    def path(self, field: str) -> Path | None:
        """Read a path, or None with a problem noted when it is not one."""
        text = self.text(field)
        if text is None:
            return None
        try:
            return parse_path(text)
        except UnsupportedPathError as error:
            self.note(field, "unsupported", f"{field}: {error}.", SCOPE)
        except ValueError as error:
            self.note(field, "invalid_path", f"{field}: {error}.", "Write a path such as $.order.id.")
        return None

    def selection(self, field: str) -> Path | None:
        """Read InputPath or OutputPath: the whole document by default, None for null."""
        if field not in self.document:
            return ROOT
        return None if self.document[field] is None else self.path(field)

    def destination(self, field: str) -> Path | None:
        """Read ResultPath: a place in the state's own input; None for null."""
        path = self.selection(field)
        if path is not None and (path.in_context or not path.plain):
            hint = "Name one place in the state's input, such as $.result; escape @ , : ? with a backslash."
            self.note(field, "invalid_path", f"{field} '{clip(path.text)}' is not a place to write to.", hint)
        return path

    def template(self, field: str) -> Template | None:
        """Compile a payload template, or None."""
        body = self.value(field, dict, "an object")
        if body is None:
            return None
        found: list[TemplateProblem] = []
        template = compile_template(body, found)
        for trail, code, reason in found:
            hint = SCOPE if code == "unsupported" else "A key that ends with .$ takes a path such as $.order.id."
            tail = "".join(f"/{token(step)}" for step in (field, *trail))
            self.report(tail, code, f"{self.owner}: {field}: {reason}.", hint)
        return template


def kind(value: Json) -> str:
    """Name the type of a JSON value, for a message."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
