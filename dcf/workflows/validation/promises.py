"""Checks that states read what the OutputSchemas of Tasks before them promise, as far as that is certain.

The shapes of the inputs are carried along the transitions of a machine, through ResultPath, ResultSelector, Output,
Assign and the like. A state may be entered with inputs of several shapes: then there is a warning only if a path that
it reads is in none of them. If any shape is unknown, there is no warning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from dcf.asl.expressions.paths import Path
from dcf.asl.expressions.templates import Literal, ObjectTemplate, PathReference, Template
from dcf.asl.jsonata.expressions import Query
from dcf.asl.machine import Choice, Machine, Map, Parallel, Pass, State, Task, Workable, every_state
from dcf.asl.syntax.fields import token
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.workflows.validation.reads import PLAIN_PATH, Read, reads_of
from dcf.workflows.validation.shapes import NotThere, Placed, Promised, Shape, elements, follow, put, select
from dcf.workflows.validation.verdict import MAX_FINDINGS

Shapes: TypeAlias = tuple[Shape, ...]
"""The shapes that a value may have."""

UNKNOWN: Final[Shapes] = (None,)
_MOST: Final = 4


@record(frozen=True, slots=True, kw_only=True)
class _Visited:
    """A state, its JSON and where that stands, and the shapes of its input."""

    name: str
    state: State
    document: Mapping[str, Json]
    pointer: str
    inputs: Shapes


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The states found so far, and the shapes that are assigned to each variable."""

    states: list[_Visited] = field(default_factory=list)
    variables: dict[str, Shapes] = field(default_factory=dict)

    def enter(self, machine: Machine, document: Mapping[str, Json], pointer: str, start: Shapes) -> None:
        """Carry shapes through a machine, and through those inside it."""
        inputs: dict[str, Shapes] = {machine.start_at: start}
        pending = [machine.start_at]
        while pending:
            name = pending.pop()
            for target, shape in _leaving(name, machine.states[name], inputs[name]):
                before = inputs.get(target, ())
                inputs[target] = _joined(before, (shape,))
                if inputs[target] != before:
                    pending.append(target)
        for name, state in machine.states.items():
            place = f"{pointer}/States/{token(name)}"
            written = document["States"][name]
            shapes = inputs.get(name, UNKNOWN)
            self.states.append(_Visited(name=name, state=state, document=written, pointer=place, inputs=shapes))
            self._assign(name, state, shapes)
            for tail, inner, nested, value in _inside(state, written, shapes):
                self.enter(inner, nested, f"{place}/{tail}", value)

    def _assign(self, name: str, state: State, inputs: Shapes) -> None:
        for shape in inputs:
            self._note(state.flow.assign, shape, _assigning(name, state, shape))
            for catcher in state.catchers:
                self._note(catcher.assign, None, None)
            for branch in state.branches if isinstance(state, Choice) else ():
                self._note(branch.assign, shape, _document(state, shape))

    def _note(self, template: Template | None, shape_given: Shape, here: Shape) -> None:
        for name, part in _members(template):
            shape = None if part is None else _shape_of(part, shape_given, here)
            self.variables[name] = _joined(self.variables.get(name, ()), (shape,))


def broken_promises(machine: Machine, document: Mapping[str, Json], pointer: str) -> list[str]:
    """Return a warning for each thing that a state reads and that is in none of the outputs that it may get."""
    tasks = (state for _, state in every_state(machine) if isinstance(state, Task) and state.brief is not None)
    if all(task.brief is None or task.brief.schema is None for task in tasks):
        return []
    walk = _Walk()
    walk.enter(machine, document, pointer, UNKNOWN)
    doubts = (doubt for visited in walk.states for doubt in _doubts(visited, walk.variables))
    return list(dict.fromkeys(islice(doubts, MAX_FINDINGS)))


def _doubts(visited: _Visited, variables: Mapping[str, Shapes]) -> Iterator[str]:
    for read in reads_of(visited.state, visited.document):
        absent = _absent(visited, read, variables)
        if absent is not None and not (read.is_tested and not absent.is_certain):
            yield f"{visited.pointer}{read.tail}: State '{visited.name}' reads {read.text}, {absent}"


def _absent(visited: _Visited, read: Read, variables: Mapping[str, Shapes]) -> NotThere | None:
    """Return why the value that is read is missing, whatever shape the input has; None if it may be there."""
    maps = visited.state.flow.jsonata
    absences = [follow(shape, read.steps, maps=maps) for shape in _sources(visited, read, variables)]
    absent = [absence for absence in absences if isinstance(absence, NotThere)]
    return absent[0] if absent and len(absent) == len(absences) else None


def _sources(visited: _Visited, read: Read, variables: Mapping[str, Shapes]) -> Shapes:
    """Return the possible shapes of the value that the read starts from."""
    state, inputs = visited.state, visited.inputs
    match read.source:
        case "raw":
            return inputs
        case "input":
            return tuple(_document(state, shape) for shape in inputs)
        case "effective":
            return tuple(_effective(state, shape) for shape in inputs)
        case "result":
            return (_result_of(visited.name, state),)
        case "output":
            return tuple(_placed(visited.name, state, shape) for shape in inputs)
    return variables.get(read.variable, UNKNOWN)


