"""Describes a verb: one typed function, and around it what its signature cannot say.

A verb is something that dcf can be asked to do, such as `cancel_run`. The function's name is the verb's name, its
docstring the description, its parameters are the arguments, and it returns the answer or a refusal. Parameters before
the `*` are positional in Python and on the command line; the others are keywords and options.

The tool, the command, the client's methods and the page's action are derived from this description. Nothing here knows
one of them, and importing this loads the standard library only.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from functools import cached_property
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

Function = TypeVar("Function", bound=Callable[..., Any])
Record = TypeVar("Record")

Effect: TypeAlias = Literal["reads", "changes", "destroys"]
"""The effect of a verb on stored data. Destroyed data cannot be restored."""

Audience: TypeAlias = Literal["worker", "planner", "member", "operator", "person", "assistant"]
"""The kinds of users that see the verb in a list of tools."""

Form: TypeAlias = Literal[
    "plain",
    "json",
    "value",
    "unread",
    "object",
    "array",
    "names",
    "texts",
    "several",
    "words",
    "rows",
    "places",
    "span",
    "moment",
    "person",
    "askees",
    "records",
    "request",
    "document",
    "assignment",
    "workflow",
]
"""How a value is written: as its type says, or as

- `json`: any JSON value; `value`: the same, but a text is itself and no JSON text, and a command reads it from a file
- `unread`: JSON or its text, which the verb itself reads: `as_text` or a limit of its own says how
- `object`: a JSON object; `array`: a list of JSON values
- `rows`: a list of JSON objects; `records`: a list of objects whose fields the type names
- `names`: names of states or agents; `texts`: other texts
- `several`: a value of a type, or a list of such values
- `words`: a text that a command takes word by word; `places`: directories, some of a certain machine
- `span`: a length of time in seconds; `moment`: a time with its zone
- `person`: the id of who does it; without it a command means the user of this machine
- `askees`: whom a question is for: the planner, people by their ids, groups
- `document`: a JSON object, or a text that names where it is
- `request`: an id that a repeated call is known by; the client draws one
- `assignment`: which agents do which states; `workflow`: a workflow document

