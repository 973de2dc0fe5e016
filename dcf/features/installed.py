"""Lists the capabilities once, in their order: that of a completion, outermost first. A line adds a capability to dcf.

A capability may import those below it in the list, and none above. A line has the modules of the folder that offer
something, so that a process imports no more than it needs: this module itself must import none of them. The modules
`installed_language`, `installed_decisions`, `installed_runs` and `installed_explanations` install the offers. Servers
ask for the modules of verbs.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Final, TypeVar

Offer = TypeVar("Offer")

CAPABILITIES: Final[Mapping[str, tuple[str, ...]]] = {
    "traces": (),
    "export": (),
    "retention": ("verbs",),
    "external": ("explaining", "verbs", "callback_verbs"),
    "search": ("verbs",),
    "people": ("syntax", "capability", "run_offers", "verbs"),
    "questions": ("capability", "explaining", "run_offers", "verbs", "correction_verbs"),
    "growing": ("capability", "run_offers", "verbs"),
    "accounts": ("billing_operations", "explaining", "run_offers", "verbs", "turn_verbs"),
    "gates": ("syntax", "capability", "explaining", "run_offers", "verbs", "override_verbs"),
    "diagnosis": ("verbs",),
    "health": ("verbs",),
    "agent_context": ("verbs",),
    "projects": ("verbs",),
    "project_files": (),
    "webhooks": ("verbs",),
    "catalogue": ("verbs",),
    "usage": ("capability", "run_offers", "verbs"),
    "work": ("run_offers", "verbs"),
    "findings": ("verbs", "promotion_verbs"),
    "a2a": (),
    "artifacts": ("verbs",),
    "children": ("syntax",),
    "documents": ("verbs",),
    "journal": ("run_offers", "verbs"),
    "schedules": ("verbs",),
    "task_log": ("verbs",),
}
"""The modules of each capability that offer something to the engine (each has an `OFFER`), or have verbs."""


def offers(module: str, kind: type[Offer]) -> tuple[Offer, ...]:
    """Import a module of each capability that lists it. Return the offers of these modules, in the order above.

    Raise TypeError for an offer that is not of the kind.
    """
    names = _modules(lambda name: name == module)
    # nosemgrep: nothing-of-a-caller-is-executed - only the modules above
    offered = {name: import_module(name).OFFER for name in names}
    for name, offer in offered.items():
        if not isinstance(offer, kind):
            raise TypeError(f"{name}.OFFER must be of {kind.__name__}.")
    return tuple(offered.values())


def verb_modules() -> tuple[str, ...]:
    """Import the modules in which capabilities describe their verbs. Return their full names."""
    names = _modules(lambda name: name.endswith("verbs"))
    # nosemgrep: nothing-of-a-caller-is-executed - only the modules above
    return tuple(import_module(name).__name__ for name in names)


def _modules(is_wanted: Callable[[str], bool]) -> Iterator[str]:
    for capability, names in CAPABILITIES.items():
        yield from (f"{__package__}.{capability}.{name}" for name in names if is_wanted(name))
