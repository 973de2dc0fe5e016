"""The verbs of artifacts, what a run keeps of files: put, get and list. They call and describe."""

import base64
import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

from dcf.errors import InvalidArgument
from dcf.features.artifacts.model import LONGEST_NAME, MOST_PARTS, ArtifactKind, PartGiven, Upload, check_metadata
from dcf.features.artifacts.names import check_sha256, content_type_of, id_of
from dcf.features.artifacts.records import ArtifactContent, ContentEncodingName, ListedArtifacts, PutArtifact
from dcf.values.digest import sha256_of
from dcf.values.identifiers import check_name
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.callers import bound_to, current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import ID, STATE, AgentId, Limit, PrintedCursor, RunId

if TYPE_CHECKING:
    from dcf.application.application import Application

_LENGTH: Final = 64 * 1024
"""Bytes of one answer, unless more are asked for."""

_GROWTH: Final = 3
"""Bytes that one byte of content can take in an answer, as text with escapes or in Base64, with some room."""

_ARTIFACT_ID: Final = Argument(means="Id of the artifact in its run.", example="report-1", pattern=ID)


def _put(answer: Mapping[str, Json]) -> str:
    if answer["artifact"] is None:
        upload = answer["upload"]
        return f"{upload['of'] - upload['parts']} of {upload['of']} parts are missing."
    done = "is there already" if answer["existed"] else "is kept"
    return f"Artifact '{answer['artifact']['artifact_id']}' {done}."


@verb(
    toolset="artifacts",
    scope="work",
    lists=("assistant", "member"),
    says=_put,
    codes=(
        "unknown_run",
        "unknown_state",
        "run_over",
        "conflict",
        "too_many",
        "sha256_differs",
        "no_artifact_store",
        "owner_mismatch",
        "quota_exceeded",
    ),
    command=Command(
        name="artifacts add",
        example="dcf artifacts add order-42 report.pdf --type application/pdf --state Report",
        function="dcf.cli.features.artifacts:put",
    ),
    steps="dcf.client.steps.artifacts:put_artifact",
    only_when_set=("upload",),
)
def put_artifact(
    on: "Application",
    workflow_id: RunId,
    name: Annotated[
        str, Argument(means="Its name or path.", example="report.md", min_length=1, max_length=LONGEST_NAME)
    ],
    content: Annotated[
        str, Argument(means="The text; of what is no text, Base64.", example="# Report", max_length=64 * 1024 * 1024)
    ],
    *,
    content_type: Annotated[
        str, Argument(means="text, markdown, json, binary, or a media type as image/png.", max_length=130)
    ] = "text",
    encoding: Annotated[
        ContentEncodingName | None,
        Argument(means="How content is written; default: text for types of text, else base64.", listed=False),
    ] = None,
    artifact_id: Annotated[
        Annotated[str, _ARTIFACT_ID] | None, Argument(means="Its id in the run; default: made of name and content.")
    ] = None,
    state: Annotated[
        str | None,
        Argument(
            means="The state that it comes from.",
            example="CalculatePricing",
            pattern=STATE,
            min_length=1,
            max_length=400,
        ),
    ] = None,
    agent_id: Annotated[AgentId, Argument(means="", listed=False)] = None,
    sha256: Annotated[
        str | None, Argument(means="SHA-256 of all bytes, in hexadecimal; it is compared.", max_length=64)
    ] = None,
    part: Annotated[int, Argument(means="Which part this is, from 1.", ge=1, le=MOST_PARTS)] = 1,
    of: Annotated[int, Argument(means="How many parts there are.", ge=1, le=MOST_PARTS)] = 1,
    metadata: Annotated[
        Mapping[str, Json] | None,
        Argument(means="Whatever else is to be kept with it.", form="object", tool="metadata_json", listed=False),
    ] = None,
) -> Answered[PutArtifact] | Refusal:
    """Keep a file, text or bytes, with the run: what others need later, or what is too long for a state's output.

    It never changes: the same content again is the same artifact, other content under its id is refused. Long content
    comes in parts, each with part and of, in any order.
    """
    kind = ArtifactKind(
        name=check_name(name, "name", LONGEST_NAME),
        content_type=content_type_of(content_type),
        state=state,
        agent_id=agent_id,
        created_by=current_caller().name,
        metadata=check_metadata(metadata or {}),
    )
    data = _bytes(content, encoding, kind.content_type, is_whole=of == 1)
    whole = check_sha256(sha256)
    if part > of:
        raise InvalidArgument("part is more than of.", "Count parts from 1 to of.")
    part_given = PartGiven(
        workflow_id=workflow_id,
        artifact_id=artifact_id or _drawn_id(name, whole, data, of),
        kind=kind,
        data=data,
        number=part,
        of=of,
        whole=whole,
        agent_bound=bound_to(),
    )
    stands = on.artifacts.put(part_given)
    if isinstance(stands, Refusal):
        return stands
    members = {
        "workflow_id": workflow_id,
        "artifact": None if stands.artifact is None else stands.artifact.as_json(),
        "upload": None if stands.artifact is not None or stands.upload is None else _upload(stands.upload),
        "existed": stands.existed,
    }
    return Answered(PutArtifact, members)


