"""Compiles a workflow's JSON into a machine, or lists everything that is wrong with it.

Never raises, whatever the JSON is. Transitions are checked on the JSON itself. So a state that does not compile
does not make its neighbours look unreachable.
"""

from dataclasses import dataclass, field
from typing import Final

from dcf.asl.limits import exceeds_depth
from dcf.asl.machine import Machine, State
from dcf.asl.syntax.fields import MAX_SECONDS, DefinitionFields, Findings, token
from dcf.asl.syntax.flow import MAX_NAME
from dcf.asl.syntax.states import parse_state, read_language
from dcf.asl.syntax.transitions import Edge, check_graph, edges_of
from dcf.asl.syntax.variables import Scopes
from dcf.errors import Problem
from dcf.values.json_text import MAX_WORKFLOW_DEPTH, Json
from dcf.values.names import escaped, hidden_in
from dcf.values.records import replace

MAX_STATES: Final = 10_000
MAX_PROBLEMS: Final = 1_000

_HEAD: Final = frozenset({"Comment", "StartAt", "States", "Version", "QueryLanguage", "TimeoutSeconds"})
_INNER: Final = frozenset({"Comment", "StartAt", "States", "QueryLanguage", "ProcessorConfig"})


def parse_machine(document: Json, path: str = "") -> tuple[Machine | None, tuple[Problem, ...]]:
    """Compile a machine; `path` is the JSON Pointer to the document, used in problems."""
    refusal = _refusal(document)
    if refusal is not None:
        code, message, hint = refusal
        return None, (Problem(path=path, code=code, message=message, hint=hint),)
    findings = Findings()
    fields = DefinitionFields(document=document, pointer=path, owner="The machine", findings=findings)
    fields.allow(_HEAD)
    fields.choice("Version", ("1.0",))
    timeout = fields.whole("TimeoutSeconds", 1, MAX_SECONDS)
    reading = _Parse(findings=findings, jsonata=bool(read_language(fields)))
    machine = reading.read(fields)
    if machine is None or findings.problems:
        return None, tuple(findings.problems[:MAX_PROBLEMS])
    return Machine(
        start_at=machine.start_at,
        states=machine.states,
        timeout_s=timeout,
        warnings=tuple(findings.warnings[:MAX_PROBLEMS]),
    ), ()


def _refusal(document: Json) -> tuple[str, str, str] | None:
    if not isinstance(document, dict):
        return "wrong_type", "The machine must be an object.", "Write an object with StartAt and States."
    if exceeds_depth(document, MAX_WORKFLOW_DEPTH):
        message = f"The machine is nested deeper than {MAX_WORKFLOW_DEPTH} levels."
        return "too_deep", message, "Flatten the definition."
    return None


@dataclass(slots=True, kw_only=True)
class _Parse:
    """One pass over a whole document: the state names seen so far, and the variables of the surrounding scopes."""

    findings: Findings
    jsonata: bool
    names: set[str] = field(default_factory=set)
    scopes: Scopes = field(default_factory=Scopes)

    def nested(self, fields: DefinitionFields) -> Machine:
        """Read a machine inside a state; return an empty one when it has problems."""
        fields = replace(fields, jsonata=self.jsonata)
        fields.allow(_INNER)
        read_language(fields)
        return self.read(fields) or Machine(start_at="", states={})

    def read(self, fields: DefinitionFields) -> Machine | None:
        """Read a machine; report the problems and return None when it has any."""
        before = len(self.findings.problems)
        fields = replace(fields, jsonata=self.jsonata)
        fields.text("Comment")
        start_at = fields.required_text("StartAt", "Name the state that runs first.")
        documents: dict[str, Json] = fields.value("States", dict, "an object of states") or {}
        if fields.document.get("States", {}) == {}:
            message = "States needs at least one state."
            fields.note(None, "missing_field", message, "Add a state and name it in StartAt.")
        if len(self.names) + len(documents) > MAX_STATES:
            message = f"a machine has at most {MAX_STATES} states, nested ones included."
            fields.note("States", "too_many_states", message, "Split the workflow.")
            return None
        states = self._states(fields, documents)
        return Machine(start_at=start_at, states=states) if len(self.findings.problems) == before else None

    def _states(self, fields: DefinitionFields, documents: dict[str, Json]) -> dict[str, State]:
        states: dict[str, State] = {}
        edges: dict[str, list[Edge]] = {}
        for name in documents:
            self._check_name(fields, name)
        with self.scopes.entered(fields, documents):
            for name, document in documents.items():
                self.scopes.reading(name)
                opened = fields.members(f"/States/{token(name)}", document, f"State '{escaped(name)}'")
                state = None if opened is None else parse_state(opened, self.nested)
                if state is not None:
                    states[name] = state
                edges[name] = list(edges_of(document)) if isinstance(document, dict) else []
        check_graph(fields, documents, edges)
        return states

    def _check_name(self, fields: DefinitionFields, name: str) -> None:
        tail, owner = f"/States/{token(name)}", f"State '{escaped(name)}'"
        hidden = hidden_in(name)
        if not 0 < len(name) <= MAX_NAME:
            message = f"{owner}: a state's name has 1 to {MAX_NAME} characters."
            fields.report(tail, "invalid_name", message, "Rename the state.")
        elif hidden is not None:
            message = f"{owner}: its name has an invisible character ({hidden})."
            fields.report(tail, "invalid_name", message, "Rename the state.")
        if name in self.names:
            message = f"{owner}: another state of the workflow has this name."
            fields.report(tail, "duplicate_name", message, "Names are unique over all nested machines: rename it.")
        self.names.add(name)
