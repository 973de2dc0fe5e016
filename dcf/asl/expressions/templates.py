"""Payload templates (Parameters, ResultSelector, Assign …): JSON in which some values are read from elsewhere.

A template is compiled once. All documents rendered from it share its constant parts. So a rendered document must
not be changed in place, like every other document here.
"""

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple, Protocol

from dcf.asl.expressions.intrinsic_syntax import Call, parse_call, variables_of
from dcf.asl.expressions.paths import Path, parse_path
from dcf.asl.limits import least_size
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip


class Template(Protocol):
    """A compiled template: makes a JSON value from a document and its surroundings."""

    def render(self, document: Json, around: Surroundings, /) -> Json:
        """Return the rendered value; raise StateError when a value that it reads is missing."""


class TemplateProblem(NamedTuple):
    """A problem of a template, and the keys that lead to its place."""

    trail: tuple[str, ...]
    code: str
    message: str


@record(frozen=True, slots=True, kw_only=True)
class Literal:
    """A constant part of a template."""

    value: Json

    def render(self, _document: Json, _around: Surroundings, /) -> Json:
        """Return the constant."""
        return self.value


@record(frozen=True, slots=True, kw_only=True)
class PathReference:
    """The value of a `.$` key; `key` is as written, for messages.

    `makes`: the value is made here, not a part of the document. Many of them are limited before the template is built.
    """

    key: str
    source: Path | Call
    makes: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        makes = isinstance(self.source, Call) or self.source.search is not None
        object.__setattr__(self, "makes", makes)

    def render(self, document: Json, around: Surroundings, /) -> Json:
        """Return the value at the path, or of the intrinsic function."""
        try:
            rendered = self.source.render(document, around)
            if self.makes:
                around.spending.build(least_size(rendered))
        except StateError as error:
            raise StateError(error.error, f"The field '{self.key}': {error.cause}") from None
        return rendered


@record(frozen=True, slots=True, kw_only=True)
class ObjectTemplate:
    """An object with at least one part that is not constant."""

    members: tuple[tuple[str, Template], ...]

    def render(self, document: Json, around: Surroundings, /) -> Json:
        """Return a new object."""
        return {name: part.render(document, around) for name, part in self.members}


@record(frozen=True, slots=True, kw_only=True)
class ArrayTemplate:
    """An array with at least one part that is not constant."""

    items: tuple[Template, ...]

    def render(self, document: Json, around: Surroundings, /) -> Json:
        """Return a new array."""
        return [part.render(document, around) for part in self.items]


def compile_template(body: Json, problems: list[TemplateProblem], trail: tuple[str, ...] = ()) -> Template:
    """Compile JSON whose depth was already checked; problems are appended to `problems`."""
    if isinstance(body, dict):
        return _object(body, problems, trail)
    if isinstance(body, list):
        return gather(body, [compile_template(item, problems, (*trail, str(at))) for at, item in enumerate(body)])
    return Literal(value=body)


def gather(body: Json, parts: list[Template]) -> Template:
    """Return an array of compiled parts; a single literal when all of them are constant."""
    literal = all(isinstance(part, Literal) for part in parts)
    return Literal(value=body) if literal else ArrayTemplate(items=tuple(parts))


def read_reference(text: str) -> Path | Call:
    """Compile the value of a `.$` key; raise ValueError with the reason when it is invalid."""
    return parse_path(text) if text.startswith("$") else parse_call(text)


def variables_read(template: Template | None) -> Iterator[str]:
    """Yield the names of the variables that a compiled JSONPath template reads."""
    match template:
        case Path(variable=str() as name):
            yield name
        case Call():
            yield from variables_of(template)
        case PathReference(source=source):
            yield from variables_read(source)
        case ObjectTemplate(members=members):
            for _, part in members:
                yield from variables_read(part)
        case ArrayTemplate(items=items):
            for part in items:
                yield from variables_read(part)
        case _:
            return


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
    literal = all(isinstance(part, Literal) for part in members.values()) and len(members) == len(body)
    unchanged = literal and all(key in members for key in body)
    return Literal(value=body) if unchanged else ObjectTemplate(members=tuple(members.items()))


def _reference(key: str, value: Json, problems: list[TemplateProblem], trail: tuple[str, ...]) -> Template:
    if not isinstance(value, str):
        message = f"'{clip(key)}' needs a string that holds a path or calls an intrinsic function"
        problems.append(TemplateProblem(trail, "wrong_type", message))
        return Literal(value=None)
    try:
        return PathReference(key=key, source=read_reference(value))
    except ValueError as error:
        problems.append(TemplateProblem(trail, "invalid_path", str(error)))
    return Literal(value=None)


def written_members(template: Template | None) -> frozenset[str] | None:
    """Return the names of the members of an object; None where that is no object, or follows from data."""
    match template:
        case Literal(value=dict(found)):
            return frozenset(found)
        case ObjectTemplate(members=members):
            return frozenset(dict(members))
    return None
