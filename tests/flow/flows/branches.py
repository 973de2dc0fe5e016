"""Nested Parallel, `definitions/nested_parallel.json`: a flow that is called in a branch has branches of its own."""

from dcf import flow, parallel, task


@task
def measure(place: str, factor: int = 1) -> int:
    return len(place) * factor


@flow
def side(place: str) -> int:
    width, height = parallel(measure(place), measure(place, 2))
    return width * height


@flow
def branches(left: str, right: str) -> dict[str, int]:
    """Measure two sides, each of them in two ways, at the same time."""
    first, second, third = parallel(side(left), side(right), measure(left + right))
    return {"left": first, "right": second, "both": third}
