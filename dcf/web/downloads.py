"""Files that the page of a run leads to: whole values that the page cuts, and the whole history. Never shown as pages.

Texts of runs are untrusted, so the headers make a browser save the file and not guess its type.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from dcf.core.listing.events import EventQuery
from dcf.errors import InvalidArgument, StoreUnavailable
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.web.run.state_details import closeup
from dcf.web.run.view import known_path
from dcf.web.visit import Visit

PARTS: Final = ("input", "output", "error", "instructions", "cause")
_JSON: Final = "application/json; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"
_PIECE: Final = 1024 * 1024


@record(frozen=True, slots=True, kw_only=True)
class Download:
    """A file: its name, its media type, and its content in pieces."""

    name: str
    media_type: str
    pieces: Iterator[str] | Iterator[bytes]

    @property
    def headers(self) -> dict[str, str]:
        """Headers that make a browser save the file."""
        return {"Content-Disposition": f'attachment; filename="{self.name}"', "X-Content-Type-Options": "nosniff"}


def value_file(visit: Visit, parameters: Mapping[str, str], workflow_id: str) -> Download:
    """Return a whole value of a run or of one of its states. Raise InvalidArgument where there is none."""
    visit.check_run(workflow_id)
    part, state = parameters.get("part", ""), parameters.get("state")
    if part not in PARTS:
        raise InvalidArgument("There is no such part.", f"Parts are: {', '.join(PARTS)}.")
    value = _of_run(visit, workflow_id, part) if not state else _of_state(visit, workflow_id, part, state)
    if value is MISSING or (value is None and part not in {"input", "output"}):
        raise InvalidArgument("There is no such value.", "The page of the run says what there is.")
    name = "-".join(map(_plain, (workflow_id, *((state,) if state else ()), part)))
    if part in {"input", "output"}:
        return Download(name=f"{name}.json", media_type=_JSON, pieces=iter((_text(value),)))
    return Download(name=f"{name}.txt", media_type=_TEXT, pieces=iter((str(value),)))


def history_file(visit: Visit, _: Mapping[str, str], workflow_id: str) -> Download:
    """Return all events of a run as one JSON document, read while it is sent."""
    visit.check_run(workflow_id)
    histories = visit.application.histories
    histories.page(workflow_id, EventQuery(), limit=1)  # raises for a run that does not exist, before anything is sent
    visit.application.refusals.exported(visit.caller.name, "history", workflow_id)
    events = (event.as_json() for event in histories.follow(workflow_id, EventQuery()))
    return Download(name=f"{_plain(workflow_id)}-history.json", media_type=_JSON, pieces=_document(workflow_id, events))


def artifact_file(visit: Visit, _: Mapping[str, str], workflow_id: str, artifact_id: str) -> Download:
    """Return an artifact, read while it is sent, as bytes of no type: what somebody says of them is not trusted."""
    reply = visit.ask("get_artifact", workflow_id=workflow_id, artifact_id=artifact_id, length=1, encoding="base64")
    if reply["code"] != "ok":
        raise InvalidArgument(str(reply["status"]), "The page of the run says what there is.")
    artifact = reply["artifact"]
    pieces = _bytes(visit, workflow_id, artifact_id, artifact["sha256"], artifact["size"])
    return Download(name=_plain(str(artifact["name"])), media_type="application/octet-stream", pieces=pieces)


def _bytes(visit: Visit, workflow_id: str, artifact_id: str, sha256: str, size: int) -> Iterator[bytes]:
    """Yield the bytes; break off where they cannot be read, so that a part is not mistaken for the whole."""
    begin = 0
    while begin < size:
        piece = visit.application.artifacts.read(workflow_id, artifact_id, begin, _PIECE)
        if isinstance(piece, Refusal) or piece.artifact.sha256 != sha256 or not piece.data:
            raise StoreUnavailable("The artifact cannot be read to its end.", "Ask for it again.")
        begin += len(piece.data)
        yield piece.data


def _document(workflow_id: str, events: Iterator[dict[str, Json]]) -> Iterator[str]:
    yield f'{{"workflow_id": {_text(workflow_id)}, "events": ['
    for at, event in enumerate(events):
        yield ("," if at else "") + "\n" + json.dumps(event, ensure_ascii=False, allow_nan=False)
    yield "\n]}\n"


def _of_run(visit: Visit, workflow_id: str, part: str) -> Json:
    meta = visit.application.runs.read(workflow_id).document
    return meta.get(part, MISSING)


def _of_state(visit: Visit, workflow_id: str, part: str, state: str) -> Json:
    definition = visit.application.control_plane.run(workflow_id).definition
    state_view = closeup(visit.application, definition, workflow_id, known_path(workflow_id, definition, state))
    if part == "instructions":
        return state_view.brief.instructions
    if state_view.view is None:
        return MISSING
    parts: dict[str, Json] = {
        "input": state_view.view.given,
        "output": state_view.view.output,
        "error": state_view.view.doc.last_error,
    }
    return parts.get(part, MISSING)


def _text(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)


def _plain(text: str) -> str:
    """Return a name as a part of a file's name: nothing that a header or a file system could read otherwise."""
    return "".join(
        character if character.isascii() and (character.isalnum() or character in "._-") else "_" for character in text
    ).lstrip(".")[:60]
