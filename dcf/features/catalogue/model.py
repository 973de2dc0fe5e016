"""Definitions of the catalogue, for the work of agents: under a name, in versions that each have a hash. Pure.

A definition is a workflow, job, persona, rule, contract, template or schema. It is for everybody, for a project, or for
a session, and then expires. The newest version is in its entry of a text index; of older ones the entry keeps the
hashes. `core/listing/runs.py`, the list of runs, is something else.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from dcf.errors import InvalidArgument, TooLarge
from dcf.values.digest import content_fingerprint, definition_sha256, fingerprint
from dcf.values.identifiers import check_name
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json, byte_length
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import fields_of, record, replace

MOST_DEFINITIONS: Final = 10_000
"""Definitions and kept older versions of one Redis."""

MOST_VERSIONS: Final = 20
"""Versions of one definition whose content is kept; the oldest goes."""

LONGEST_NAME: Final = 200
LONGEST_DESCRIPTION: Final = 2000
LONGEST_VERSION: Final = 64
MOST_LABELS: Final = 50
LONGEST_LABEL: Final = 100
LARGEST_CONTENT: Final = 256 * 1024
LARGEST_ATTRIBUTES: Final = 32 * 1024
SESSION_LIFE_S: Final = 24 * 3600
LONGEST_SESSION_LIFE_S: Final = 7 * 24 * 3600

_SHORT_SHA: Final = 8


class DefinitionKind(StrEnum):
    """The kind of a definition."""

    WORKFLOW = "workflow"
    JOB = "job"
    PERSONA = "persona"
    RULE = "rule"
    CONTRACT = "contract"
    TEMPLATE = "template"
    SCHEMA = "schema"
    SKILL = "skill"


@record(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whom a definition is for: a session, else a project, else everybody."""

    project: str | None = None
    session: str | None = None

    @property
    def scope(self) -> str:
        """The word for it: session, project or global."""
        return "session" if self.session is not None else "project" if self.project is not None else "global"

    @property
    def key(self) -> str:
        """The value of its facet."""
        if self.session is not None:
            return f"session {fingerprint(self.session)} of {self.project or 'nobody'}"
        return "global" if self.project is None else f"project {self.project}"


EVERYBODY: Final = Owner()
"""The owner of what is for everybody."""