def _leaving(name: str, state: State, inputs: Shapes) -> Iterator[tuple[str, Shape]]:
    """Yield the states that may follow, each with a shape that its input may have."""
    for shape in inputs:
        for catcher in state.catchers:
            yield catcher.next, None if state.flow.jsonata else put(catcher.result_path, shape, None)
        if isinstance(state, Choice):
            for branch in state.branches:
                of_branch = shape if branch.output is None else _shape_of(branch.output, shape, None)
                yield branch.next, of_branch if state.flow.jsonata else _output(name, state, shape)
            if state.default is not None:
                yield state.default, _output(name, state, shape)
        elif state.next is not None:
            yield state.next, _output(name, state, shape)


def _output(name: str, state: State, shape: Shape) -> Shape:
    """Return the shape of a state's output."""
    flow = state.flow
    if flow.jsonata:
        result = _result_of(name, state)
        if flow.output is None:
            return result if isinstance(state, Workable) else shape
        return _shape_of(flow.output, shape, result)
    return _known(select(_placed(name, state, shape), flow.output_path))


def _placed(name: str, state: State, shape: Shape) -> Shape:
    """Return the shape of what OutputPath selects from, in JSONPath mode."""
    flow = state.flow
    if isinstance(state, Pass):
        return put(flow.result_path, shape, None if state.has_result else _effective(state, shape))
    if not isinstance(state, Workable):
        return _document(state, shape)
    result = _result_of(name, state)
    if flow.result_selector is not None:
        result = _shape_of(flow.result_selector, None, result)
    return put(flow.result_path, shape, result)


def _document(state: State, shape: Shape) -> Shape:
    """Return the shape of what the fields of a state read as its input."""
    return shape if state.flow.jsonata else _known(select(shape, state.flow.input_path))


def _effective(state: State, shape: Shape) -> Shape:
    """Return the shape of what the worker gets."""
    document, template = _document(state, shape), state.flow.parameters
    return document if template is None else _shape_of(template, document, document)


def _assigning(name: str, state: State, shape: Shape) -> Shape:
    """Return the shape of what an Assign reads: in JSONPath mode as `$`, in JSONata mode as the result."""
    if isinstance(state, Pass):
        return None if state.has_result else _effective(state, shape)
    return _result_of(name, state) if isinstance(state, Workable) else _document(state, shape)


def _result_of(name: str, state: State) -> Shape:
    schema = state.brief.schema if isinstance(state, Task) and state.brief is not None else None
    return Promised(schema=schema, root=schema, task=name) if isinstance(schema, dict) else None


def _inside(
    state: State, document: Mapping[str, Json], inputs: Shapes
) -> Iterator[tuple[str, Machine, Mapping[str, Json], Shapes]]:
    """Yield the machines inside a state, with their JSON and the shapes of their inputs."""
    if isinstance(state, Parallel):
        shapes = tuple(_effective(state, shape) for shape in inputs)
        for at, branch in enumerate(state.branches):
            yield f"Branches/{at}", branch, document["Branches"][at], shapes
    if isinstance(state, Map):
        name = "Iterator" if "Iterator" in document else "ItemProcessor"
        is_plain = not state.distributed and state.selector is None and state.reader is None and state.batcher is None
        items = tuple(_items(state, item) for item in inputs) if is_plain else UNKNOWN
        yield name, state.processor, document[name], items


def _items(state: Map, shape: Shape) -> Shape:
    document = _document(state, shape)
    listed = document if state.items is None else _shape_of(state.items, document, document)
    return elements(listed)


def _shape_of(template: Template, input_shape: Shape, here: Shape) -> Shape:
    """Return the shape of what a template makes. `here` is what its JSONPaths read, and in JSONata mode the result."""
    if isinstance(template, Query):
        match = PLAIN_PATH.fullmatch(template.compiled.text)
        names = [] if match is None else match["names"].split(".")[1:]
        return (
            None
            if match is None
            else _known(follow(input_shape if match["part"] == "input" else here, names, maps=True))
        )
    if isinstance(template, Path):
        return _known(select(here, template))
    if isinstance(template, PathReference):
        return _known(select(here, template.source)) if isinstance(template.source, Path) else None
    shape: Shape = None
    for name, part in template.members if isinstance(template, ObjectTemplate) else ():
        inner = _shape_of(part, input_shape, here)
        if inner is not None:
            shape = Placed(base=shape, name=name, inner=inner)
    return shape


def _members(template: Template | None) -> Iterator[tuple[str, Template | None]]:
    if isinstance(template, ObjectTemplate):
        yield from template.members
    elif isinstance(template, Literal) and isinstance(template.value, dict):
        yield from ((name, None) for name in template.value)


def _known(shape: Shape | NotThere) -> Shape:
    return None if isinstance(shape, NotThere) else shape


def _joined(before: Shapes, more: Shapes) -> Shapes:
    """Return the shapes that are in either; what may have many shapes, or an unknown one, is not known."""
    joined = [*before, *(shape for shape in more if shape not in before)]
    return UNKNOWN if None in joined or len(joined) > _MOST else tuple(joined)
