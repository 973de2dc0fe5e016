"""The functions of the states of one name: one function for all of them, or those of flows, each for its own tasks.

Two flows may have a step of the same name. A worker serves the step that it has the function of, and no other: the
answer to a lease names the function that the run means, and so does an event that comes without one.
"""

from collections.abc import Mapping
from typing import TypeAlias

from dcf.asl.resources import is_same_function
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.worker.functions import TaskFunction, TaskPlan, plan_of


@record(frozen=True, slots=True)
class PlacedFunctions:
    """The functions that flows have for the states of one name, by module and name."""

    by_place: Mapping[str, TaskFunction]


StateFunction: TypeAlias = TaskFunction | PlacedFunctions
"""The function, or the functions by place, that a worker has for the states of one name."""


@record(frozen=True, slots=True)
class StatePlans:
    """How the states of one name are worked on; `anywhere` is the plan of those whose function has no place."""

    anywhere: TaskPlan | None
    by_place: Mapping[str, TaskPlan]

    def plan_for(self, resource: Json) -> TaskPlan | None:
        """Return the plan of the function that is meant, which may be none of these.

        A state that names no function means any function of the state's name, if there is one only.
        """
        if self.anywhere is not None:
            return self.anywhere
        if resource is None:
            return next(iter(self.by_place.values())) if len(self.by_place) == 1 else None
        return next((plan for place, plan in self.by_place.items() if is_same_function(place, str(resource))), None)

    def refusal_of(self, resource: Json) -> str | None:
        """Return why a state that means this function is not worked on; None if it is."""
        if self.plan_for(resource) is not None:
            return None
        meant = "names no function" if resource is None else f"means the function {resource}"
        return f"the state {meant}, and this worker has {', '.join(self.by_place)}. Serve the file of that flow."

    def refusal_of_event(self, event: Mapping[str, Json]) -> str | None:
        """Return why the state of an event is not worked on, as far as the event names its function."""
        return self.refusal_of(event["function"]) if "function" in event else None


def plans_of(function: StateFunction, state: str) -> StatePlans:
    """Return how the states of this name are worked on; raise InvalidArgument for what cannot be called."""
    if isinstance(function, PlacedFunctions):
        return StatePlans(None, {place: plan_of(own, state) for place, own in function.by_place.items()})
    return StatePlans(plan_of(function, state), {})
