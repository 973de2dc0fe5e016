"""A Map's items: where they come from, their batches, how many run at once, and the input of each iteration.

Works on values only; the engine decides when an iteration starts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.asl.expressions.templates import Template
from dcf.asl.flow import render
from dcf.asl.items.reading import reader_failure
from dcf.asl.jsonata.expressions import QUERY_ERROR, Query
from dcf.asl.limits import MAX_ITEMS, bounded
from dcf.asl.machine import Map
from dcf.asl.retrying import RUNTIME
from dcf.asl.states import Batcher
from dcf.asl.steps import Tolerance
from dcf.asl.surroundings import Surroundings
from dcf.asl.syntax.fields import kind
from dcf.errors import StateError
from dcf.values.json_text import Json, byte_length, dump
from dcf.values.records import replace
from dcf.values.text_pieces import clip

MAX_CONCURRENCY: Final = 40
"""Concurrent iterations when the Map sets no limit."""

MAX_BATCH_BYTES: Final = 262_144
_PERCENT: Final = 100
_NUMERIC: Final = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
"""Strings that AWS accepts as numbers at a path."""


def read_from(state: Map, raw: Json, around: Surroundings) -> Mapping[str, Any] | None:
    """Return where to read the items, as the fields of a NeedItems; None when they are in the Map's input."""
    if state.reader is None:
        return None
    document = state.flow.document(raw, around)
    config = {name: value for name, value in state.reader.config.items() if not name.startswith("MaxItems")}
    most = _number(state, "MaxItems", state.reader.max_items, document, around)
    if most is not None and (most < 0 or most != int(most)):
        raise reader_failure("field MaxItems must be positive")
    if most:
        config["MaxItems"] = int(most)
    arguments = None if state.reader.arguments is None else render(state.reader.arguments, document, around)
    return {"resource": state.reader.resource, "arguments": arguments, "config": config}


def items_of(state: Map, raw: Json, around: Surroundings) -> list[Json]:
    """Return the items in the Map's input; raise StateError when there are none."""
    document = state.flow.document(raw, around)
    own = raw if state.flow.jsonata else document
    return _listed(state, own if state.items is None else state.items.render(document, around))


def items_read(state: Map, read: Json) -> list[Json]:
    """Return the items that a reader read. As on AWS, an ItemsPath is ignored if there is an ItemReader."""
    if not isinstance(read, list) and not state.flow.jsonata:
        raise reader_failure("Attempting to map over non-iterable node.")
    return _listed(state, read)


def concurrency_of(state: Map, raw: Json, around: Surroundings) -> int:
    """Return how many iterations may run at once."""
    limit = _number(state, "MaxConcurrency", state.concurrency, state.flow.document(raw, around), around)
    if limit is None or limit == 0:
        return MAX_CONCURRENCY
    if limit < 0 or limit != int(limit):
        raise _wrong(state, "MaxConcurrency must be an integer that is not negative.")
    return int(limit)


def tolerance_of(state: Map, raw: Json, around: Surroundings) -> Tolerance:
    """Return how many failed iterations the Map tolerates."""
    if state.tolerated_count is None and state.tolerated_percentage is None:
        return Tolerance()
    document = state.flow.document(raw, around)
    count = _number(state, "ToleratedFailureCount", state.tolerated_count, document, around)
    share = _number(state, "ToleratedFailurePercentage", state.tolerated_percentage, document, around)
    if count is not None and (count < 0 or count != int(count)):
        raise _wrong(state, "ToleratedFailureCount must be an integer that is not negative.")
    if share is not None and not 0 <= share <= _PERCENT:
        raise _wrong(state, "ToleratedFailurePercentage must be between 0 and 100.")
    return Tolerance(count=None if count is None else int(count), percentage=None if share is None else float(share))


def write_to(state: Map, raw: Json, label: str, around: Surroundings) -> Mapping[str, Any]:
    """Return where the results go, as the fields of a WriteResults, with what replaces them in the output."""
    writer = state.writer
    assert writer is not None, "the caller looked"
    document = state.flow.document(raw, around)
    arguments = {} if writer.arguments is None else render(writer.arguments, document, around)
    about = arguments if isinstance(arguments, dict) else {}
    name, run = state.label or label, around.chance.uuid()
    key = "/".join(part for part in (str(about.get("Prefix", "")).strip("/"), run, "manifest.json") if part)
    execution = around.context.get("Execution")
    owner = execution.get("Id", "") if isinstance(execution, dict) else ""
    return {
        "resource": writer.resource,
        "arguments": arguments,
        "config": None if writer.config is None else render(writer.config, document, around),
        "details": {
            "MapRunArn": f"{owner}/{name}:{run}",
            "ResultWriterDetails": {"Bucket": str(about.get("Bucket", "")), "Key": key},
        },
    }


