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
    found = iterations(plane, application.histories, seen.definition, seen.workflow_id, owner, first)
    left = found.size - found.tally.done
    return {
        "path": owner,
        "label": label(owner),
        "kind": found.kind,
        "one": "branch" if found.kind == "Parallel" else "iteration",
        "size": found.size,
        "counts": [
            (status, count)
            for status, count in (
                ("failed", found.tally.failed),
                ("succeeded", found.tally.done - found.tally.failed),
                ("pending", left),
            )
            if count > 0
        ],
        "failed": [_cell(one, address) for one in found.failed],
        "cells": [_cell(row, address) for row in found.rows],
        "pages": pages(found.size, found.first, found.most, address),
        "back": address.here(inside=None, row=None),
        "link": address.to_state(owner),
    }


def _cell(one: Iteration, address: RunAddress) -> dict[str, Any]:
    is_chosen = one.path is not None and one.path.rpartition("/")[0] == (address.state or "").rpartition("/")[0]
    tries = f", {one.tries} attempts" if one.tries > 1 else ""
    return {
        "index": one.index,
        "status": one.status,
        "link": None if one.path is None else address.to_state(one.path),
        "title": f"{one.index}: {one.status}{tries}" + (f", {one.error}" if one.error else ""),
        "is_chosen": is_chosen,
    }
