"""Resolves a path to a state of a machine and the Parallel and Map states around it.

Reads the machine only, not the run: it does not check that an iteration of that number exists.
"""

from typing import Final

from dcf.asl.machine import Machine, Place
from dcf.asl.state_paths import ancestors, join, open_scope, split, split_scope

__all__ = ["Place", "ancestors", "join", "machine_of", "open_scope", "resolve", "split", "split_scope"]


_MOST_KEPT: Final = 1024
"""Places that a machine keeps: paths inside a Map are as many as its items."""


def resolve(machine: Machine, path: str) -> Place:
    """Return the state at a path; raise KeyError if there is none."""
    known = machine.places.get(path)
    if known is None:
        if len(machine.places) >= _MOST_KEPT:
            machine.places.clear()
        known = machine.places[path] = _resolve(machine, path)
    return known


def _resolve(machine: Machine, path: str) -> Place:
    known = machine.states.get(path) if "/" not in path and "%" not in path else None
    if known is not None:
        return Place(machine=machine, state=known, name=path, path=path, scope="")
    scope, name = split(path)
    here = machine_of(machine, scope)
    if name not in here.states or join(scope, name) != path:
        raise KeyError(path)
    return Place(machine=here, state=here.states[name], name=name, path=path, scope=scope)


def machine_of(machine: Machine, scope: str) -> Machine:
    """Return the machine that runs in a scope; raise KeyError if there is none."""
    chain: list[tuple[str, int]] = []
    while scope:
        try:
            owner, index = split_scope(scope)
        except ValueError:
            raise KeyError(scope) from None
        chain.append((owner, index))
        scope = split(owner)[0]
    for owner, index in reversed(chain):
        machine = _inside(machine, split(owner)[1], index)
    return machine


def _inside(machine: Machine, name: str, index: int) -> Machine:
    result = machine.states[name].machine_at(index)
    if result is None:
        raise KeyError(name)
    return result
