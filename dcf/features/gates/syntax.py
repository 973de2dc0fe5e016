"""Reads gates as they are written: in the field Gates of a Task, in a unit, or for a whole run. Pure.

One function reads all of these, so that the same text means the same everywhere.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dcf.asl.json_schema.syntax import flaws_of as flaws_of_schema
from dcf.asl.resources import Resource
from dcf.asl.syntax.fields import DefinitionFields, kind
from dcf.asl.tasks.askees import read_askees
from dcf.asl.tasks.extensions import LanguageOffer, TaskField
from dcf.asl.tasks.gates import GATES
from dcf.errors import InvalidArgument
from dcf.features.gates.gate import KINDS, THENS, Gate
from dcf.values.identifiers import check_id, check_name
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip

MOST_GATES: Final = 10
"""Most gates of a Task, and of a whole run."""

MOST_CRITERIA: Final = 20
LONGEST_CRITERION: Final = 500
LONGEST_COMMAND: Final = 2000
MOST_REVIEWERS: Final = 20
MOST_ATTEMPTS: Final = 100
LONGEST_WAIT_S: Final = 30 * 86_400
_LONGEST_NAME: Final = 64

HINT: Final = (
    'Write gates as [{"name": "tests", "kind": "command", "command": "make test"}, '
    '{"name": "review", "kind": "review", "criteria": ["Every claim has a source."], "reviewers": ["rita"]}].'
)

Flaws = list[tuple[str, str]]


def read_gates(value: Json) -> tuple[tuple[Gate, ...], Flaws]:
    """Return the gates, and what is wrong with them: each as the place, a JSON Pointer, and what it is."""
    if not isinstance(value, list) or len(value) > MOST_GATES:
        return (), [("", f"gates must be an array of at most {MOST_GATES} objects")]
    flaws: Flaws = []
    gates: list[Gate] = []
    for at, document in enumerate(value):
        gate, wrong = _read(document)
        flaws += [(f"/{at}{tail}", message) for tail, message in wrong]
        gates += [] if gate is None else [gate]
    names = [gate.name for gate in gates]
    flaws += [("", f"two gates are called '{name}'") for name in dict.fromkeys(names) if names.count(name) > 1]
    return tuple(gates), flaws


def gates_of_task(fields: DefinitionFields, served_by: Resource) -> tuple[Gate, ...]:
    """Read the field Gates of a Task, and report what is wrong with it."""
    if served_by.kind != "work":
        message = "Gates has no place in a Task whose output no agent delivers with a lease."
        fields.note("Gates", "conflicting_fields", message, "Remove the field.")
    gates, flaws = read_gates(fields.document["Gates"])
    for tail, message in flaws:
        fields.report(f"/Gates{tail}", "invalid_gate", f"{fields.owner}: Gates: {message}.", HINT)
    return () if flaws else gates


def gates_of_run(written: Json) -> tuple[Gate, ...]:
    """Read the gates that a run was started with, as they were stored."""
    return read_gates(written)[0]


OFFER: Final = LanguageOffer(fields=(TaskField(name=GATES, read=gates_of_task),), gates_of_run=gates_of_run)
"""The field of a Task that lists its gates."""


def gates_given(value: Json, field: str = "gates") -> tuple[Gate, ...]:
    """Read gates that a caller gives; raise InvalidArgument with the first thing that is wrong with them."""
    gates, flaws = read_gates(value)
    if flaws:
        tail, message = flaws[0]
        raise InvalidArgument(f"{field}{tail}: {message}.", HINT)
    return gates


def _read(written: Json) -> tuple[Gate | None, Flaws]:
    if not isinstance(written, dict):
        return None, [("", f"a gate must be an object, not {kind(written)}")]
    fields: dict[str, Any] = {}
    flaws: Flaws = [("", f"a gate needs {name}") for name in ("name", "kind") if name not in written]
    for name, value in written.items():
        if name not in _FIELDS:
            flaws.append(("", f"a gate has no field '{clip(name)}'; it has {', '.join(_FIELDS)}"))
            continue
        try:
            fields[name] = _FIELDS[name](value)
        except (ValueError, InvalidArgument) as error:
            flaws.append((f"/{name}", str(error).rstrip(".")))
    flaws += [] if flaws else [("", message) for message in _contradictions(fields)]
    return (None, flaws) if flaws else (Gate(**fields), [])


def _contradictions(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what does not go together: each kind of gate has fields of its own."""
    name, of = document["name"], document["kind"]
    for field, kinds in _ONLY_OF.items():
        if field in document and of not in kinds:
            yield f"gate '{name}' is a {of}, and {field} belongs to {' or '.join(kinds)}"
    for field in ("schema", "command"):
        if of == field and field not in document:
            yield f"gate '{name}' needs {field}"


