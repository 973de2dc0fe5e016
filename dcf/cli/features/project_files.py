"""The command that indexes the files of a project's directories on this machine, so that a search finds them."""

import socket
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.authorship import accepted, recorded
from dcf.cli.commands.formats import print_json
from dcf.cli.text import clean
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dcf.features.project_files.model import ProjectFile
    from dcf.features.projects.model import Project


def index(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="The project whose files they are.")],
    path: Annotated[
        list[Path] | None,
        typer.Option("--path", help="A directory of this machine; may be repeated. Default: those of the project."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only files that this glob covers; may be repeated.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Index the text files of a project's directories on this machine, in place of those indexed before.

    In a git worktree these are the files that git knows or would add. At most 2,000 files of 256 KiB are indexed.
    `dcf runs search` finds them as document, blueprint (below a directory called blueprints) or code.

    Example:  dcf projects index shop --only 'src/**' --only '*.md'
    """
    from dcf.features.project_files.model import MOST_FILES

    with opening.application() as application, recorded(application, "index_project_files", {"project": project}):
        roots = [directory.resolve() for directory in path] if path else _own(application.projects.read(project))
        files = _Files(roots, only or [])
        indexed = accepted(application.project_files.index(project, files.taken(MOST_FILES)))
    if as_json:
        about = {"project": project, "paths": [str(root) for root in roots]}
        print_json({**about, **asdict(indexed), "all_files": files.is_complete})
        return
    more = "" if files.is_complete else f" There are more than {MOST_FILES} files: choose with --only."
    typer.echo(f"{clean(project)}: {indexed.files} files are indexed, {indexed.written} pieces of them anew.{more}")


class _Files:
    """The files of directories that globs cover, each path once."""

    def __init__(self, roots: list[Path], only: list[str]) -> None:
        self._roots = roots
        self._only = only
        self.is_complete = True

    def taken(self, most: int) -> "Iterator[ProjectFile]":
        """Yield at most `most` of them; say in `is_complete` whether those were all."""
        for count, file in enumerate(self._all().values()):
            if count == most:
                self.is_complete = False
                return
            yield file

    def _all(self) -> "Mapping[str, ProjectFile]":
        from dcf.core.text.path_globs import outside
        from dcf.features.project_files.model import LARGEST_FILE, ProjectFile
        from dcf.local.project_listing import text_files

        files: dict[str, ProjectFile] = {}
        for root in self._roots:
            if not root.is_dir():
                raise InvalidArgument(f"There is no directory {clean(root)} here.", "Name one of this machine: --path.")
            for name, text in text_files(root, largest=LARGEST_FILE):
                if not outside([name], self._only):
                    files.setdefault(name, ProjectFile(path=name, text=text))
        return files


def _own(project: "Project") -> list[Path]:
    """Return the directories of a project on this machine."""
    here = {"", socket.gethostname()}
    paths = [Path(place.path) for place in project.paths if place.machine in here]
    if not paths:
        raise InvalidArgument(
            f"Project '{project.project_id}' has no directory on this machine.",
            f"Name one with --path, or keep one: `dcf projects add {project.project_id} --path DIR`.",
        )
    return paths
