"""The package of the client: every name that programs import of it, loaded when it is first asked for."""

import sys
from collections.abc import Mapping
from textwrap import wrap
from typing import Final

from dcf.verbs.description.verb import Verb
from interfaces.client_methods import names_of_records

_WIDTH: Final = 66
"""Characters of names on a line, so that they fit next to the longest name of a module."""

_WRITTEN_BY_HAND: Final[Mapping[str, tuple[str, ...]]] = {
    "dcf.client.arguments": ("Agents", "Askees", "JsonObject", "Moment", "Span", "Workflow"),
    "dcf.client.claims": ("AsyncClaim", "Claim"),
    "dcf.client.clients": ("AsyncClient", "Client"),
    "dcf.client.connecting": ("connect", "connect_async"),
    "dcf.client.records": ("ParentState", "RunDetails", "StateDetails", "WaitingSignal"),
    "dcf.client.serving": ("Serving",),
}
"""The names that the package offers besides the records of answers, by module."""

_HEAD: Final = '''\
"""The Python client: every verb of dcf as a method with typed answers, over a server or directly on Redis.

`dcf.connect` and `dcf.connect_async` open one, and docs/reference/python.md describes it. Derived from the descriptions
of the verbs by `make verbs`; do not edit. Each name is imported on first use: no program needs all records.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
'''

_TAIL: Final = '''_PLACES: Final = {name: place for place, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'dcf.client' has no attribute '{name}'")
    place = import_module(_PLACES[name])  # nosemgrep: nothing-of-a-caller-is-executed - only the modules named above
    return getattr(place, name)


def __dir__() -> list[str]:
    """Name what programs use, for editors and shells."""
    return sorted(__all__)
'''


def package_source(verbs: list[Verb]) -> str:
    """Return the module `dcf.client`; `verbs` are those whose records it offers."""
    homes = sorted({verb.record.__module__ for verb in verbs})
    offered = {**_WRITTEN_BY_HAND, **{home: tuple(sorted(names_of_records(sys.modules[home]))) for home in homes}}
    places = sorted((name, home) for home, names in offered.items() for name in names)
    assert len(dict(places)) == len(places), "two modules define a name"
    imports = "".join(f"    from {home} import {', '.join(names)}\n" for home, names in offered.items())
    listed = "".join(f"    {name!r},\n" for name, _ in places)
    by_home = "".join(f"    {home!r}: {_as_text(names)},\n" for home, names in offered.items())
    return f"{_HEAD}{imports}\n__all__ = [\n{listed}]\n\n_NAMES: Final = {{\n{by_home}}}\n{_TAIL}"


def _as_text(names: tuple[str, ...]) -> str:
    """Return the names as one text, in lines that are not too long."""
    lines = wrap(" ".join(names), _WIDTH)
    return repr(lines[0]) if len(lines) == 1 else f"({' '.join(repr(f'{line} ') for line in lines)})"
