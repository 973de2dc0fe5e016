"""The package of the client: every name that programs import of it, and the module that is loaded for it."""

import sys
from collections.abc import Mapping
from typing import Final

from dcf.verbs.description.verb import Verb
from interfaces.client_methods import names_of_records
from interfaces.data import json_source

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
"""The names of `dcf.client`, for type checkers: derived from the descriptions of the verbs by `make verbs`."""

'''


def names_source(verbs: list[Verb]) -> str:
    """Return the file with the module of each name; `verbs` are those whose records the package offers."""
    return json_source(dict(_places(verbs)))


def package_source(verbs: list[Verb]) -> str:
    """Return the stub of the module `dcf.client`."""
    imports = "".join(f"from {home} import {name}\n" for name, home in _places(verbs))
    listed = "".join(f"    {name!r},\n" for name, _ in _places(verbs))
    return f"{_HEAD}{imports}\n__all__ = [\n{listed}]\n"


def _places(verbs: list[Verb]) -> list[tuple[str, str]]:
    homes = sorted({verb.record.__module__ for verb in verbs})
    offered = {**_WRITTEN_BY_HAND, **{home: tuple(sorted(names_of_records(sys.modules[home]))) for home in homes}}
    places = sorted((name, home) for home, names in offered.items() for name in names)
    assert len(dict(places)) == len(places), "two modules define a name"
    return places
