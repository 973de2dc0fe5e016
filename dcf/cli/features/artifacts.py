"""The commands `dcf artifacts`: put, get and list files that a run keeps. They parse, call and print."""

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.reading.views import console
from dcf.cli.text import clean, json_text
from dcf.values.digest import sha256_of

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.artifacts.model import Artifact, ArtifactKind, ArtifactStands

_PART: Final = 8 * 1024 * 1024
_READ: Final = 8 * 1024 * 1024

ArtifactArgument = Annotated[str, typer.Argument(metavar="ARTIFACT", help="Id of the artifact (see the list).")]

artifacts = typer.Typer(
    name="artifacts",
    no_args_is_help=True,
    help="Files that a run keeps: immutable, with type, size, SHA-256 and where they came from.",
)


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(artifacts)


@artifacts.command()
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
    """Keep a file with a run and print its id. The same content again is the same artifact.

    Example:  dcf artifacts put order-42 report.pdf --type application/pdf --state Report
    """
    from dcf.cli.documents import read_object
    from dcf.core.access.model import LOCAL
    from dcf.features.artifacts.model import LONGEST_NAME, ArtifactKind, check_metadata
    from dcf.features.artifacts.names import content_type_of, id_of
    from dcf.values.identifiers import check_id, check_name

    more = check_metadata(read_object(metadata, "--metadata") or {})
    data, named = _read_file(file, name)
    kind = ArtifactKind(
        name=check_name(named, "--name", LONGEST_NAME),
        content_type=content_type_of(content_type),
        state=state,
        created_by=LOCAL,
        metadata=more,
    )
    whole = sha256_of(data)
    one = id_of(named, whole) if artifact_id is None else check_id(artifact_id, "--id")
    with opening.application() as found, by_the_local_user():
        stands = _send(found, run, one, kind, data, whole)
    kept = stands.artifact
    assert kept is not None, "all parts were sent"
    if as_json:
        typer.echo(json_text({**kept.as_json(), "existed": stands.existed}, indent=2))
        return
    typer.echo(kept.artifact_id)


@artifacts.command()
def get(
    run: RunArgument,
    artifact: ArtifactArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, which must not be there yet; - for standard output.")
    ] = "-",
    as_json: JsonFlag = False,
) -> None:
    """Write an artifact's content to standard output or a file; it is checked by its SHA-256.

    With --json its record is printed, and the content with it as Base64 unless it is written to a file.

    Example:  dcf artifacts get order-42 report.pdf-3f2a9c01b7de -o report.pdf
    """
    from dcf.features.artifacts.refusals import damaged

    with opening.application() as found:
        data, kept = _content(found, run, artifact)
    if sha256_of(data) != kept.sha256:
        accepted(damaged(artifact), run)
    if output != "-":
        _write_file(Path(output), data)
    if as_json:
        content = {"content": base64.b64encode(data).decode(), "encoding": "base64"} if output == "-" else {}
        typer.echo(json_text({**kept.as_json(), **content}, indent=2))
    elif output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@artifacts.command("list")
def list_artifacts(
    run: RunArgument,
    limit: Annotated[int, typer.Option(help="How many, oldest first.", min=1, max=1000)] = 100,
    cursor: Annotated[str | None, typer.Option(help="Go on here: printed below each page.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List what a run keeps, oldest first, and uploads of which parts are missing."""
    from dcf.features.artifacts.verbs import upload_shown

    with opening.application() as found:
        page = found.artifacts.page(run, cursor, limit)
    rows, uploads = [one.as_json() for one in page.artifacts], [upload_shown(one) for one in page.uploads]
    if as_json:
        told = {"artifacts": rows, "uploads": uploads, "total": page.count, "total_bytes": page.bytes}
        typer.echo(json_text({**told, "next_cursor": page.next_cursor}, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("artifact", "name", "type", "bytes", "state", "put"):
        table.add_column(column, overflow="fold", justify="right" if column == "bytes" else "left")
    for row in rows:
        when = str(row["created_at"])[:19].replace("T", " ")
        cells = (row["artifact_id"], row["name"], row["content_type"], str(row["size"]), row["state"] or "", when)
        table.add_row(*(Text(clean(cell)) for cell in cells))
    console().print(table)
    for one in uploads:
        typer.echo(f"{clean(one['artifact_id'])}: {one['parts']} of {one['of']} parts are there")
    more = "" if page.next_cursor is None else f" Go on: dcf artifacts list {run} --cursor {page.next_cursor}"
    typer.echo(f"{page.count} artifacts, {page.bytes} bytes.{more}")


def _send(
    found: "Application", run: str, artifact_id: str, kind: "ArtifactKind", data: bytes, whole: str
) -> "ArtifactStands":
    """Put the content, in parts where it is long."""
    from dcf.features.artifacts.operations import PartGiven

    of = max(1, -(-len(data) // _PART))
    stands: ArtifactStands | None = None
    for number in range(1, of + 1):
        piece = data[(number - 1) * _PART : number * _PART]
        given = PartGiven(
            workflow_id=run, artifact_id=artifact_id, kind=kind, data=piece, number=number, of=of, whole=whole
        )
        stands = accepted(found.artifacts.put(given), run)
    assert stands is not None, "there is one part at least"
    return stands


def _content(found: "Application", run: str, artifact: str) -> "tuple[bytes, Artifact]":
    pieces, at = list[bytes](), 0
    while True:
        one = accepted(found.artifacts.read(run, artifact, at, _READ), run)
        pieces.append(one.data)
        at += len(one.data)
        if at >= one.artifact.size:
            return b"".join(pieces), one.artifact


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