@verb(
    toolset="artifacts",
    scope="read",
    lists=("member",),
    effect="reads",
    says=lambda answer: f"{answer['length']} of {answer['artifact']['size']} bytes.",
    codes=("unknown_run", "unknown_artifact", "damaged"),
    command=Command(
        name="artifacts show",
        example="dcf artifacts show order-42 report.pdf-3f2a9c01b7de --to report.pdf",
        function="dcf.cli.features.artifacts:get",
    ),
    steps="dcf.client.steps.artifacts:get_artifact",
)
def get_artifact(
    on: "Application",
    workflow_id: RunId,
    artifact_id: Annotated[str, _ARTIFACT_ID],
    *,
    offset: Annotated[int, Argument(means="Byte to begin with.", ge=0, le=999_999_999)] = 0,
    length: Annotated[int, Argument(means="Most bytes of this answer.", ge=1, le=16 * 1024 * 1024)] = _LENGTH,
    encoding: Annotated[
        ContentEncodingName | None,
        Argument(means="How content is to be written; default: text where it is text.", listed=False),
    ] = None,
) -> Answered[ArtifactContent] | Refusal:
    """Read an artifact, from offset on; go on with next_offset until it is null. Bytes are checked as they are read."""
    artifact_content = on.artifacts.read(
        workflow_id, artifact_id, offset, min(length, on.settings.max_result_bytes // _GROWTH)
    )
    if isinstance(artifact_content, Refusal):
        return artifact_content
    artifact = artifact_content.artifact
    text, data = None, artifact_content.data
    if encoding != "base64" and (encoding == "text" or is_text(artifact.kind.content_type)):
        text, data = _text_of(data, is_end=offset + len(data) >= artifact.size)
    end = offset + len(data)
    members = {
        "workflow_id": workflow_id,
        "artifact": artifact.as_json(),
        "content": base64.b64encode(data).decode() if text is None else text,
        "encoding": "base64" if text is None else "text",
        "offset": offset,
        "length": len(data),
        "next_offset": end if end < artifact.size else None,
    }
    return Answered(ArtifactContent, members)


@verb(
    toolset="artifacts",
    scope="read",
    lists=("operator",),
    effect="reads",
    says=lambda answer: f"{len(answer['artifacts'])} artifacts.",
    codes=("unknown_run",),
    command=Command(name="artifacts ls", show="dcf.cli.features.artifacts:show_artifacts"),
    pages="artifacts",
    in_refusals={"artifacts": [], "uploads": []},
)
def list_artifacts(
    on: "Application",
    workflow_id: RunId,
    *,
    limit: Annotated[Limit, Argument(means="Items of one page; fewer come if they are large.", plain=True)] = 50,
    cursor: PrintedCursor = None,
) -> Answered[ListedArtifacts]:
    """List a run's artifacts, oldest first, without their content. Call again with next_cursor until it is null."""
    page = on.artifacts.page(workflow_id, cursor, limit)
    members = {
        "workflow_id": workflow_id,
        "artifacts": [artifact.as_json() for artifact in page.artifacts],
        "uploads": [_upload(upload) for upload in page.uploads],
        "total": page.count,
        "total_bytes": page.bytes,
        "next_cursor": page.next_cursor,
    }
    return Answered(ListedArtifacts, members)


def _upload(upload: Upload) -> dict[str, Json]:
    """Return how far an upload is."""
    return {
        "artifact_id": upload.artifact_id,
        "name": upload.kind.name,
        "content_type": upload.kind.content_type,
        "of": upload.of,
        "parts": len(upload.parts),
        "bytes": upload.size,
        "missing": list(upload.missing),
    }


def is_text(content_type: str) -> bool:
    """Return True for media types whose content people and models read as text."""
    return content_type.startswith("text/") or content_type.endswith(("json", "xml", "yaml", "javascript"))


def _bytes(content: str, encoding: ContentEncodingName | None, content_type: str, *, is_whole: bool) -> bytes:
    if encoding == "base64" or (encoding is None and not is_text(content_type)):
        try:
            return base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidArgument(
                "content is no Base64.", "Send Base64 without line ends, or text with another `content_type`."
            ) from None
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise InvalidArgument("content has half of a character.", "Send whole characters, or Base64.") from None
    if content_type == "application/json" and is_whole:
        parse(content, name="content", max_bytes=len(data))
    return data


def _drawn_id(name: str, whole: str | None, data: bytes, of: int) -> str:
    if of > 1 and whole is None:
        raise InvalidArgument(
            "Parts of an artifact need its artifact_id.", "Choose one for all parts, or send the sha256 of all bytes."
        )
    return id_of(name, whole or sha256_of(data))


def _text_of(data: bytes, *, is_end: bool) -> tuple[str | None, bytes]:
    """Return bytes as text, without half a character at the end; None if they are no text."""
    for cut in range(1 if is_end else 4):
        whole_text = data[: len(data) - cut]
        if data and not whole_text:
            break
        try:
            return whole_text.decode(), whole_text
        except UnicodeDecodeError:
            continue
    return None, data


add_tools(__name__)
