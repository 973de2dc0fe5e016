"""The brief of a Task for its worker, besides the input: instructions, output schema, errors, skills, gates. Pure.

Expressions in instructions are evaluated here, when an answer shows them, and nowhere else.
"""

from collections.abc import Mapping
from typing import Final

from dcf.asl.briefs import Instructions
from dcf.asl.machine import Task, every_state
from dcf.asl.places import resolve
from dcf.asl.resources import WORK
from dcf.asl.state_paths import name_of
from dcf.asl.tasks.gates import Gate
from dcf.core.definitions.model import Definition
from dcf.values.json_paths import MISSING, Missing
from dcf.values.json_text import Json
from dcf.values.record_json.codec import AsJson, json_method
from dcf.values.records import record, replace


@record(frozen=True, slots=True, kw_only=True)
class Brief:
    """The brief of a Task. A part that the Task lacks is None or empty. An `output_schema` may also be true or false.

    `skills` are those of the Task and of its AgentBinding, each once; `gates` what its output must pass. `resource`
    names the function that is meant, where the Task says so. `is_invocation`: a function gets the Payload of the input.
    """

    instructions: str | None = None
    output_schema: Mapping[str, Json] | bool | None = None
    errors: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    gates: tuple[Gate, ...] = ()
    resource: str | None = None
    is_invocation: bool = False

    as_json = json_method(
        "instructions output_schema errors resource is_invocation gates skills",
        left_out="defaults",
        codecs={"gates": AsJson},
    )


NOTHING: Final = Brief()


def instructions_of(definition: Definition, path: str) -> Instructions | None:
    """Return the instructions of a Task as written; None of what has none. Raise KeyError for a path that is none."""
    state = resolve(definition.machine, path).state
    return state.brief.instructions if isinstance(state, Task) and state.brief is not None else None


def field_of(definition: Definition, path: str, name: str) -> object:
    """Return what a capability read from a field of a Task; None without the field. Raise KeyError for no path."""
    state = resolve(definition.machine, path).state
    return state.brief.fields.get(name) if isinstance(state, Task) and state.brief is not None else None


def has_field(definition: Definition, name: str) -> bool:
    """Return True if a Task has this field of a capability."""
    states = (state for _, state in every_state(definition.machine) if isinstance(state, Task))
    return any(state.brief is not None and name in state.brief.fields for state in states)


def shows_input(definition: Definition, path: str) -> bool:
    """Return True if the instructions of this Task show values of its input."""
    instructions = instructions_of(definition, path)
    return instructions is not None and not instructions.is_plain


def brief_of(definition: Definition, path: str, state_input: Json | Missing = MISSING) -> Brief:
    """Return the brief for the worker of this state; NOTHING if it is no Task, or a Task without any part of a brief.

    `given` is the worker's input; while it is not known, expressions in the instructions are shown as written. Raise
    KeyError for a path that is none.
    """
    state = resolve(definition.machine, path).state
    skills = definition.skills.get(name_of(path), ())
    gates = definition.gates_of(path) if definition.is_gated else ()
    written = state.brief if isinstance(state, Task) else None
    served = state.served_by if isinstance(state, Task) else WORK
    unwritten = Brief(skills=skills, gates=gates, resource=served.function, is_invocation=served.is_invocation)
    if written is None:
        return unwritten if unwritten != NOTHING else NOTHING
    instructions = written.instructions
    text = (
        None
        if instructions is None
        else instructions.text
        if isinstance(state_input, Missing)
        else instructions.shown(state_input)
    )
    return replace(unwritten, instructions=text, output_schema=written.schema, errors=written.errors or ())