@record(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a definition. Times are the server's, in microseconds."""

    version: str
    sha256: str
    at: int
    author: str


@record(frozen=True, slots=True, kw_only=True)
class DefinitionFacts:
    """What is known of a definition without its content.

    `attributes` is what else describes it, such as the phases of a workflow. `source` names the file that it came from.
    """

    kind: DefinitionKind
    name: str
    owner: Owner = EVERYBODY
    description: str = ""
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    always_apply: bool = False
    complexity: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    source: str | None = None

    @property
    def entry_id(self) -> str:
        """The id of its entry, which follows from its kind, name and owner."""
        return entry_id(self.kind, self.name, self.owner)


@record(frozen=True, slots=True, kw_only=True)
class NewDefinition(DefinitionFacts):
    """Request to keep a definition. Without a `version` the next number is taken.

    `relabel` has a version that is taken get its hash behind it, in place of a refusal.
    """

    content: Json
    author: str
    version: str | None = None
    life_s: int = SESSION_LIFE_S
    relabel: bool = False

    @property
    def said(self) -> dict[str, Json]:
        """The content of the definition without its name: the hash is taken over it."""
        return {**_SAID.write(self), "attributes": dict(self.attributes)}

    @property
    def sha256(self) -> str:
        """The hash of what it says."""
        return definition_sha256(self.said)


@record(frozen=True, slots=True, kw_only=True)
class CataloguedDefinition(DefinitionFacts):
    """A definition as the catalogue has it: all but its content, which has a key of its own."""

    size: int
    created_at: int
    until: int | None
    versions: tuple[Version, ...]

    @property
    def began_at(self) -> int | None:
        """The time of its creation; None if that is unknown."""
        return self.created_at or None

    @property
    def updated_at(self) -> int | None:
        """The time of its newest version; None if that is unknown."""
        return self.newest.at or None

    @property
    def newest(self) -> Version:
        """The version that its name stands for."""
        return self.versions[-1]

    def version(self, wanted_version: str | None, sha256: str | None) -> Version | None:
        """Return a version by its label or hash (8 characters of it are enough), the newest without either."""
        for version in reversed(self.versions):
            if wanted_version in {None, version.version} and (sha256 is None or version.sha256.startswith(sha256)):
                return version
        return None


def entry_id(kind: DefinitionKind, name: str, owner: Owner) -> str:
    """Return the id of the entry of a definition."""
    return "d-" + content_fingerprint([str(kind), name, owner.key])


def body_id(definition: CataloguedDefinition, sha256: str) -> str:
    """Return the id of the entry that keeps the content of an older version."""
    return f"b-{content_fingerprint([definition.entry_id, sha256])}"


def check_definition(wish: NewDefinition) -> NewDefinition:
    """Return the request; raise InvalidArgument or TooLarge for what cannot be kept."""
    check_name(wish.name, "name", LONGEST_NAME)
    if wish.version is not None:
        check_name(wish.version, "version", LONGEST_VERSION)
    if len(wish.description) > LONGEST_DESCRIPTION:
        raise InvalidArgument(f"description has more than {LONGEST_DESCRIPTION} characters.", "Shorten it.")
    for name, labels in (("tags", wish.tags), ("keywords", wish.keywords), ("globs", wish.globs)):
        if len(labels) > MOST_LABELS or not all(0 < len(label) <= LONGEST_LABEL for label in labels):
            raise InvalidArgument(
                f"{name} are not at most {MOST_LABELS} texts of 1 to {LONGEST_LABEL} characters.", "Shorten them."
            )
    attributes = dict(wish.attributes)
    sizes = (("content", wish.content, LARGEST_CONTENT), ("attributes", attributes, LARGEST_ATTRIBUTES))
    for name, value, most in sizes:
        if byte_length(value) > most:
            raise TooLarge(f"{name} has more than {most} bytes.", "Keep it as an artifact, and name that here.")
    return wish


def next_definition(wish: NewDefinition, there: CataloguedDefinition | None, now: int) -> CataloguedDefinition:
    """Return the definition with its new version, or the one that is there if nothing changes."""
    until = None if wish.owner.session is None else now + wish.life_s * SECOND
    if there is not None and there.newest.sha256 == wish.sha256 and wish.version in {None, there.newest.version}:
        return replace(there, until=until, source=wish.source)
    earlier = () if there is None else there.versions
    fresh = Version(version=_label(wish, earlier), sha256=wish.sha256, at=now, author=wish.author)
    return CataloguedDefinition(
        **fields_of(DefinitionFacts, wish),
        size=byte_length(wish.content),
        created_at=now if there is None else there.created_at,
        until=until,
        versions=(*earlier, fresh)[-MOST_VERSIONS:],
    )


def taken_version(wish: NewDefinition, there: CataloguedDefinition | None) -> Version | None:
    """Return the version whose label the request uses for other content; None if there is none."""
    if there is None or wish.version is None or wish.relabel:
        return None
    same = [version for version in there.versions if version.version == wish.version]
    return same[-1] if same and same[-1].sha256 != wish.sha256 else None


def _label(wish: NewDefinition, earlier: tuple[Version, ...]) -> str:
    labels = {version.version for version in earlier}
    if wish.version is not None:
        return wish.version if wish.version not in labels else f"{wish.version}+{wish.sha256[:_SHORT_SHA]}"
    numbers = [int(label) for label in labels if label.isascii() and label.isdecimal()]
    return str(max(numbers, default=0) + 1)


def outside_definition(
    kind: DefinitionKind,
    name: str,
    version: Version,
    source: str,
    *,
    description: str = "",
    tags: tuple[str, ...] = (),
    size: int = 0,
    until: int | None = None,
    owner: Owner = EVERYBODY,
) -> CataloguedDefinition:
    """Return what the catalogue shows of something that is kept elsewhere: a workflow that ran, or a skill."""
    return CataloguedDefinition(
        kind=kind,
        name=name,
        owner=owner,
        description=description[:LONGEST_DESCRIPTION],
        tags=tags,
        source=source,
        size=size,
        created_at=version.at,
        until=until,
        versions=(version,),
    )


def summary_of(definition: CataloguedDefinition, score: int | None = None) -> dict[str, Json]:
    """Return the description of a definition without its content."""
    written = write_definition(definition)
    versions = [version["version"] for version in written.pop("versions")]
    summary = {
        **written,
        "sha256": definition.newest.sha256,
        "version": definition.newest.version,
        "versions": versions,
    }
    return summary if score is None else {**summary, "score": score}


def name_of(definition: CataloguedDefinition) -> dict[str, Json]:
    """Return what tells a definition from others."""
    summary = summary_of(definition)
    return {name: summary[name] for name in ("kind", "name", "version", "sha256", "scope", "project", "session")}


def read_definition_ref(text: str) -> tuple[DefinitionKind, str, str | None]:
    """Read `kind:name` or `kind:name@version`; raise InvalidArgument for anything else."""
    kind, colon, named = text.partition(":")
    name, at, version = named.rpartition("@")
    if not colon or kind not in frozenset(DefinitionKind) or not named:
        kinds = ", ".join(DefinitionKind)
        raise InvalidArgument(
            "definition_ref names no definition.", f"Write it as kind:name or kind:name@version; kinds are {kinds}."
        )
    return DefinitionKind(kind), (name if at else named), (version if at else None)


def pin_of(definition: CataloguedDefinition, version: Version) -> dict[str, Json]:
    """Return what a run keeps of the definition that it is carried out by."""
    return {"kind": str(definition.kind), "name": definition.name, "version": version.version, "sha256": version.sha256}


_SAID: Final = RecordCodec(
    NewDefinition, "kind content description tags keywords globs always_apply complexity attributes"
)
_STORED: Final = RecordCodec(
    CataloguedDefinition,
    "kind name owner.scope owner.project owner.session description tags keywords globs always_apply complexity "
    "attributes source size began_at updated_at until versions",
    named={"began_at": "created_at", "until": "expires_at"},
    times="began_at updated_at until at",
    strict=True,
)

write_definition: Final = _STORED.write
"""Write the stored document."""


def read_stored_definition(document: Mapping[str, Json]) -> CataloguedDefinition:
    """Read what `write_definition` wrote."""
    return _STORED.read(document, created_at=from_text(document["created_at"]) or 0)
