"""Pieces of a project's files as entries of a text index: what kind a file is, and which words find it. Pure.

Only what somebody asked for is indexed, and a search shows a few words around what it found. So a piece is bounded in
lines and words, a file in pieces, and a project in files. Secrets of known shapes are taken out first.
"""

from typing import Final, Literal, TypeAlias, get_args

from dcf.core.text.entries import TextEntry, combined
from dcf.core.text.tokens import read_words
from dcf.values.digest import content_fingerprint, fingerprint
from dcf.values.records import record
from dcf.values.secret_shapes import redact

FileKind: TypeAlias = Literal["document", "blueprint", "code"]

KINDS: Final[tuple[FileKind, ...]] = get_args(FileKind)

MOST_PIECES: Final = 50_000
"""Pieces of the files of all projects of one Redis."""

MOST_FILES: Final = 2_000
"""Files of a project."""

LARGEST_FILE: Final = 256 * 1024
"""Bytes of a file that is indexed."""

LINES: Final = 300
"""Lines of a piece."""

MOST_PIECES_OF_FILE: Final = 10

_LONGEST_TEXT: Final = 16 * 1024
_PATH_WEIGHT: Final = 8
_TEXT_WEIGHT: Final = 1
_PROSE: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt", ".org")
_BLUEPRINTS: Final = frozenset({"blueprint", "blueprints"})


@record(frozen=True, slots=True, kw_only=True)
class ProjectFile:
    """A file as somebody read it: its path below the project's directory, and its text."""

    path: str
    text: str

    @property
    def kind(self) -> FileKind:
        """The kind of the file: prose below a directory called blueprints, other prose, or code."""
        *around, name = self.path.lower().split("/")
        if not name.endswith(_PROSE):
            return "code"
        return "document" if _BLUEPRINTS.isdisjoint(around) else "blueprint"


@record(frozen=True, slots=True, kw_only=True)
class FilePiece:
    """Some lines of a file, from `line` on. `content` is the fingerprint of what it says."""

    path: str
    kind: FileKind
    line: int
    text: str
    content: str

    def entry_id(self, project: str) -> str:
        """Return the id of its entry: the same place of the same file has the same."""
        return fingerprint(f"{project}\n{self.path}\n{self.line}")


@record(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A piece of a file that was found, with its text and the weight of the words that found it."""

    path: str
    kind: FileKind
    line: int
    text: str
    score: int


def pieces_of(file: ProjectFile) -> list[FilePiece]:
    """Return the pieces of a file, the first of a very long one."""
    lines = str(redact(file.text).value).splitlines()
    file_pieces = []
    for at in range(0, max(1, len(lines)), LINES)[:MOST_PIECES_OF_FILE]:
        text = "\n".join(lines[at : at + LINES])[:_LONGEST_TEXT]
        content = content_fingerprint([file.kind, text])
        file_pieces.append(FilePiece(path=file.path, kind=file.kind, line=at + 1, text=text, content=content))
    return file_pieces


def as_entry(piece: FilePiece, project: str, at: int) -> TextEntry:
    """Return the entry of the text index that a piece is."""
    return TextEntry(
        entry_id=piece.entry_id(project),
        at=at,
        document={
            "project": project,
            "path": piece.path,
            "kind": piece.kind,
            "line": piece.line,
            "content": piece.content,
        },
        words=read_words([(piece.path, _PATH_WEIGHT), (piece.text, _TEXT_WEIGHT)]),
        facets=combined({"of": owner_of(project), "kind": piece.kind}),
        body=piece.text,
    )


def owner_of(project: str) -> str:
    """Return the value of the facet that says whose files these are."""
    return f"project {project}"
