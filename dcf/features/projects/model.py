"""Projects: what runs belong to. Records, their JSON, and which path of a project is meant. Pure.

A project is found by its id, or by a path on a machine. Its name need not be unique: two directories may have the same
one. A path belongs to one project of a machine; a path without a machine is the same everywhere.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_id
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record

MOST_PROJECTS: Final = 10_000
MOST_OF_ONE: Final = 1000
"""Projects that one key created."""

MOST_PATHS: Final = 100
MOST_BYTES: Final = 64 * 1024
"""Bytes of a project's description, features, git facts and metadata together."""

_LONGEST_PATH: Final = 1000
_ANY_MACHINE: Final = ""


@record(frozen=True, slots=True, kw_only=True)
class ProjectPlace:
    """A directory of a project: its path, and the machine that it is on; "" where it is the same on all."""

    path: str
    machine: str = _ANY_MACHINE

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {"path": self.path, "machine": self.machine or None}


@record(frozen=True, slots=True, kw_only=True)
class Project:
    """The stored record of a project. Times in server microseconds; `revision` counts the changes.

    `git` are facts that a caller told last, such as remote, branch and commit; nothing here looks at a repository.
    """

    project_id: str
    name: str
    paths: tuple[ProjectPlace, ...] = ()
    description: str | None = None
    git: Mapping[str, Json]
    features: Sequence[Json] = ()
    metadata: Mapping[str, Json]
    revision: int = 1
    created_at: int
    created_by: str
    updated_at: int

    as_json = json_method(
        "project_id name paths description git features metadata revision created_at created_by updated_at",
        named={"project_id": "project"},
        times="created_at updated_at",
    )


@record(frozen=True, slots=True, kw_only=True)
class ProjectWish:
    """The wish for a project. A field that is None stays as it is; `paths` are added, those of `forget` removed.

    `revision` is the one that the caller has seen: only with it name, description, features or metadata that are
    there are replaced.
    """

    project_id: str
    name: str | None = None
    paths: tuple[ProjectPlace, ...] = ()
    forget: tuple[ProjectPlace, ...] = ()
    description: str | None = None
    git: Mapping[str, Json] | None = None
    features: Sequence[Json] | None = None
    metadata: Mapping[str, Json] | None = None
    revision: int | None = None
    by: str = ""


@record(frozen=True, slots=True, kw_only=True)
class ProjectFound:
    """The data for a decision: the project (None: there is none), the server's time, the owners of the wanted places.

    `count` is how many projects there are, `own_count` how many of the wish's author.
    """

    now: int
    project: Project | None
    holders: Mapping[ProjectPlace, str]
    count: int = 0
    own_count: int = 0


@record(frozen=True, slots=True, kw_only=True)
class ProjectPut:
    """The outcome of a put: the project as it is now, whether it existed, and whether this changed it."""

    project: Project
    existed: bool
    changed: bool


def read_places(places: Json, *, name: str) -> tuple[ProjectPlace, ...]:
    """Read paths: texts, or objects with path and machine; raise InvalidArgument for anything else."""
    if not isinstance(places, list) or len(places) > MOST_PATHS:
        raise InvalidArgument(f"{name} is no list of at most {MOST_PATHS} paths.", f'Send {name} as ["/srv/shop"].')
    return tuple(dict.fromkeys(_place(place, name) for place in places))


def place_of(path: str, machine: str | None, *, name: str = "path") -> ProjectPlace:
    """Return a path as it is stored: absolute, without "." and "..", and without a slash at its end."""
    is_absolute = path.startswith("/") or re.match(r"[A-Za-z]:[\\/]", path) is not None
    if not is_absolute or len(path) > _LONGEST_PATH or not path.isprintable():
        raise InvalidArgument(f"{name} is no absolute path.", "Send the path from the root, as in /srv/shop.")
    tidy = posixpath.normpath(path) if path.startswith("/") else path.rstrip("\\/")
    return ProjectPlace(path=tidy, machine=_ANY_MACHINE if machine is None else check_id(machine, "machine"))


class _PlaceCodec:
    """Writes and reads a place as a list of path and machine."""

    @staticmethod
    def write(place: ProjectPlace) -> list[str]:
        return [place.path, place.machine]

    @staticmethod
    def read(document: Sequence[Json]) -> ProjectPlace:
        path, machine = document
        return ProjectPlace(path=path, machine=machine)


_PROJECT: Final = RecordCodec(
    Project,
    "project_id name description revision created_at created_by updated_at git metadata features paths",
    codecs={"paths": _PlaceCodec},
    strict=True,
)

write_project: Final = _PROJECT.write
"""Write the stored document of a project."""

read_project: Final = _PROJECT.read
"""Read what `write_project` wrote."""


def _place(place: Json, name: str) -> ProjectPlace:
    if isinstance(place, str):
        return place_of(place, None, name=name)
    if isinstance(place, dict) and isinstance(place.get("path"), str) and place.keys() <= {"path", "machine"}:
        machine = place.get("machine")
        if machine is None or isinstance(machine, str):
            return place_of(place["path"], machine, name=name)
    raise InvalidArgument(
        f"{name} has an entry that is no path.", 'An entry is "/srv/shop" or {"path": "/srv/shop", "machine": "ci-1"}.'
    )
