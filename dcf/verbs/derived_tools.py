"""Makes the MCP tool of a verb from its description: the models of its arguments and answer, and its `next`.

Models are made when the tool is first called or listed. Nothing here knows a verb by name.
"""

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import partial, reduce, update_wrapper
from operator import or_
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, cast, get_args, get_origin, get_type_hints

from pydantic import Field, WithJsonSchema, create_model

from dcf.core.access.model import Scope
from dcf.values.json_text import MAX_BYTES, Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.as_record import AsRecord
from dcf.verbs.argument_forms import FORMS
from dcf.verbs.description.table import TABLE
from dcf.verbs.description.verb import VERBS, Answered, Argument, Parameter, RefusedWith, Verb
from dcf.verbs.registry import (
    TOOLS,
    Answer,
    Arguments,
    Models,
    Profile,
    Toolset,
    ToolSpec,
    agent_argument,
    refused,
    run_named,
)
from dcf.verbs.unlisted import PLAIN, UNLISTED
from dcf.verbs.wording.named import renamed
from dcf.workforce.steps import Step

if TYPE_CHECKING:
    from dcf.application.application import Application

_LIMITS: Final = ("pattern", "min_length", "max_length", "ge", "le")
_MOMENT: Final = {"type": "string", "format": "date-time"}
_ECHOED: Final = ("workflow_id", "state", "gate", "question_id")
"""Arguments that a refusal repeats, where its answer has a field of the name."""


def add_tools(module: str) -> None:
    """Register the tools of the verbs that a module describes."""
    for verb in VERBS.values():
        if verb.function.__module__ == module:
            TOOLS.add(tool_of(verb))


def tool_of(verb: Verb) -> ToolSpec:
    """Return the tool of a verb."""
    models = LazyModels(partial(_models_of, verb))
    return ToolSpec(
        name=verb.name,
        description=" ".join(_documentation(verb).split()),
        toolset=cast("Toolset", verb.toolset),
        scope=Scope(verb.scope),
        profiles=cast("frozenset[Profile]", frozenset(verb.lists)),
        acts_as=None if verb.about_others else agent_argument({item.tool_name for item in verb.parameters}),
        models=models,
        run=_carried_out(verb, models),
        read_only=verb.effect == "reads",
        destructive=verb.effect == "destroys",
        idempotent=verb.is_repeatable,
        audit=verb.audit,
        runs_named=verb.runs_named or run_named,
        of_no_run=verb.of_no_run,
        codes=verb.codes,
        for_programs=verb.for_programs,
        renamed=tuple((item.argument.was, item.tool_name) for item in verb.parameters if item.argument.was is not None),
    )


class LazyModels:
    """Makes the models of a tool once, at first use: a server starts without those of a hundred tools."""

    def __init__(self, make: Callable[[], Models]) -> None:
        self._make = make
        self._made: Models | None = None
        self._making = threading.Lock()

    def __call__(self) -> Models:
        """Return the models of the arguments and of the answer."""
        if self._made is None:
            with self._making:
                if self._made is None:
                    self._made = self._make()
        return self._made


def _models_of(verb: Verb) -> Models:
    arguments = create_model(
        verb.name, __base__=Arguments, __doc__=_documentation(verb), **dict(map(_tool_argument, verb.parameters))
    )
    answer = create_model(f"{verb.name}_answer", __base__=Answer, __doc__=verb.record.__doc__, **_answer_fields(verb))
    answer.only_when_set = verb.only_when_set
    return arguments, answer


def as_json(value: Any) -> Json:
    """Return a record as JSON; inside of it, what is None is left out."""
    if is_dataclass(value):
        members = ((item.name, getattr(value, item.name)) for item in fields(value))
        return {name: as_json(member) for name, member in members if member is not None}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {name: as_json(member) for name, member in value.items()}
    return cast("Json", value)


def _carried_out(verb: Verb, models: LazyModels) -> Callable[["Application", Any], Any]:
    values_of, function = _reader(verb), verb.function

    def run(application: "Application", arguments: Arguments) -> Answer:
        values = values_of(application, arguments)
        return _answer(verb, models()[1], values, function(application, **values))

    async def run_and_wait(application: "Application", arguments: Arguments) -> Answer:
        values = values_of(application, arguments)
        return _answer(verb, models()[1], values, await function(application, **values))

    # The name and the place are those of the verb; what waits is known by its being a coroutine function.
    return update_wrapper(run_and_wait if inspect.iscoroutinefunction(verb.function) else run, verb.function)


def _answer(verb: Verb, answer: type[Answer], values: Mapping[str, Any], outcome: Any) -> Answer:
    says: str | None = None
    following: Sequence[Mapping[str, Json]] = ()
    members: Mapping[str, Any]
    if isinstance(outcome, Answered):
        members, says, following = outcome.members, outcome.says, outcome.next
    elif isinstance(outcome, Refusal | RefusedWith):
        echo: dict[str, Any] = {
            name: values[name] for name in _ECHOED if name in values and name in answer.model_fields
        }
        if isinstance(outcome, Refusal):
            return refused(answer, outcome, **echo)
        return refused(answer, outcome.refusal, **{**echo, **outcome.members})
    else:
        members = {item.name: as_json(getattr(outcome, item.name)) for item in fields(outcome)}
    if says is None and verb.says is not None:
        says = verb.says(members)
    if not following and verb.next:
        following = _following(verb, {**values, **members})
    return answer.model_validate({"status": says, "next": list(following) or None, **members})