def iteration_input(state: Map, effective: Json, index: int, value: Json, around: Surroundings) -> Json:
    """Return the input of one iteration; a batch is already complete."""
    if state.selector is None or state.batcher is not None:
        # Values in the state's own input are within the limits already; values in a file may be larger.
        return value if state.reader is None else bounded(value)
    return selected(state.selector, effective, index, value, around)


def selected(selector: Template, effective: Json, index: int, value: Json, around: Surroundings) -> Json:
    """Apply the ItemSelector to one item."""
    context = {**around.context, "Map": {"Item": {"Index": index, "Value": value}}}
    return render(selector, effective, replace(around, context=context))


def batches(state: Map, items: list[Json], effective: Json, around: Surroundings) -> list[Json]:
    """Group the items into batches if the Map has an ItemBatcher."""
    if state.batcher is None:
        return items
    if state.selector is not None:
        selector = state.selector
        items = [selected(selector, effective, index, item, around) for index, item in enumerate(items)]
    shared = None if state.batcher.shared is None else render(state.batcher.shared, effective, around)
    most, size = _batch_limits(state, state.batcher, effective, around)
    head = {} if shared is None else {"BatchInput": shared}
    return [bounded({**head, "Items": part}) for part in _cut(items, most, size)]


def _batch_limits(state: Map, batcher: Batcher, effective: Json, around: Surroundings) -> tuple[int, int]:
    most = _number(state, "MaxItemsPerBatch", batcher.max_items, effective, around)
    size = _number(state, "MaxInputBytesPerBatch", batcher.max_bytes, effective, around)
    for name, limit in (("MaxItemsPerBatch", most), ("MaxInputBytesPerBatch", size)):
        if limit is not None and (limit < 1 or limit != int(limit)):
            raise _wrong(state, f"{name} must be a positive integer.")
    return int(most or MAX_ITEMS), int(size or MAX_BATCH_BYTES)


def _cut(items: list[Json], most: int, size: int) -> Iterator[list[Json]]:
    batch: list[Json] = []
    weight_of_batch = 0
    for item in items:
        weight = byte_length(item) + 1
        if batch and (len(batch) == most or weight_of_batch + weight > size):
            yield batch
            batch, weight_of_batch = [], 0
        batch.append(item)
        weight_of_batch += weight
    if batch:
        yield batch


def _listed(state: Map, items: Json) -> list[Json]:
    if isinstance(items, dict) and state.flow.jsonata and state.distributed:
        return [{"Key": key, "Value": value} for key, value in items.items()]
    if not isinstance(items, list):
        raise _not_an_array(state, items)
    if len(items) > MAX_ITEMS:
        raise _wrong(state, f"The Map has more than {MAX_ITEMS} items.")
    return items


def _not_an_array(state: Map, document: Json) -> StateError:
    name = kind(document).split()[-1]
    if isinstance(state.items, Query):
        shown = clip(dump(document), 200)
        problem = f"returned an unexpected result type. Expected 'array', but was '{name}' for value: {shown}"
        return state.items.failure(problem)
    return _wrong(state, f"Map state input must be an array but was: {clip(dump(document), 200)}")


def _number(state: Map, field: str, source: Template | None, document: Json, around: Surroundings) -> float | None:
    if source is None:
        return None
    rendered = source.render(document, around)
    if isinstance(rendered, str) and not state.flow.jsonata and _NUMERIC.fullmatch(rendered):
        rendered = float(rendered)
    if isinstance(rendered, bool) or not isinstance(rendered, int | float):
        raise _wrong(state, f"{field} refers to the value {clip(dump(rendered), 200)}, which is not a number.")
    return rendered


def _wrong(state: Map, cause: str) -> StateError:
    return StateError(QUERY_ERROR if state.flow.jsonata else RUNTIME, cause)
