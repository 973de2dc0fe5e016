"""What is inside a Parallel or Map, on the page of its run: its branches or iterations as a grid, in pages."""

from typing import Any

from dcf.runs.views.iterations import Iteration, iterations
from dcf.runs.views.overview import Glance
from dcf.web.run.table import pages
from dcf.web.run.view import RunAddress, known_path
from dcf.web.run.words import label
from dcf.web.visit import Visit


def grid(visit: Visit, seen: Glance, address: RunAddress, inside: str) -> dict[str, Any]:
    """Return a page of the grid. Raise UnknownState, and InvalidArgument for a state that is no Parallel or Map."""
    application = visit.application
    owner = known_path(seen.workflow_id, seen.definition, inside)
    plane, first = application.control_plane, address.number("row")
    iterations_read = iterations(plane, application.histories, seen.definition, seen.workflow_id, owner, first)
    left = iterations_read.size - iterations_read.tally.done
    return {
        "path": owner,
        "label": label(owner),
        "kind": iterations_read.kind,
        "one": "branch" if iterations_read.kind == "Parallel" else "iteration",
        "size": iterations_read.size,
        "counts": [
            (status, count)
            for status, count in (
                ("failed", iterations_read.tally.failed),
                ("succeeded", iterations_read.tally.done - iterations_read.tally.failed),
                ("pending", left),
            )
            if count > 0
        ],
        "failed": [_cell(iteration, address) for iteration in iterations_read.failed],
        "cells": [_cell(row, address) for row in iterations_read.rows],
        "pages": pages(iterations_read.size, iterations_read.first, iterations_read.most, address),
        "back": address.here(inside=None, row=None),
        "link": address.to_state(owner),
    }


def _cell(iteration: Iteration, address: RunAddress) -> dict[str, Any]:
    is_chosen = (
        iteration.path is not None and iteration.path.rpartition("/")[0] == (address.state or "").rpartition("/")[0]
    )
    tries = f", {iteration.tries} attempts" if iteration.tries > 1 else ""
    return {
        "index": iteration.index,
        "status": iteration.status,
        "link": None if iteration.path is None else address.to_state(iteration.path),
        "title": f"{iteration.index}: {iteration.status}{tries}" + (f", {iteration.error}" if iteration.error else ""),
        "is_chosen": is_chosen,
    }