def _documentation(verb: Verb) -> str:
    """Return the docstring with the names that arguments have in the tool."""
    names = {item.name: item.tool_name for item in verb.parameters}
    return _described(verb.documentation, names)


def _described(text: str, names: Mapping[str, str]) -> str:
    """Return a description that has only verbs in backticks, which each interface words. Other words need none."""

    def name_in_words(name: str) -> str:
        return names.get(name) or (f"`{name}`" if name in TABLE else name)

    return renamed(text, name_in_words)


def _following(verb: Verb, known: Mapping[str, Any]) -> list[dict[str, Json]]:
    """Return the calls that come next, with the arguments that are known."""
    return [
        Step(tool=item.verb, arguments={**_known_of(item.verb, known), **item.arguments}, why=item.why).as_json()
        for item in verb.next
        if item.when(known)
    ]


def _known_of(tool: str, known: Mapping[str, Any]) -> dict[str, Json]:
    return {name: known[name] for name in TABLE[tool].required if known.get(name) is not None}


def _tool_argument(parameter: Parameter) -> tuple[str, Any]:
    form = FORMS.get(parameter.argument.form)
    of = parameter.type if form is None or form.type is None else form.type
    limits = _limits(parameter.argument)
    if form is not None and str in get_args(of):
        of = _text_or_value(of, limits.pop("max_length", None))
    default = ... if parameter.is_required else parameter.default if form is None else None
    if default is None and of is not Any and type(None) not in get_args(of):
        of |= None
    return parameter.tool_name, (of, _field(parameter.argument, default, limits))


def _text_or_value(kind: Any, longest: int | None) -> Any:
    """Return the type of what may be JSON text, with the most characters of that text."""
    kinds = (Annotated[str, Field(max_length=longest)] if item is str else item for item in get_args(kind))
    return kind if longest is None else reduce(or_, kinds)


def _limits(argument: Argument) -> dict[str, Any]:
    return {name: getattr(argument, name) for name in _LIMITS if getattr(argument, name) is not None}


def _field(argument: Argument, default: Any, limits: Mapping[str, Any]) -> Any:
    return Field(
        default,
        description=_described(argument.means, {}) or None,
        examples=None if argument.example is None else [argument.example],
        json_schema_extra=UNLISTED if not argument.listed else PLAIN if argument.plain else None,
        **limits,
    )


def _reader(verb: Verb) -> Callable[["Application", Any], dict[str, Any]]:
    """Return what makes the arguments of the verb's function from those of the tool. Each call passes here."""
    plain = [(item.name, item.tool_name) for item in verb.parameters if item.argument.form not in FORMS]
    read = [(item.name, _form_reader(item)) for item in verb.parameters if item.argument.form in FORMS]

    def values_of(application: "Application", arguments: Arguments) -> dict[str, Any]:
        sent = vars(arguments)
        values = {name: sent[tool_name] for name, tool_name in plain}
        for name, value_of in read:
            values[name] = value_of(application, sent)
        return values

    return values_of


def _form_reader(parameter: Parameter) -> Callable[["Application", Mapping[str, Any]], Any]:
    """Return what reads an argument that is written in a form of its own."""
    name, form = parameter.tool_name, FORMS[parameter.argument.form]
    setting, most = parameter.argument.bytes_setting, parameter.argument.max_bytes or MAX_BYTES

    def read(application: "Application", sent: Mapping[str, Any]) -> Any:
        value = sent[name]
        if value is None and not parameter.is_required:
            return parameter.default
        return form.read(value, name, getattr(application.settings, setting) if setting else most)

    return read


def _answer_fields(verb: Verb) -> dict[str, Any]:
    own, kinds = Answer.model_fields, get_type_hints(verb.record)
    without = {name: as_json(value) for name, value in verb.in_refusals.items()}
    names = [item.name for item in fields(verb.record) if item.name not in own]
    of_all = {name: (own[name].annotation, value) for name, value in without.items() if name in own}
    optional = {name: (_flat(kinds[name]) | None, None) for name in names if name not in without}
    return {name: optional.get(name) or (_flat(kinds[name]), without[name]) for name in names} | of_all


def _flat(kind: Any) -> Any:
    """Return the type of a member as the tool's answer has it: records in it are JSON, and are not taken apart.

    The schema of the answer describes them all the same.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, UnionType) or origin is Union:
        flat = [_flat(item) for item in inner if item is not type(None)]
        return flat[0] if len(flat) == 1 else Union[tuple(flat)]  # noqa: UP007 - of types that are known only here
    if kind is datetime:
        return Annotated[str, WithJsonSchema(_MOMENT)]
    if isinstance(kind, type) and is_dataclass(kind):
        return Annotated[dict[str, Any], AsRecord(kind)]
    if origin is tuple:
        return list[_flat(inner[0])]  # type: ignore[misc]  # a type that is known only here
    if origin is Mapping:
        return dict[inner[0], _flat(inner[1])]  # type: ignore[misc, valid-type]
    return kind
