"""Checks which variables nested scopes set and read: clashes are problems, unknown names are warnings. Pure."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dcf.asl.syntax.fields import DefinitionFields, token
from dcf.errors import Problem
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip


@dataclass(slots=True, kw_only=True)
class _VariableScope:
    """The variables that the states of one machine set, by place; `own` is the place of the state being read."""

    assigned: tuple[tuple[str, str], ...]
    own: str = ""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for _, name in self.assigned)

    @property
    def guarded(self) -> frozenset[str]:
        """The names that machines inside the state being read may not set as well.

        Names set by the state's own Catchers are left out: Catchers run after everything inside the state has ended.
        """
        return frozenset(name for tail, name in self.assigned if not tail.startswith(f"{self.own}/Catch/"))


@dataclass(slots=True, kw_only=True)
class Scopes:
    """The variables of the scopes around the place being read, outermost first."""

    around: list[_VariableScope] = field(default_factory=list)

    @contextmanager
    def entered(self, machine: DefinitionFields, states: Mapping[str, Json]) -> Iterator[None]:
        """Check one machine's variables; read its states and the machines inside them within this context."""
        here = _VariableScope(assigned=tuple(_assigned(states)))
        self._check_outer(machine, here.assigned)
        self.around.append(here)
        reads = machine.findings.reads
        first = len(reads)
        try:
            yield
        finally:
            known = frozenset().union(*(scope.names for scope in self.around))
            for pointer, names in reads[first:]:
                _doubt(machine, pointer, names - known)
            del reads[first:]
            self.around.pop()

    def reading(self, state: str) -> None:
        """Record which state of the innermost machine is being read."""
        self.around[-1].own = f"/{token(state)}"

    def _check_outer(self, machine: DefinitionFields, result: tuple[tuple[str, str], ...]) -> None:
        outer = frozenset().union(*(scope.guarded for scope in self.around))
        for tail, name in result:
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
    """Yield the variables that the states of one scope set, each with the tail of its JSON Pointer."""
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
