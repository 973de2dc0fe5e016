"""Makes the command of a verb from its description, calls the verb, and prints its answer.

A command is made when it is named: `dcf --help` does not make any. It does what the verb's tool does, with the same
checks, on the place in use.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from dcf.cli.arguments import JsonFlag, Yes
from dcf.cli.asking import ask
from dcf.cli.authorship import refused
from dcf.cli.command_table import declared, named
from dcf.cli.commands.formats import print_json
from dcf.cli.commands.forms import FORMS
from dcf.cli.patience import patience
from dcf.cli.places.choice import elsewhere
from dcf.cli.places.completion import complete_agent, complete_run, complete_state
from dcf.cli.places.context import Context, with_project
from dcf.cli.places.place import Place, place
from dcf.cli.text import clean
from dcf.cli.wording import as_command, in_commands
from dcf.errors import ToolCallFailed
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.verbs.description.table import TABLE
from dcf.verbs.description.verb import VERBS, Command, Parameter, Verb, paged
from dcf.verbs.wording.named import renamed

ON_PAGES: Final = "--cursor continues after a page."
_SAYING_WHICH: Final = ("workflow_id", "parent_run", "session", "scope")
"""Arguments that say to which project something belongs."""

METAVARS: Final = {"workflow_id": "RUN", "agent_id": "AGENT"}
_COMPLETED: Final[Mapping[str, Callable[..., Any]]] = {
    **dict.fromkeys(("workflow_id", "run"), complete_run),
    **dict.fromkeys(("agent_id", "agent"), complete_agent),
    "state": complete_state,
}


@record(frozen=True, slots=True)
class OtherCall:
    """A call that a command makes in place of its own: another verb, its arguments, and what prints the answer."""

    verb: str
    arguments: Mapping[str, Any]
    show: str


def command_of_verb(name: str, words: str | None = None) -> TyperCommand:
    """Return the command of a verb: the one of these words, or the first."""
    verb = _verb(name)
    command = next(command for command in verb.commands if words in {None, command.name})
    example = f"\n\nExample:  {command.example}" if command.example else ""
    own = function_of(command)
    help_text = (own and inspect.getdoc(own)) or _documentation(verb, command)
    return declared(command.name, own or _function(verb, command), help_text + example)


def function_of(command: Command) -> Callable[..., Any] | None:
    """Return the function that is a command, where the command is not made from the description."""
    return named(command.function) if command.function else None


def call_verb(name: str, /, **arguments: Json) -> Mapping[str, Json]:
    """Return the answer of a verb's tool to the arguments that are not None; raise for a refusal."""
    with verb_calls(name) as call:
        return call(**arguments)


@contextmanager
def verb_calls(name: str) -> Iterator[Callable[..., Mapping[str, Json]]]:
    """Open the place in use for several calls of one verb; each returns an answer or raises as `call_verb` does."""
    verb = _verb(name)
    with place() as used, patience("carrying it out"):
        yield lambda **arguments: _answer(
            used, verb, {name: value for name, value in arguments.items() if value is not None}
        )


def _verb(name: str) -> Verb:
    """Import the module of a verb, and return the verb."""
    import_module(TABLE[name].module)  # nosemgrep: nothing-of-a-caller-is-executed - only modules of the table
    return VERBS[name]


def print_record(name: str, answer: Mapping[str, Json]) -> None:
    """Print the answer of a verb as its record, in JSON."""
    print_json({field: answer.get(field) for field in VERBS[name].record.__dataclass_fields__})


def _documentation(verb: Verb, command: Command) -> str:
    """Return what help says of the command, with verbs as commands and arguments as options."""
    options = {item.name: item.option if item.is_option else item.name for item in verb.parameters}
    text = inspect.cleandoc(command.summary or paged(verb.documentation, ON_PAGES))
    return renamed(text, lambda name: options.get(name) or in_commands(f"`{name}`"))


