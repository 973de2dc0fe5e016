"""Tools on artifacts, what a run keeps of files: put, get and list. They only parse arguments, call and format."""

import base64
import binascii
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.features.artifacts.model import (
    LONGEST_NAME,
    MOST_PARTS,
    Artifact,
    ArtifactKind,
    ArtifactStands,
    Upload,
    check_metadata,
)
from dcf.features.artifacts.names import check_sha256, content_type_of, id_of
from dcf.features.artifacts.operations import PartGiven
from dcf.values.digest import sha256_of
from dcf.values.identifiers import check_name
from dcf.values.json_text import Json, parse, parse_object
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import Limit
from dcf.verbs.callers import bound_to, current_caller
from dcf.verbs.registry import ID_PATTERN, AgentId, Answer, Arguments, JsonObject, StateName, WorkflowId, refused, tool
from dcf.verbs.unlisted import UNLISTED

_LENGTH: Final = 64 * 1024
"""Bytes of one answer, unless more are asked for."""

_GROWTH: Final = 3
"""Bytes that one byte of content can take in an answer, as text with escapes or in Base64, with some room."""

ArtifactId = Annotated[
    str, Field(pattern=ID_PATTERN, description="Id of the artifact in its run.", examples=["report-1"])
]
_Sha256 = Annotated[
    str | None, Field(max_length=64, description="SHA-256 of all bytes, in hexadecimal; it is compared.")
]


class PutArtifact(Arguments):
    """Keep a file, text or bytes, with the run: what others need later, or what is too long for a state's output.

    It never changes: the same content again is the same artifact, other content under its id is refused. Long content
    comes in parts, each with part and of, in any order.
    """

    workflow_id: WorkflowId
    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="Its name or path.", examples=["report.md"])
    content: str = Field(
        max_length=64 * 1024 * 1024, description="The text; of what is no text, Base64.", examples=["# Report"]
    )
    content_type: str = Field(
        default="text", max_length=130, description="text, markdown, json, binary, or a media type as image/png."
    )
    encoding: Literal["text", "base64"] | None = Field(
        default=None,
        description="How content is written; default: text for types of text, else base64.",
        json_schema_extra=UNLISTED,
    )
    artifact_id: ArtifactId | None = Field(
        default=None, description="Its id in the run; default: made of name and content."
    )
    state: StateName | None = Field(default=None, description="The state that it comes from.")
    agent_id: AgentId | None = Field(default=None, description="Your agent id.", json_schema_extra=UNLISTED)
    sha256: _Sha256 = None
    part: int = Field(default=1, ge=1, le=MOST_PARTS, description="Which part this is, from 1.")
    of: int = Field(default=1, ge=1, le=MOST_PARTS, description="How many parts there are.")
    metadata_json: JsonObject | None = Field(
        default=None, description="Whatever else is to be kept with it.", json_schema_extra=UNLISTED
    )


class ArtifactAnswer(Answer):
    """The artifact, or of an upload that is not whole the parts that are missing. `existed`: it was there before."""

    workflow_id: str | None = None
    artifact: dict[str, Any] | None = None
    upload: dict[str, Any] | None = None
    existed: bool | None = None

    only_when_set = ("upload",)


@tool(
    toolset="artifacts",
    scope=Scope.WORK,
    profiles=("member",),
    arguments=PutArtifact,
    answer=ArtifactAnswer,
)
def put_artifact(app: Application, args: PutArtifact) -> ArtifactAnswer:
    """Keep an artifact, or a part of one."""
    kind = _kind(args)
    data = _bytes(args, kind.content_type)
    answer = app.artifacts.put(given_of(args, kind, data))
    return put_answer(answer, args.workflow_id)


def given_of(args: PutArtifact, kind: ArtifactKind, data: bytes) -> PartGiven:
    """Return what a call puts; one in parts needs to say which artifact the parts are of."""
    whole = check_sha256(args.sha256)
    if args.part > args.of:
        raise InvalidArgument("part is more than of.", "Count parts from 1 to of.")
    return PartGiven(
        workflow_id=args.workflow_id,
        artifact_id=args.artifact_id or _drawn_id(args, whole, data),
        kind=kind,
        data=data,
        number=args.part,
        of=args.of,
        whole=whole,
        agent_bound=bound_to(),
    )


def put_answer(answer: ArtifactStands | Refusal, workflow_id: str) -> ArtifactAnswer:
    """Return the answer to a put."""
    if isinstance(answer, Refusal):
        return refused(ArtifactAnswer, answer, workflow_id=workflow_id)
    if answer.artifact is None:
        assert answer.upload is not None, "it is one or the other"
        told = upload_shown(answer.upload)
        return ArtifactAnswer(
            status=f"{told['of'] - told['parts']} of {told['of']} parts are missing.",
            workflow_id=workflow_id,
            upload=told,
            existed=answer.existed,
        )
    done = "is there already" if answer.existed else "is kept"
    return ArtifactAnswer(
        status=f"Artifact '{answer.artifact.artifact_id}' {done}.",
        workflow_id=workflow_id,
        artifact=answer.artifact.as_json(),
        existed=answer.existed,
    )