Each interface writes these its own way: `argument_forms` for tools, `dcf.client.arguments`, `dcf.cli.commands.forms`.
"""


@record(frozen=True, slots=True, kw_only=True)
class Argument:
    """The meaning of an argument and its possible values. The server checks the limits, once for all interfaces.

    `tool` is its name in the tool and `option` its name on the command line, where these differ from the parameter's.
    With an `option`, a positional argument in Python is an option on the command line; `short` is its one letter.
    `was` is its name in the tool before this release, which is accepted for one release more.
    An argument that is not `listed` is in no list that a model reads. The name of a `plain` argument says everything,
    so that lists do without its description. The page asks for it by its `label`. A value in JSON has at most
    `max_bytes`, or as many as the setting named by `bytes_setting` says. Where no project is given, commands mean that
    of the context in use, if the argument is `of_context`: not where it is one of several things that a call may name.
    """

    means: str
    example: Any = field(default=None, hash=False)
    pattern: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    ge: float | None = None
    le: float | None = None
    form: Form = "plain"
    bytes_setting: str | None = None
    max_bytes: int | None = None
    tool: str | None = None
    was: str | None = None
    option: str | None = None
    short: str | None = None
    spelling: str | None = None
    listed: bool = True
    plain: bool = False
    label: str | None = None
    of_context: bool = True


_SAYS_NOTHING: Final = Argument(means="")


@record(frozen=True, slots=True, kw_only=True)
class Command:
    """The verb as a command: its words, and the question before what cannot be undone.

    `question` gets the arguments, and returns None where nothing need be asked. The answer is printed by `show`, a
    function of the answer and the arguments named as `module:function`; without one as the sentence of its status.
    Where a command takes other arguments than the verb, or several calls, `function` names what is its own; its
    docstring is the help of the command.

    A verb may be several commands: each has values that are `fixed`, which it does not ask for, and arguments that are
    `positional` and required there. Those that it `assumes` are options, with what it takes where one is left out.
    Its `summary` is what help says, where that is not the verb's documentation. `before` names a function of the
    command line that gets the arguments and returns them complete: it may show what the call is about and ask.
    """

    name: str
    question: Callable[[Mapping[str, Any]], str | None] | None = None
    example: str | None = None
    show: str | None = None
    function: str | None = None
    before: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    assumes: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[str, ...] = ()
    summary: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class PageAction:
    """The verb as an action of the web page: its title, what will happen, and the arguments that a form may give.

    `scopes`: the caller needs one of these besides the verb's own. `always`: arguments that no form can change.
    `needed`: arguments that the form must give, though the verb does without them.
    `is_grave` marks the button; if it is None, that of a verb which destroys.
    """

    title: str
    effect: str
    form: tuple[str, ...] = ("reason",)
    scopes: tuple[str, ...] = ()
    always: Mapping[str, bool] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    returns_to: Literal["back", "run", "runs"] = "back"
    is_grave: bool | None = None


@record(frozen=True, slots=True, kw_only=True)
class Next:
    """A verb that comes next, and why. Arguments of the same name are filled in from the call and its answer."""

    verb: str
    why: str
    when: Callable[[Mapping[str, Any]], bool] = lambda _: True
    arguments: Mapping[str, Any] = field(default_factory=dict)


@record(frozen=True, slots=True)
class Answered(Generic[Record]):
    """An answer whose members are JSON already, as a record of the kind has them: nothing is built to be taken apart.

    `says` is the sentence of this answer, and `next` are the calls that come next, where these are not the verb's.
    """

    kind: type[Record]
    members: Mapping[str, Any]
    says: str | None = None
    next: tuple[Mapping[str, Any], ...] = ()


@record(frozen=True, slots=True)
class RefusedWith:
    """A refusal with the members of the answer that are known all the same."""

    refusal: Refusal
    members: Mapping[str, Any]


@record(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a verb, as its signature has it."""

    name: str
    type: Any
    argument: Argument
    default: Any
    is_positional: bool

    @property
    def is_required(self) -> bool:
        """True if a call without it is refused."""
        return self.default is inspect.Parameter.empty

    @property
    def tool_name(self) -> str:
        """Its name in the tool."""
        return self.argument.tool or self.name

    @property
    def is_option(self) -> bool:
        """True if it is an option on the command line."""
        return not self.is_positional or self.argument.option is not None

    @property
    def option(self) -> str:
        """Its name as an option of the command line."""
        return self.argument.option or "--" + self.name.replace("_", "-")


