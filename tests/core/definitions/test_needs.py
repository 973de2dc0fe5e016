"""What is read before a state is left: only what can matter, however large a Map may be."""

from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.definitions import needs
from dcf.core.documents.model import Status
from tests.core.build import definition
from tests.support.tables import rows
from tests.support.workflows.scopes import END, each, parallel, retrying, task, when

AGAIN = retrying("Broken")
PLAIN = {"Each": each({"Score": task()})}
NESTED = {"Each": each({"Inner": each({"Leaf": task()})})}
RETRIED = {"Each": each({"Score": task()}, Retry=AGAIN)}
BY_ASKING = {
    "Each": each({"Score": task()}, following="Ask"),
    "Ask": task("More"),
    "More": when("$.more", "Each", "End", BooleanEquals=True),
    "End": END,
}
"""The worker that completes `Ask` opens the Map again."""
BY_ITSELF = {
    "Each": each({"Score": task()}, following="More"),
    "More": when("$[0].more", "Each", "End", BooleanEquals=True),
    "End": END,
}
"""The call that joins the Map opens it again."""
BRANCHES = {"Each": parallel({"Left": task()}, {"Right": task()})}


def read_to_join(states: dict[str, Any], size: int = 2, path: str = "Each", **more: Any) -> tuple[str, ...]:
    return needs.to_join(definition(states, "Each"), path, size, **more).states


SCOPES = {"a Map": PLAIN, "a nested Map": NESTED, "a Map with Retry": RETRIED, "a Parallel": BRANCHES}


@rows("states", SCOPES.values(), ids=SCOPES)
def test_joining_reads_nothing_inside_a_scope_that_it_cannot_open(states: dict[str, Any]) -> None:
    """It was 41 documents for a Map of two items, and 201 where the Map stood in another."""
    assert read_to_join(states) == ("Each",)


def test_joining_a_map_in_a_loop_reads_what_it_leads_to() -> None:
    assert read_to_join(BY_ASKING) == ("Each", "Ask")


def test_joining_a_nested_map_reads_the_scopes_around_it() -> None:
    reads = needs.to_join(definition(NESTED, "Each"), "Each/0/Inner", 2)
    assert reads.states == ("Each/0/Inner", "Each")
    assert reads.outputs == ("Each/0/Inner/0", "Each/0/Inner/1")


def test_joining_reads_whose_completion_it_follows() -> None:
    assert read_to_join(PLAIN, by="Each/1/Score") == ("Each", "Each/1/Score")


def test_joining_a_map_that_opens_itself_again_reads_what_was_open_before() -> None:
    """Their stored replies are kept; an earlier visit may have been of more items."""
    assert read_to_join(BY_ITSELF) == ("Each", *(f"Each/{index}/Score" for index in range(40)))


def test_a_map_with_read_items_looks_inside_only_if_it_may_have_been_open() -> None:
    assert read_to_join(PLAIN, 0, opens=True) == ("Each",)
    assert len(read_to_join(RETRIED, 0, opens=True)) == 41
    assert len(read_to_join(BY_ASKING, 0, opens=True)) == 42


@rows(("size", "inside"), [(2, 2), (100, 40), (None, 40)])
def test_entering_a_map_again_reads_as_many_documents_as_it_had_open(size: int | None, inside: int) -> None:
    reads = needs.to_end(definition(RETRIED, "Each"), "Each", size)
    assert reads.states == ("Each", *(f"Each/{index}/Score" for index in range(inside)))


@rows(
    ("limit", "inside"),
    [({}, 40), ({"MaxConcurrency": 0}, 40), ({"MaxConcurrency": 3}, 3), ({"MaxConcurrency": 1000}, 200)],
    ids=str,
)
def test_a_map_of_unknown_size_is_read_up_to_its_limit(limit: dict[str, Any], inside: int) -> None:
    reads = needs.to_end(definition({"Each": each({"Score": task()}, Retry=AGAIN, **limit)}, "Each"), "Each")
    assert len(reads.states) == 1 + inside


def test_a_completion_reads_what_it_may_open_again() -> None:
    request = Update(state="Ask", token="t", status=Status.SUCCEEDED, has_output=True)
    reads = needs.to_update(definition(BY_ASKING, "Each"), request)
    assert reads.states == ("Ask", "Each", *(f"Each/{index}/Score" for index in range(40)))


def test_what_the_workflow_does_not_have_needs_nothing() -> None:
    assert read_to_join(PLAIN, path="Other") == ()
    assert needs.to_end(definition(PLAIN, "Each"), "Other").states == ()
