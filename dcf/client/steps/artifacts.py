"""The verbs of a client for artifacts: bytes in, bytes out. They split and join parts automatically."""

import base64
from pathlib import Path
from typing import Final

from dcf.client.arguments import JsonObject, given, object_text
from dcf.client.exchange import Conversation, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.errors import DcfError, InvalidArgument
from dcf.features.artifacts.records import KeptArtifact, ReadArtifact
from dcf.values.digest import sha256_of

_PART: Final = 1024 * 1024
"""Bytes of one part: with Base64 they fit into a request of a server with the usual limits."""

_READ: Final = 256 * 1024
_BINARY: Final = "binary"


def put_artifact(
    workflow_id: str,
    content: bytes | str | Path,
    *,
    name: str | None = None,
    content_type: str | None = None,
    artifact_id: str | None = None,
    state: str | None = None,
    agent_id: str | None = None,
    metadata: JsonObject | None = None,
) -> Conversation[KeptArtifact]:
    """Keep bytes, a text or a file with a run; long content is sent in parts. The same again is the same artifact.

    `name` may be left out for a file; `content_type` is text for a text, else binary.
    """
    data, named = _data_of(content, name)
    wish = given(
        workflow_id=workflow_id,
        name=named,
        content_type=content_type or ("text" if isinstance(content, str) else _BINARY),
        encoding="base64",
        artifact_id=artifact_id,
        state=state,
        agent_id=agent_id,
        sha256=sha256_of(data),
        metadata_json=object_text(metadata, "metadata"),
    )
    of = max(1, -(-len(data) // _PART))
    for number in range(1, of + 1):
        piece = data[(number - 1) * _PART : number * _PART]
        part = {"part": number, "of": of} if of > 1 else {}
        put = {**wish, **part, "content": base64.b64encode(piece).decode()}
        answer = accepted((yield ToolCall("put_artifact", put)))
        if answer["artifact"] is not None:  # the last part, or it was there before
            return read(KeptArtifact, answer["artifact"])
    raise DcfError("The artifact is not whole, although all its parts were sent.", "Send it again.")


def get_artifact(
    workflow_id: str, artifact_id: str, *, offset: int = 0, length: int | None = None
) -> Conversation[ReadArtifact]:
    """Return an artifact with its bytes: all, or `length` from `offset` on. They are compared with its SHA-256."""
    data, at, answer = b"", offset, None
    while answer is None or (at is not None and (length is None or len(data) < length)):
        most = _READ if length is None else min(_READ, length - len(data))
        arguments = {"workflow_id": workflow_id, "artifact_id": artifact_id, "offset": at, "length": max(1, most)}
        answer = accepted((yield ToolCall("get_artifact", {**arguments, "encoding": "base64"})))
        data += base64.b64decode(answer["content"])
        at = answer["next_offset"]
    artifact = read(KeptArtifact, answer["artifact"])
    is_whole = offset == 0 and len(data) == artifact.size
    if is_whole and sha256_of(data) != artifact.sha256:
        raise DcfError("The content that arrived is not that of the artifact.", "Read it again.")
    return ReadArtifact(artifact=artifact, content=data if length is None else data[:length], offset=offset)


def _data_of(content: bytes | str | Path, name: str | None) -> tuple[bytes, str]:
    if isinstance(content, Path):
        try:
            return content.read_bytes(), name or content.name
        except OSError as error:
            raise InvalidArgument(
                f"{content} cannot be read: {error.strerror}.", "Name a file that is there."
            ) from None
    if name is None:
        raise InvalidArgument("What is no file needs a name.", "Pass name, such as 'report.md'.")
    return (content.encode() if isinstance(content, str) else bytes(content)), name
