"""Payload templates (Parameters, ResultSelector): JSON in which some values are read from a document.

A template is compiled once; the parts that read nothing are shared by everything rendered from it, so a
rendered document must not be changed in place, like every other document here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dcf.asl.path_syntax import UnsupportedPathError, clip
from dcf.asl.paths import Path, parse_path
from dcf.core.json_text import Json
from dcf.errors import StateError


class Template(Protocol):
    """Something that makes a JSON value out of a document and the context object."""

    def render(self, document: Json, context: Mapping[str, Json], /) -> Json:
        """Make the value; raise StateError when a path finds nothing."""


class TemplateProblem(NamedTuple):
    """What is wrong with a template, and the keys that lead there."""

    trail: tuple[str, ...]
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A part that reads nothing."""

    value: Json

    def render(self, _document: Json, _context: Mapping[str, Json], /) -> Json:
        """Return the same value every time."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The value of a `.$` key; `key` is as written, for the message."""

    key: str
    path: Path

    def render(self, document: Json, context: Mapping[str, Json], /) -> Json:
        """Read what the path finds."""
        try:
            return self.path.read(document, context)
        except StateError as error:
            raise StateError(error.error, f"The field '{self.key}': {error.cause}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectTemplate:
    """An object with at least one part that reads."""

    members: tuple[tuple[str, Template], ...]

    def render(self, document: Json, context: Mapping[str, Json], /) -> Json:
        """Make a new object."""
        return {name: part.render(document, context) for name, part in self.members}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayTemplate:
    """An array with at least one part that reads."""

    items: tuple[Template, ...]

    def render(self, document: Json, context: Mapping[str, Json], /) -> Json:
        """Make a new array."""
        return [part.render(document, context) for part in self.items]


def compile_template(body: Json, problems: list[TemplateProblem], trail: tuple[str, ...] = ()) -> Template:
    """Compile JSON whose depth is already bounded; what is wrong is added to `problems`."""
    if isinstance(body, dict):
        return _object(body, problems, trail)
    if isinstance(body, list):
        items = tuple(compile_template(item, problems, (*trail, str(at))) for at, item in enumerate(body))
        literal = all(isinstance(item, Literal) for item in items)
        return Literal(value=body) if literal else ArrayTemplate(items=items)
    return Literal(value=body)


def _object(body: dict[str, Json], problems: list[TemplateProblem], trail: tuple[str, ...]) -> Template:
    members: dict[str, Template] = {}
    for key, value in body.items():
        name = key.removesuffix(".$")
        if name in members:
            message = f"two keys become '{clip(name)}' once .$ is taken off"
            problems.append(TemplateProblem((*trail, key), "duplicate_field", message))
        members[name] = (
            compile_template(value, problems, (*trail, key))
            if name == key
            else _reference(key, value, problems, (*trail, key))
        )
    literal = all(isinstance(part, Literal) for part in members.values())
    return Literal(value=body) if literal else ObjectTemplate(members=tuple(members.items()))


def _reference(key: str, value: Json, problems: list[TemplateProblem], trail: tuple[str, ...]) -> Template:
    if not isinstance(value, str):
        message = f"'{clip(key)}' needs a string that holds a path"
        problems.append(TemplateProblem(trail, "wrong_type", message))
        return Literal(value=None)
    try:
        return Reference(key=key, path=parse_path(value))
    except UnsupportedPathError as error:
        problems.append(TemplateProblem(trail, "unsupported", str(error)))
    except ValueError as error:
        problems.append(TemplateProblem(trail, "invalid_path", str(error)))
    return Literal(value=None)