def _function(verb: Verb, command: Command) -> Any:
    shown_parameters = [_as_in(command, item) for item in verb.parameters if item.name not in command.fixed]

    def run(**values: Any) -> None:
        as_json, yes = values.pop("as_json"), values.pop("yes", False)
        call = {**command.fixed, **{item.name: _read(item, values[item.name]) for item in shown_parameters}}
        if command.before:
            call = named(command.before)(call)
        if isinstance(call, OtherCall):
            _make(call, as_json=as_json)
            return
        question = command.question and command.question(call)
        if question:
            ask(clean(question), yes=yes)
        answer = call_verb(verb.name, **{item.tool_name: _sent(item, call[item.name]) for item in verb.parameters})
        if as_json:
            print_record(verb.name, answer)
        elif command.show:
            named(command.show)(answer, call)
        else:
            _print(answer, verb.name, call)

    parameters = [_parameter(item) for item in shown_parameters]
    if command.question:
        parameters.append(_flag("yes", Yes))
    parameters.append(_flag("as_json", JsonFlag))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {item.name: item.annotation for item in parameters}
    return run


def _make(call: OtherCall, *, as_json: bool) -> None:
    answer = call_verb(call.verb, **call.arguments)
    if as_json:
        print_record(call.verb, answer)
    else:
        named(call.show)(answer, call.arguments)


def _as_in(command: Command, item: Parameter) -> Parameter:
    """Return an argument as a command takes it."""
    if item.name in command.assumes:
        return replace(item, is_positional=False, default=command.assumes[item.name])
    if item.name not in command.positional:
        return item
    return replace(item, is_positional=True, default=inspect.Parameter.empty)


def _parameter(item: Parameter) -> inspect.Parameter:
    form = FORMS.get(item.argument.form)
    kind = item.type if form is None else form.type
    words = in_commands(item.argument.spelling or item.argument.means)
    metavar = (form and form.metavar) or METAVARS.get(item.name, item.name.upper())
    if not item.is_option:
        shown = typer.Argument(
            metavar=f"[{metavar}]..." if item.argument.form == "words" else metavar,
            help=words,
            autocompletion=_COMPLETED.get(item.name),
        )
    else:
        choices = _choices(item.type)
        names = (item.option, item.argument.short) if item.argument.short else (item.option,)
        offered = (lambda: choices) if choices else _COMPLETED.get(item.name)
        shown = typer.Option(*names, help=words, autocompletion=offered)
    default = item.default if form is None or (item.is_required and not form.has_value) else None
    return inspect.Parameter(
        item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown]
    )


def _choices(kind: Any) -> list[str]:
    """Return the words that the values of a repeated option are, where they are some words only."""
    kinds = [kind, *get_args(kind)]
    elements = next((get_args(of) for of in kinds if get_origin(of) is Sequence), ())
    return list(get_args(elements[0])) if elements and get_origin(elements[0]) is Literal else []


def _flag(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)


def _read(item: Parameter, value: Any) -> Any:
    """Return the value of an argument as the verb's function has it."""
    form = FORMS.get(item.argument.form)
    if form is None:
        return value
    if item.argument.form == "person" and value is None and not item.is_required and elsewhere():
        return item.default  # the agent of the key is meant
    read = form.read(value, item.option if item.is_option else item.name.upper())
    return item.default if read is None and not item.is_required else read


def _sent(item: Parameter, value: Any) -> Json:
    """Return the value of an argument as its tool takes it."""
    form = FORMS.get(item.argument.form)
    is_left_out = not item.is_required and value == item.default
    return value if form is None else None if is_left_out else form.send(value)


def _answer(used: Place, verb: Verb, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the answer of the verb's tool at a place; raise for a refusal, in the words of the command line."""
    try:
        return used.call(verb.name, **_in_project(verb, arguments, used.choice.context))
    except ToolCallFailed as failure:
        raise refused(failure.code, failure.message, failure.hint, failure.answer, verb.name, arguments) from None


def _in_project(verb: Verb, arguments: Mapping[str, Json], context: Context) -> Mapping[str, Json]:
    """Return the arguments with the project of the context, where nothing says which project is meant."""
    takes_one = any(item.tool_name == "project" and item.argument.of_context for item in verb.parameters)
    if not takes_one or any(arguments.get(name) is not None for name in _SAYING_WHICH):
        return arguments
    wished = with_project({"project": None, **arguments}, context)
    return {name: value for name, value in wished.items() if value is not None}


def _print(answer: Mapping[str, Json], verb: str, call: Mapping[str, Json]) -> None:
    again = " An earlier command with this --request-id did it." if answer.get("repeated") else ""
    sentence = " ".join(filter(None, (clean(answer["status"]) + again, clean(answer.get("hint") or ""))))
    typer.echo(in_commands(sentence, verb, call))
    for step in answer.get("next") or ():
        typer.echo(f"  → {clean(as_command(step))}   {in_commands(clean(step['why']), verb, call)}")
