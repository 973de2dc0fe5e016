"""Makes the merged tools of a server. A call of one becomes a call of its verb before anything else happens.

So scope, checks, audit and answer are those of the verb. Only a call that does not match a verb is checked against the
merged tool, which then refuses it.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, partial, reduce
from operator import or_
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json
from dcf.verbs.argument_checks import AlmostRight
from dcf.verbs.derived_tools import LazyModels
from dcf.verbs.merged.choices import Choice, Merge
from dcf.verbs.merged.merges import MERGES
from dcf.verbs.registry import Answer, Arguments, Models, Profile, ToolSpec
from dcf.verbs.unlisted import UNLISTED, is_listed

_RARITY: Final = {
    scope: number
    for number, scope in enumerate((Scope.READ, Scope.WORK, Scope.ANSWER, Scope.PLAN, Scope.OPERATE, Scope.ADMIN))
}
"""Scopes from the one that most keys have: who may call one of the verbs is shown the merged tool."""


def merged_of(specs: Iterable[ToolSpec]) -> list[ToolSpec]:
    """Return the merged tools of a server of these verbs; each stands for those of its verbs that are served."""
    served = {spec.name: spec for spec in specs}
    merged = ((merge, tuple(choice for choice in merge.choices if choice.verb in served)) for merge in MERGES)
    return [MergedTool(merge, choices, served).spec for merge, choices in merged if choices]


def meant(spec: ToolSpec, arguments: Mapping[str, Json]) -> tuple[ToolSpec, Mapping[str, Json]]:
    """Return the verb that a call means, and its arguments; the call itself if it is of a verb, or of no verb."""
    present = spec.in_present_names(arguments)
    if spec.resolve is None:
        return spec, present
    try:
        return spec.resolve(present)
    except InvalidArgument:
        return spec, present


class MergedTool:
    """A merged tool with the tools of its verbs."""

    def __init__(self, merge: Merge, choices: tuple[Choice, ...], served: Mapping[str, ToolSpec]) -> None:
        self._merge = merge
        self._choices = choices
        self._served = served

    @property
    def spec(self) -> ToolSpec:
        """The tool as lists show it."""
        verbs = tuple(self._served[choice.verb] for choice in self._choices)
        first = verbs[0]
        return ToolSpec(
            name=self._merge.name,
            description=self._merge.documentation,
            toolset=first.toolset,
            scope=min((verb.scope for verb in verbs), key=_RARITY.__getitem__),
            profiles=cast("frozenset[Profile]", frozenset(self._merge.lists)),
            acts_as=None,
            models=LazyModels(self._models),
            run=first.run,
            read_only=all(verb.read_only for verb in verbs),
            destructive=any(verb.destructive for verb in verbs),
            idempotent=all(verb.idempotent for verb in verbs),
            audit=(),
            codes=tuple(dict.fromkeys(code for verb in verbs for code in verb.codes)),
            resolve=self.resolve,
            renamed=tuple(dict.fromkeys(pair for verb in verbs for pair in verb.renamed)),
        )

    def resolve(self, arguments: Mapping[str, Json]) -> tuple[ToolSpec, dict[str, Json]]:
        """Return the verb that a call means, and its arguments; raise InvalidArgument if it matches no verb."""
        sent = {name for name, value in arguments.items() if not self._says_nothing(name, value)}
        choice = self._chosen(arguments)
        takes = self._takes(choice)
        foreign = [name for name in arguments if name in sent and name not in takes and name not in choice.by]
        if foreign:
            raise self._misplaced(choice, foreign, sent)
        fields = self._served[choice.verb].arguments.model_fields
        missing = [name for name, inner in takes.items() if name not in sent and fields[inner].is_required()]
        complete = self._complete_ways(choice, sent) if missing else ""
        if complete:
            raise self._incomplete(choice, missing[0], complete)
        own = {takes[name]: value for name, value in arguments.items() if name in takes}
        return self._served[choice.verb], {**own, **choice.fixed}

    def _chosen(self, arguments: Mapping[str, Json]) -> Choice:
        chosen = next((choice for choice in self._choices if choice.fits(arguments)), None)
        if chosen is None:
            names = sorted({name for choice in self._choices for name in choice.by})
            raise InvalidArgument(f"The call says nothing that is known as {', '.join(names)}.")
        return chosen

    def _says_nothing(self, name: str, value: Json) -> bool:
        return value is None or (value is False and name in self._choosing)

    @cached_property
    def _choosing(self) -> Mapping[str, tuple[Json, ...]]:
        """The arguments whose values choose a verb, with these values."""
        names = dict.fromkeys(name for choice in self._choices for name in choice.by)
        return {
            name: tuple(dict.fromkeys(choice.by[name] for choice in self._choices if name in choice.by))
            for name in names
        }

    @cached_property
    def _in_order(self) -> tuple[Choice, ...]:
        """The choices, that of the tool's own name first: it describes the arguments that several have."""
        return tuple(sorted(self._choices, key=lambda choice: choice.verb != self._merge.name))

    def _takes(self, choice: Choice) -> Mapping[str, str]:
        """Return the arguments that a choice takes, with their names in its verb."""
        outer = choice.outer_names
        fields = self._served[choice.verb].arguments.model_fields
        return {outer.get(name, name): name for name in fields if name not in choice.fixed}

    def _misplaced(self, choice: Choice, foreign: Sequence[str], sent: AbstractSet[str]) -> InvalidArgument:
        """Return the refusal of arguments that do not go with the rest: what to leave out, or with what they go."""
        takers = [item for item in self._choices if item is not choice and self._takes(item).keys() >= {*foreign}]
        result = dict.fromkeys(filter(None, (self._way(item, foreign, sent) for item in takers)))
        ways = [way for way in result if not any(way.startswith(f"{other} and ") for other in result)]
        names, verb = _listed(foreign), "do" if len(foreign) > 1 else "does"
        how = f"with {choice.in_words()}" if choice.in_words() else "with the rest of this call"
        them = "them" if len(foreign) > 1 else "it"
        return InvalidArgument(
            f"{names} {verb} not go {how}.",
            f"Leave out {names}{''.join(f', or send {them} {way}' for way in ways)}.",
        )

    def _way(self, choice: Choice, foreign: Sequence[str], sent: AbstractSet[str]) -> str:
        """Return with what, and without what, arguments go that belong to a choice."""
        others = sorted(sent - self._takes(choice).keys() - choice.by.keys())
        needed = choice.in_words(foreign)
        parts = (f"with {needed}" if needed else "", f"without {_listed(others)}" if others else "")
        return " and ".join(filter(None, parts))

    def _is_required(self, choice: Choice, name: str) -> bool:
        field = self._field_of(choice, name)
        return field is not None and field.is_required()

    def _complete_ways(self, choice: Choice, sent: AbstractSet[str]) -> str:
        """Return other ways to choose for which the call, incomplete for this choice, is complete."""
        own = sent - choice.by.keys()
        others = (item for item in self._choices if item is not choice and own <= self._takes(item).keys())
        whole = (
            item.in_words() for item in others if own >= {*filter(partial(self._is_required, item), self._takes(item))}
        )
        return ", or ".join(f"with {way}" for way in dict.fromkeys(whole) if way)

    def _incomplete(self, choice: Choice, missing: str, complete: str) -> InvalidArgument:
        return AlmostRight(
            f"The argument {missing} is missing with {choice.in_words()}.",
            f"Send {missing}, or what you sent {complete}.",
            values={missing: f"<{missing}>"},
        )

    def _models(self) -> Models:
        fields: dict[str, Any] = {name: self._chooser(name, values) for name, values in self._choosing.items()}
        takes = [self._takes(choice) for choice in self._in_order]
        for name in dict.fromkeys(name for own in takes for name in own):
            if name not in fields and name not in Arguments.model_fields:
                fields[name] = self._field(name)
        name = self._merge.name
        arguments = create_model(name, __base__=Arguments, __doc__=self._merge.documentation, **fields)
        answer = create_model(f"{name}_answer", __base__=Answer, **self._answer_fields())
        answer.of_some = frozenset(answer.model_fields) - Answer.model_fields.keys() - self._of_all()
        return arguments, answer

    def _of_all(self) -> AbstractSet[str]:
        """Return the members that every answer has: a merged tool answers as the verb that a call means."""
        answers = [self._served[choice.verb].answer for choice in self._choices]
        return frozenset.intersection(*(frozenset(item.model_fields) - {*item.may_be_left_out()} for item in answers))

    def _chooser(self, name: str, values: tuple[Json, ...]) -> tuple[Any, Any]:
        kind: Any = bool if True in values else Literal[values]
        always = all(name in choice.by for choice in self._choices)
        chooser = Field(... if always else None, description=self._merge.about[name], examples=[values[0]])
        return kind if always else kind | None, chooser

    def _field(self, name: str) -> tuple[Any, Any]:
        """Return an argument: required where every verb requires it, listed where one of them lists it."""
        every = [self._field_of(choice, name) for choice in self._in_order]
        own = [field for field in every if field is not None]
        first = next(filter(is_listed, own), own[0])
        required = all(field is not None and field.is_required() for field in every)
        defaults = [field.default for field in every if field is not None and not field.is_required()]
        default = defaults[0] if len(defaults) == len(every) and defaults.count(defaults[0]) == len(every) else None
        kind: Any = first.annotation
        description = Field(
            description=self._merge.about.get(name, first.description),
            examples=first.examples,
            json_schema_extra=self._extra(name, first),
        )
        accepted: Any = kind if required or default is not None or kind is Any else kind | None
        return Annotated[(accepted, *first.metadata, description)], ... if required else default

    def _extra(self, name: str, field: FieldInfo) -> Any:
        if name in self._merge.unlisted or not is_listed(field):
            return UNLISTED
        return None if name in self._merge.about else field.json_schema_extra

    def _field_of(self, choice: Choice, name: str) -> FieldInfo | None:
        inner = self._takes(choice).get(name)
        return None if inner is None else self._served[choice.verb].arguments.model_fields[inner]

    def _answer_fields(self) -> dict[str, Any]:
        """Return the members of all answers; a merged tool itself only refuses."""
        kinds: dict[str, list[Any]] = {}
        for choice in self._choices:
            for name, field in self._served[choice.verb].answer.model_fields.items():
                if name not in Answer.model_fields:
                    kinds.setdefault(name, []).append(field.annotation)
        return {name: (reduce(or_, (*own, None)), None) for name, own in kinds.items()}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