@record(frozen=True, kw_only=True)
class Verb:
    """A verb: its function, and what the decorator says.

    `says` is the sentence of an answer that is no refusal; None where each answer has its own. `codes` are the refusals
    that callers should expect.

    `also` are further commands in addition to the first. A verb without a command may be done by a hand-written
    command: `command_by_hand` names it, for hints. `method` is the name of the client's method, where it is shorter
    than the verb's. `pages` is the field of the answer with the items of a page: the client's method yields the items
    of all pages. `steps` names a function of the client, `module:function`, for a verb of which one use takes several
    calls.

    `audit` lists the arguments and fields of the answer that name what is changed outside of runs; with it, the audit
    trail notes each call. An agent's id among the arguments is that of the caller, unless the verb is `about_others`.
    `runs_named` finds the runs that must be there for a call, where that is not the `workflow_id`; `of_no_run` means
    that none need be named. `only_when_set` are fields that an answer leaves out where they are None. `in_refusals` are
    the fields that have a value in every answer: this one where a call is refused, or where its answer leaves them out.
    The others are None there. A verb `for_programs` is in no list that a model reads.
    """

    function: Callable[..., Any]
    toolset: str
    scope: str
    lists: tuple[Audience, ...] = ()
    effect: Effect = "changes"
    is_repeatable: bool = True
    says: Callable[[Mapping[str, Any]], str] | None = None
    codes: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    command: Command | None = None
    also: tuple[Command, ...] = ()
    command_by_hand: str | None = None
    page: PageAction | None = None
    method: str | None = None
    pages: str | None = None
    steps: str | None = None
    audit: tuple[str, ...] = ()
    about_others: bool = False
    runs_named: Callable[[Any], Iterable[str]] | None = None
    of_no_run: bool = False
    only_when_set: tuple[str, ...] = ()
    in_refusals: Mapping[str, Any] = field(default_factory=dict)
    for_programs: bool = False

    @property
    def name(self) -> str:
        """The name of the verb, which is that of its tool."""
        return self.function.__name__

    @property
    def commands(self) -> tuple[Command, ...]:
        """All commands of the verb."""
        return () if self.command is None else (self.command, *self.also)

    @property
    def description(self) -> str:
        """The description for a model, in one paragraph; the first sentence says when to call it."""
        return " ".join(self.documentation.split())

    @property
    def documentation(self) -> str:
        """The docstring, as it is."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join(self.documentation.partition("\n\n")[0].split())

    @cached_property
    def record(self) -> type[Any]:
        """The record of its answer; every interface answers with it."""
        returned = _hints(self.function)["return"]
        kinds = get_args(returned) if isinstance(returned, UnionType) or get_origin(returned) is Union else (returned,)
        record: Any = next(kind for kind in kinds if kind not in {Refusal, RefusedWith})
        answered: type[Any] = get_args(record)[0] if get_origin(record) is Answered else record
        return answered

    @cached_property
    def item(self) -> Any:
        """The type of the items of a page."""
        assert self.pages is not None, f"{self.name} answers no pages"
        return get_args(get_type_hints(self.record)[self.pages])[0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The arguments; the first parameter of the function is what it works on."""
        return parameters_of(self.function)[1:]


_OF_PAGES: Final = re.compile(r"\s+[A-Z][^.]*\bnext_cursor\b[^.]*\.")

VERBS: Final[dict[str, Verb]] = {}
"""The verbs of the modules imported so far, by name."""


def verb(**description: Any) -> Callable[[Function], Function]:
    """Make the function a verb; `description` has the fields of `Verb`. The function itself stays as it is."""

    def describe(function: Function) -> Function:
        VERBS[function.__name__] = Verb(function=function, **description)
        return function

    return describe


def parameters_of(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a function with what their annotations say."""
    hints = _hints(function)
    return tuple(
        _parameter(parameter, hints[name]) for name, parameter in inspect.signature(function).parameters.items()
    )


def paged(text: str, how: str) -> str:
    """Return a description with the way of one interface to read on, in place of a sentence on `next_cursor`."""
    return _OF_PAGES.sub(f" {how}", text)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations. Types of the engine are imported for type checkers only: a description loads no store."""
    return get_type_hints(function, localns={"Application": object}, include_extras=True)


def _parameter(parameter: inspect.Parameter, hint: Any) -> Parameter:
    kind, argument = _split(hint)
    return Parameter(
        name=parameter.name,
        type=kind,
        argument=argument,
        default=parameter.default,
        is_positional=parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )


def _split(hint: Any) -> tuple[Any, Argument]:
    """Return the type and the description of an annotation; `Annotated[...] | None` is one too.

    A description around another has its own values, and the rest from the other. A description with another meaning is
    plain only if it says so itself.
    """
    if get_origin(hint) is Annotated:
        kind, *more = get_args(hint)
        inner, argument = _split(kind)
        for outer in (item for item in more if isinstance(item, Argument)):
            argument = _over(argument, outer)
        return inner, argument
    some = [kind for kind in get_args(hint) if kind is not NoneType]
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        kinds = [_split(kind) for kind in some]
        if len(kinds) == 1:
            return kinds[0][0] | None, kinds[0][1]
    return hint, _SAYS_NOTHING


def _over(inner: Argument, outer: Argument) -> Argument:
    own = {item.name: getattr(outer, item.name) for item in fields(outer)}
    changed = {name: value for name, value in own.items() if value != getattr(_SAYS_NOTHING, name)}
    return replace(inner, **{"plain": outer.plain, **changed} if outer.means else changed)
