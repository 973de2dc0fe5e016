"""The commands `dcf artifacts add` and `get`, which send and read a file in parts, and the list as people see it."""

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.authorship import accepted
from dcf.cli.commands.derived import verb_calls
from dcf.cli.commands.formats import print_json
from dcf.cli.reading.views import console, table
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.values.digest import sha256_of
from dcf.values.json_text import Json, dump

_PART: Final = 1024 * 1024
"""Bytes of one part: with Base64 they fit into a request of a server with the usual limits."""

_READ: Final = 1024 * 1024

ArtifactArgument = Annotated[str, typer.Argument(metavar="ARTIFACT", help="Id of the artifact (see the list).")]


def put(
    run: RunArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, or - for standard input (with --name).")],
    name: Annotated[str | None, typer.Option(help="Its name; default: that of the file.")] = None,
    content_type: Annotated[
        str, typer.Option("--type", help="text, markdown, json, binary, or a media type as image/png.")
    ] = "binary",
    artifact_id: Annotated[str | None, typer.Option("--id", help="Its id; default: made of name and content.")] = None,
    state: Annotated[str | None, typer.Option(help="The state that it comes from.")] = None,
    metadata: Annotated[
        str | None, typer.Option(help="Whatever else is to be kept with it: a JSON object, a file, or -.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Keep a file with a run and print its id. The same content again is the same artifact."""
    from dcf.cli.documents import read_object
    from dcf.features.artifacts.model import LONGEST_NAME, check_metadata
    from dcf.features.artifacts.names import content_type_of
    from dcf.values.identifiers import check_id, check_name

    more = check_metadata(read_object(metadata, "--metadata") or {})
    data, named = _read_file(file, name)
    about = {
        "workflow_id": run,
        "name": check_name(named, "--name", LONGEST_NAME),
        "content_type": content_type_of(content_type),
        "encoding": "base64",
        "artifact_id": None if artifact_id is None else check_id(artifact_id, "--id"),
        "state": state,
        "sha256": sha256_of(data),
        "metadata_json": dump(more) if more else None,
    }
    answer = _send(about, data)
    record = answer["artifact"]
    assert record is not None, "all parts were sent"
    if as_json:
        print_json({**record, "existed": answer["existed"]})
        return
    typer.echo(record["artifact_id"])


def get(
    run: RunArgument,
    artifact: ArtifactArgument,
    to: Annotated[str, typer.Option(help="File to write, which must not be there yet; - for standard output.")] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Write an artifact's content to standard output or a file; it is checked by its SHA-256.

    With --json its record is printed, and the content with it as Base64 unless it is written to a file.
    """
    from dcf.features.artifacts.refusals import DAMAGED

    data, record = _content(run, artifact)
    if sha256_of(data) != record["sha256"]:
        accepted(DAMAGED.refuse(artifact_id=artifact), workflow_id=run)
    if to != "-":
        _write_file(Path(to), data)
    if as_json:
        content = {"content": base64.b64encode(data).decode(), "encoding": "base64"} if to == "-" else {}
        print_json({**record, **content})
    elif to == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def show_artifacts(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print what a run keeps, oldest first, and uploads of which parts are missing."""
    columns = ("artifact", "name", "type", "bytes", "state", "put")
    console().print(table(columns, map(_cells, answer["artifacts"]), right=("bytes",)))
    for upload in answer["uploads"]:
        typer.echo(f"{clean(upload['artifact_id'])}: {upload['parts']} of {upload['of']} parts are there")
    cursor = answer["next_cursor"]
    more = "" if cursor is None else in_commands(f" Continue: `list_artifacts(cursor={cursor})`", known=answer)
    typer.echo(f"{answer['total']} artifacts, {answer['total_bytes']} bytes.{more}")


def _cells(row: Mapping[str, Json]) -> tuple[Json, ...]:
    when = str(row["created_at"])[:19].replace("T", " ")
    return row["artifact_id"], row["name"], row["content_type"], row["size"], row["state"] or "", when


def _send(about: Mapping[str, Json], data: bytes) -> Mapping[str, Json]:
    """Put the content, in parts where it is long; return the answer to the last part."""
    of = max(1, -(-len(data) // _PART))
    answer: Mapping[str, Json] = {}
    with verb_calls("put_artifact") as put_part:
        for number in range(1, of + 1):
            content = base64.b64encode(data[(number - 1) * _PART : number * _PART]).decode()
            answer = put_part(**about, content=content, part=number, of=of)
    return answer


def _content(run: str, artifact: str) -> tuple[bytes, Mapping[str, Json]]:
    pieces, at = list[bytes](), 0
    with verb_calls("get_artifact") as read_part:
        while True:
            answer = read_part(workflow_id=run, artifact_id=artifact, offset=at, length=_READ, encoding="base64")
            pieces.append(base64.b64decode(answer["content"]))
            if answer["next_offset"] is None:
                return b"".join(pieces), answer["artifact"]
            at = answer["next_offset"]


def _read_file(file: str, name: str | None) -> tuple[bytes, str]:
    from dcf.errors import InvalidArgument

    if file == "-":
        if name is None:
            raise InvalidArgument("Standard input has no name.", "Give it one: --name report.md.")
        return sys.stdin.buffer.read(), name
    try:
        return Path(file).read_bytes(), name or Path(file).name
    except OSError as error:
        raise InvalidArgument(f"{file} cannot be read: {error.strerror}.", "Name a file that is there.") from None


def _write_file(path: Path, data: bytes) -> None:
    from dcf.errors import InvalidArgument

    try:
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be written: {error.strerror}.", "Name a new file.") from None