def _name(value: Json) -> str:
    return check_name(_text(value, "name"), "name", _LONGEST_NAME)


def _one_of(field: str, allowed: tuple[str, ...]) -> Callable[[Json], str]:
    def read(value: Json) -> str:
        if value not in allowed:
            raise ValueError(f"{field} must be one of {', '.join(allowed)}")
        return str(value)

    return read


def _criteria(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MOST_CRITERIA:
        raise ValueError(f"criteria must be an array of 1 to {MOST_CRITERIA} texts")
    criteria = tuple(_text(criterion, "a criterion") for criterion in value)
    if any(len(criterion) > LONGEST_CRITERION for criterion in criteria):
        raise ValueError(f"a criterion has more than {LONGEST_CRITERION} characters")
    if len(set(criteria)) < len(criteria):
        raise ValueError("criteria has a text twice")
    return criteria


def _command(value: Json) -> str:
    text = _text(value, "command")
    if len(text) > LONGEST_COMMAND:
        raise ValueError(f"command has more than {LONGEST_COMMAND} characters")
    return text


def _reviewers(value: Json) -> tuple[str, ...]:
    named = value if isinstance(value, list) else [value]
    if not 0 < len(named) <= MOST_REVIEWERS or not all(isinstance(name, str) for name in named):
        raise ValueError(f"reviewers must be an array of 1 to {MOST_REVIEWERS} agent ids")
    return tuple(dict.fromkeys(check_id(value, "a reviewer") for value in named))


def _whole(field: str, most: int) -> Callable[[Json], int]:
    def read(value: Json) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise ValueError(f"{field} must be a whole number from 1 to {most}")
        return value

    return read


def _schema(value: Json) -> Json:
    flaw = next(iter(flaws_of_schema(value)), None)
    if flaw is not None:
        raise ValueError(f"schema: {flaw.message}{f' (at {flaw.pointer})' if flaw.pointer else ''}")
    return value


def _yes(field: str) -> Callable[[Json], bool]:
    def read(value: Json) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{field} must be true or false, not {kind(value)}")  # noqa: TRY004 - as of every field
        return value

    return read


def _text(value: Json, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{field} must be a text that is not empty")
    return value


_FIELDS: Final[Mapping[str, Callable[[Json], Any]]] = {
    "name": _name,
    "kind": _one_of("kind", KINDS),
    "criteria": _criteria,
    "command": _command,
    "timeout_s": _whole("timeout_s", LONGEST_WAIT_S),
    "reviewers": _reviewers,
    "people": lambda value: read_askees(value, "people"),
    "schema": _schema,
    "max_attempts": _whole("max_attempts", MOST_ATTEMPTS),
    "then": _one_of("then", THENS),
    "author_may_review": _yes("author_may_review"),
    "author_may_override": _yes("author_may_override"),
}
"""Reader of each field of a gate; what it returns is the field of `Gate`."""

_ONLY_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "schema": ("schema",),
    "command": ("command",),
    "criteria": ("review", "person"),
    "reviewers": ("review", "command"),
}
"""Fields that belong to some kinds of gates only; `people` are asked in the end, whatever the kind."""
