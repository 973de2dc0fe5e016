"""How a state of a running machine is named: by the path of scopes that leads to it.

A root state is named by its name. Inside it is `<path of the Parallel>/<branch>/<Name>` or
`<path of the Map>/<item>/<Name>`; a scope is everything before the last slash, "" at the root.
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
    """Name a state of a scope."""
    if scope:
        return f"{scope}/{_encoded(name)}"
    if "/" not in name and "%" not in name:
        return name
    # At the root a name stands as it is, unless it could then be taken for the path of another.
    return _encoded(name) if "/" in name or _decoded(name) != name else name


def components(path: str) -> tuple[str, ...]:
    """Tell the names and numbers that a path is made of."""
    return tuple(map(_decoded, path.split("/")))


def path_of(names: Sequence[str]) -> str:
    """Make the path of these names and numbers; the opposite of `components`."""
    return join("", names[0]) if len(names) == 1 else "/".join(map(_encoded, names))


def inside(scope: str, path: str) -> str:
    """Spell a path of a nested machine as a path of the machine around it; `scope` is where it stands."""
    if "/" in path:
        return f"{scope}/{path}"
    return join(scope, _decoded(path))


def split(path: str) -> tuple[str, str]:
    """Tell the scope and the name of a state."""
    if "/" not in path and "%" not in path:
        return "", path
    scope, _, last = path.rpartition("/")
    return scope, _decoded(last)


def name_of(path: str) -> str:
    """Tell the name of a state."""
    return split(path)[1]


@lru_cache(maxsize=1024)
def ancestors(path: str) -> tuple[str, ...]:
    """List the paths of the Parallel and Map states around a state, outermost first; KeyError for no path."""
    found: list[str] = []
    scope = split(path)[0]
    while scope:
        try:
            owner, _ = split_scope(scope)
        except ValueError:
            raise KeyError(path) from None
        found.append(owner)
        scope = split(owner)[0]
    return tuple(reversed(found))


def split_scope(scope: str) -> tuple[str, int]:
    """Tell the path of the Parallel or Map a scope belongs to, and its index there; ValueError if none."""
    parent, _, index = scope.rpartition("/")
    if not parent or not index.isascii() or not index.isdigit():
        raise ValueError(f"'{scope}' is not a branch or an iteration")
    # A parent that is a root state stands alone, though its path is now spelled as a component of a longer one.
    return (parent if "/" in parent else join("", _decoded(parent))), int(index)


def open_scope(path: str, index: int) -> str:
    """Name the branch or iteration of a Parallel or Map."""
    if "/" not in path:
        path = _encoded(_decoded(path))
    return f"{path}/{index}"


def within(path: str, owner: str) -> bool:
    """Tell whether a state or scope lies inside the Parallel or Map `owner`."""
    return path.startswith(open_scope(owner, 0)[:-1])


def _encoded(name: str) -> str:
    return _SPECIAL.sub(lambda found: _CODES[found.group()], name)


def _decoded(component: str) -> str:
    return _CODE.sub(lambda found: _CHARACTERS[found.group(1)], component) if "%" in component else component
