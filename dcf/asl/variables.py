"""Which variables the nested scopes of a definition set and read: clashes are problems, unknown names doubts."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dcf.asl.fields import DefinitionFields, token
from dcf.errors import Problem
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip


@dataclass(slots=True, kw_only=True)
class Scopes:
    """The variables set by the scopes around the place that is read now, outermost first."""

    names: list[frozenset[str]] = field(default_factory=list)

    @contextmanager
    def entered(self, machine: DefinitionFields, states: Mapping[str, Json]) -> Iterator[None]:
        """Check one machine's variables; its states, and the machines inside them, are read meanwhile."""
        found = list(_assigned(states))
        self._check_outer(machine, found)
        self.names.append(frozenset(name for _, name in found))
        reads = machine.findings.reads
        first = len(reads)
        try:
            yield
        finally:
            known = frozenset().union(*self.names)
            for pointer, names in reads[first:]:
                _doubt(machine, pointer, names - known)
            del reads[first:]
            self.names.pop()

    def _check_outer(self, machine: DefinitionFields, found: list[tuple[str, str]]) -> None:
        outer = frozenset().union(*self.names)
        for tail, name in found:
            if name in outer:
                message = f"{machine.owner}: a scope around this one assigns the variable '{clip(name)}'."
                machine.report(f"/States{tail}", "shadowed_variable", message, "Use another name.")


def _doubt(machine: DefinitionFields, pointer: str, names: frozenset[str]) -> None:
    for name in sorted(names):
        machine.findings.warnings.append(
            Problem(
                path=pointer,
                code="unassigned_variable",
                message=f"The variable '{clip(name)}' is read here, but nothing in scope assigns it.",
                hint="Assign it in a state before, or correct its name.",
            )
        )


def _assigned(states: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """List the variables that the states of one scope set, each with the tail of its pointer."""
    for state_name, state in states.items():
        if not isinstance(state, dict):
            continue
        here = f"/{token(state_name)}"
        yield from _names(here, state)
        for rules_name in ("Choices", "Catch"):
            rules = state.get(rules_name)
            for at, rule in enumerate(rules if isinstance(rules, list) else ()):
                if isinstance(rule, dict):
                    yield from _names(f"{here}/{rules_name}/{at}", rule)


def _names(tail: str, owner: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    body = owner.get("Assign")
    for key in body if isinstance(body, dict) else ():
        yield f"{tail}/Assign/{token(key)}", key.removesuffix(".$")
