"""State paths: the names of states in a run, unique across Parallel and Map. Pure.

The path of a state at the root is its name. Inside scopes it is `<path of the Parallel>/<branch>/<Name>` or `<path
of the Map>/<item>/<Name>`. A scope is everything before the last slash, "" at the root.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_CODES: Final = {"%": "%25", "/": "%2F"}
_SPECIAL = re.compile(r"[%/]")
_CODE = re.compile(r"%(25|2F)")
_CHARACTERS: Final = {"25": "%", "2F": "/"}


def join(scope: str, name: str) -> str:
    """Return the path of a state in a scope."""
    if scope:
        return f"{scope}/{_encoded(name)}"
    if "/" not in name and "%" not in name:
        return name
    # At the root the path is the plain name, unless that could be read as the path of another state.
    return _encoded(name) if "/" in name or _decoded(name) != name else name


def components(path: str) -> tuple[str, ...]:
    """Return the names and numbers in a path."""
    return tuple(map(_decoded, path.split("/")))


def path_of(names: Sequence[str]) -> str:
    """Return the path of these names and numbers; the inverse of `components`."""
    return join("", names[0]) if len(names) == 1 else "/".join(map(_encoded, names))


def inside(scope: str, path: str) -> str:
    """Convert a path in a nested machine to a path in the machine around it; `scope` is where the nested one runs."""
    if "/" in path:
        return f"{scope}/{path}"
    return join(scope, _decoded(path))


@lru_cache(maxsize=4096)
def split(path: str) -> tuple[str, str]:
    """Return the scope and the name of a state."""
    if "/" not in path and "%" not in path:
        return "", path
    scope, _, last = path.rpartition("/")
    return scope, _decoded(last)


@lru_cache(maxsize=4096)
def name_of(path: str) -> str:
    """Return the name of a state."""
    return split(path)[1]


@lru_cache(maxsize=4096)
def ancestors(path: str) -> tuple[str, ...]:
    """List the paths of the Parallel and Map states around a state, outermost first; raise KeyError for no path."""
    owners: list[str] = []
    scope = split(path)[0]
    while scope:
        try:
            owner, _ = split_scope(scope)
        except ValueError:
            raise KeyError(path) from None
        owners.append(owner)
        scope = split(owner)[0]
    return tuple(reversed(owners))


@lru_cache(maxsize=4096)
def split_scope(scope: str) -> tuple[str, int]:
    """Return the path of the Parallel or Map that a scope belongs to, and its index; raise ValueError if none."""
    parent, _, index = scope.rpartition("/")
    if not parent or not index.isascii() or not index.isdigit():
        raise ValueError(f"'{scope}' is not a branch or an iteration")
    # A parent at the root has its plain name as path, though it is written as a component inside a longer path.
    return (parent if "/" in parent else join("", _decoded(parent))), int(index)


@lru_cache(maxsize=4096)
def open_scope(path: str, index: int) -> str:
    """Return the scope of a branch of a Parallel or of an iteration of a Map."""
    if "/" not in path:
        path = _encoded(_decoded(path))
    return f"{path}/{index}"


def within(path: str, owner: str) -> bool:
    """Return True if a state or scope lies inside the Parallel or Map `owner`."""
    return path.startswith(open_scope(owner, 0)[:-1])


@lru_cache(maxsize=4096)
def _encoded(name: str) -> str:
    return _SPECIAL.sub(lambda match: _CODES[match.group()], name)


def _decoded(component: str) -> str:
    return _CODE.sub(lambda match: _CHARACTERS[match.group(1)], component) if "%" in component else component