class GetArtifact(Arguments):
    """Read an artifact, from offset on; go on with next_offset until it is null. Bytes are checked as they are read."""

    workflow_id: WorkflowId
    artifact_id: ArtifactId
    offset: int = Field(default=0, ge=0, le=999_999_999, description="Byte to begin with.")
    length: int = Field(default=_LENGTH, ge=1, le=16 * 1024 * 1024, description="Most bytes of this answer.")
    encoding: Literal["text", "base64"] | None = Field(
        default=None,
        description="How content is to be written; default: text where it is text.",
        json_schema_extra=UNLISTED,
    )


class ArtifactContent(Answer):
    """Content as text or, in `encoding` base64, bytes; `length` bytes from `offset` on."""

    workflow_id: str | None = None
    artifact: dict[str, Any] | None = None
    content: str | None = None
    encoding: Literal["text", "base64"] | None = None
    offset: int | None = None
    length: int | None = None
    next_offset: int | None = None


@tool(
    toolset="artifacts",
    scope=Scope.READ,
    profiles=("member",),
    arguments=GetArtifact,
    answer=ArtifactContent,
    read_only=True,
)
def get_artifact(app: Application, args: GetArtifact) -> ArtifactContent:
    """Return bytes of an artifact."""
    most = min(args.length, app.settings.max_result_bytes // _GROWTH)
    found = app.artifacts.read(args.workflow_id, args.artifact_id, args.offset, most)
    if isinstance(found, Refusal):
        return refused(ArtifactContent, found, workflow_id=args.workflow_id)
    artifact = found.artifact
    text, data = None, found.data
    if args.encoding != "base64" and (args.encoding == "text" or is_text(artifact.kind.content_type)):
        text, data = _text_of(data, is_end=args.offset + len(data) >= artifact.size)
    end = args.offset + len(data)
    return ArtifactContent(
        status=f"{len(data)} of {artifact.size} bytes.",
        workflow_id=args.workflow_id,
        artifact=artifact.as_json(),
        content=base64.b64encode(data).decode() if text is None else text,
        encoding="base64" if text is None else "text",
        offset=args.offset,
        length=len(data),
        next_offset=end if end < artifact.size else None,
    )


class ListArtifacts(Arguments):
    """List a run's artifacts, oldest first, without their content. Call again with next_cursor until it is null."""

    workflow_id: WorkflowId
    limit: Limit = 50
    cursor: str | None = Field(default=None, max_length=100, description="next_cursor of the answer before.")


class ArtifactsListed(Answer):
    """A page of artifacts, with `total` and `total_bytes` of the run; of `uploads` parts are missing."""

    workflow_id: str | None = None
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    uploads: list[dict[str, Any]] = Field(default_factory=list)
    total: int | None = None
    total_bytes: int | None = None
    next_cursor: str | None = None


@tool(
    toolset="artifacts",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ListArtifacts,
    answer=ArtifactsListed,
    read_only=True,
)
def list_artifacts(app: Application, args: ListArtifacts) -> ArtifactsListed:
    """List the artifacts of a run."""
    page = app.artifacts.page(args.workflow_id, args.cursor, args.limit)
    return ArtifactsListed(
        status=f"{len(page.artifacts)} artifacts.",
        workflow_id=args.workflow_id,
        artifacts=[one.as_json() for one in page.artifacts],
        uploads=[upload_shown(one) for one in page.uploads],
        total=page.count,
        total_bytes=page.bytes,
        next_cursor=page.next_cursor,
    )


def upload_shown(upload: Upload) -> dict[str, Json]:
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


def file_name(artifact: Artifact) -> str:
    """Return a name under which the artifact may be saved: the last part of its own, without what leads elsewhere."""
    last = artifact.kind.name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    kept = "".join(one if one.isalnum() or one in "._- " else "_" for one in last).strip(". ")
    return kept or artifact.artifact_id


def _kind(args: PutArtifact) -> ArtifactKind:
    metadata = {} if args.metadata_json is None else parse_object(args.metadata_json, name="metadata_json")
    caller = current_caller()
    return ArtifactKind(
        name=check_name(args.name, "name", LONGEST_NAME),
        content_type=content_type_of(args.content_type),
        state=args.state,
        agent_id=args.agent_id,
        created_by=caller.name,
        metadata=check_metadata(metadata),
    )


def _bytes(args: PutArtifact, content_type: str) -> bytes:
    is_base64 = args.encoding == "base64" or (args.encoding is None and not is_text(content_type))
    if is_base64:
        try:
            return base64.b64decode(args.content, validate=True)
        except (binascii.Error, ValueError):
            raise InvalidArgument(
                "content is no Base64.", "Send Base64 without line ends, or text with another content_type."
            ) from None
    try:
        data = args.content.encode()
    except UnicodeEncodeError:
        raise InvalidArgument("content has half of a character.", "Send whole characters, or Base64.") from None
    if content_type == "application/json" and args.of == 1:
        parse(args.content, name="content", max_bytes=len(data))
    return data


def _drawn_id(args: PutArtifact, whole: str | None, data: bytes) -> str:
    if args.of > 1 and whole is None:
        raise InvalidArgument(
            "Parts of an artifact need its artifact_id.", "Choose one for all parts, or send the sha256 of all bytes."
        )
    return id_of(args.name, whole or sha256_of(data))


def _text_of(data: bytes, *, is_end: bool) -> tuple[str | None, bytes]:
    """Return bytes as text, without half a character at the end; None if they are no text."""
    for cut in range(1 if is_end else 4):
        kept = data[: len(data) - cut]
        if data and not kept:
            break
        try:
            return kept.decode(), kept
        except UnicodeDecodeError:
            continue
    return None, data
