"""Tools on the catalogue of definitions: what agents work by. They only parse arguments, call and format."""

from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.text.entries import MOST_SKIPPED
from dcf.errors import InvalidArgument
from dcf.features.catalogue.model import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_SESSION_LIFE_S,
    LONGEST_VERSION,
    SESSION_LIFE_S,
    CataloguedDefinition,
    DefinitionKind,
    NewDefinition,
    Owner,
    name_of,
    summary_of,
)
from dcf.features.catalogue.operations import DefinitionFound, DefinitionQuery
from dcf.features.findings.verbs import PageCursor, Query
from dcf.values.json_text import Json, byte_length, check, parse, parse_object
from dcf.values.refusal import Refusal
from dcf.values.secret_shapes import redact
from dcf.verbs.answers.paging import fitting
from dcf.verbs.callers import current_caller, require
from dcf.verbs.registry import ID_PATTERN, Answer, Arguments, JsonArray, JsonObject, ProjectId, refused, tool
from dcf.verbs.run_requests import Reason
from dcf.verbs.unlisted import UNLISTED

KindName = Literal["workflow", "job", "persona", "rule", "contract", "template", "schema", "skill"]
Complexity = Literal["simple", "moderate", "high"]
Detail = Literal["name", "summary", "full"]
DefinitionName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_NAME, description="Its name.", examples=["code-review"])
]
KindOf = Annotated[KindName, Field(description="What it is.", examples=["rule"])]
_SHA: Final = r"^[0-9a-f]{8,64}$"
_SESSION: Final = "Session that it is for; first choice there."


class PutDefinition(Arguments):
    """Keep a definition that agents work by: a rule, persona, workflow, template. New content is a new version.

    content is text (Markdown), or any JSON value.
    """

    kind: KindOf
    name: DefinitionName
    content: Any = Field(description="The definition itself.", examples=["# Review\nRead it twice."])
    version: str | None = Field(
        default=None, min_length=1, max_length=LONGEST_VERSION, description="Default: the next number."
    )
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION, description="What it is for.")
    tags_json: JsonArray | None = Field(default=None, description='Short texts: ["python"].')
    keywords_json: JsonArray | None = Field(default=None, description="The same.", json_schema_extra=UNLISTED)
    globs_json: JsonArray | None = Field(default=None, description='Of a rule: files it is for, ["*.py"].')
    always_apply: bool = Field(default=False, description="Of a rule: for all files.")
    complexity: Complexity | None = Field(default=None, description="Of a workflow.", json_schema_extra=UNLISTED)
    attributes_json: JsonObject | None = Field(default=None, description="More.", json_schema_extra=UNLISTED)
    project: ProjectId | None = Field(default=None, description="Project that it is for; default: everybody.")
    session: str | None = Field(default=None, pattern=ID_PATTERN, description="Or session; it then expires.")
    expires_in_s: int = Field(
        default=SESSION_LIFE_S,
        ge=60,
        le=LONGEST_SESSION_LIFE_S,
        description="Seconds that one of a session is kept.",
        json_schema_extra=UNLISTED,
    )
    reason: Reason = None


class DefinitionShown(Answer):
    """The definition. `changed`: this call made a version of it; `not_modified`: it is what you have.

    `redacted` counts the secrets that were taken out of what is shown.
    """

    definition: dict[str, Any] | None = None
    changed: bool | None = None
    not_modified: bool | None = None
    redacted: dict[str, int] | None = None


@tool(
    toolset="knowledge",
    scope=Scope.WORK,
    profiles=("operator",),
    arguments=PutDefinition,
    answer=DefinitionShown,
    audit=("kind", "name", "version", "reason"),
    of_no_run=True,
)
def put_definition(app: Application, args: PutDefinition) -> DefinitionShown:
    """Keep the definition: a worker one of a session, a planner any."""
    caller = current_caller()
    if args.session is None:
        require(Scope.PLAN, "A definition that is not of a session")
    content = _content(args.content, app.settings.max_output_bytes)
    wish = NewDefinition(
        kind=DefinitionKind(args.kind),
        name=args.name,
        content=content,
        author=caller.agent_id or caller.name,
        owner=Owner(project=args.project, session=args.session),
        version=args.version,
        description=args.description,
        tags=_labels(args.tags_json, "tags_json"),
        keywords=_labels(args.keywords_json, "keywords_json"),
        globs=_labels(args.globs_json, "globs_json"),
        always_apply=args.always_apply,
        complexity=args.complexity,
        attributes=None if args.attributes_json is None else parse_object(args.attributes_json, name="attributes_json"),
        life_s=args.expires_in_s,
    )
    kept = app.catalogue.put(wish)
    if isinstance(kept, Refusal):
        return refused(DefinitionShown, kept)
    newest = kept.definition.newest
    done = "is kept" if kept.changed else "was kept before"
    return DefinitionShown(
        status=f"Version {newest.version} of {args.kind} '{args.name}' {done}.",
        definition=summary_of(kept.definition),
        changed=kept.changed,
    )


class GetDefinition(Arguments):
    """Read a definition: that of the session, else of the project, else for everybody."""

    kind: KindOf
    name: DefinitionName
    version: str | None = Field(default=None, max_length=LONGEST_VERSION, description="Default: the newest.")
    sha256: str | None = Field(
        default=None, pattern=_SHA, description="Or its hash, 8 characters at least.", json_schema_extra=UNLISTED
    )
    detail: Detail = Field(default="full", description="How much.", json_schema_extra=UNLISTED)
    fields_json: JsonArray | None = Field(
        default=None, description="Only these fields of it.", json_schema_extra=UNLISTED
    )
    if_none_match: str | None = Field(
        default=None, max_length=64, description="The sha256 that you have: then it says not_modified."
    )
    project: ProjectId | None = Field(default=None, description="Whose definitions come first.")
    session: str | None = Field(default=None, pattern=ID_PATTERN, description=_SESSION, json_schema_extra=UNLISTED)
    redact: bool = Field(default=True, description="False: with the secrets in it.", json_schema_extra=UNLISTED)


@tool(
    toolset="knowledge",
    scope=Scope.READ,
    profiles=("member",),
    arguments=GetDefinition,
    answer=DefinitionShown,
    read_only=True,
    of_no_run=True,
)
def get_definition(app: Application, args: GetDefinition) -> DefinitionShown:
    """Return the definition, or say that the caller has it."""
    kind = DefinitionKind(args.kind)
    fields = None if args.fields_json is None else {*_labels(args.fields_json, "fields_json"), "sha256"}
    owner = {"project": args.project, "session": args.session}
    found = app.catalogue.get(
        kind, args.name, version=args.version, sha256=args.sha256, with_kept=_sees_kept(), **owner
    )
    named = f"{args.kind} '{args.name}'"
    if args.if_none_match is not None and args.if_none_match == found.version.sha256:
        return DefinitionShown(
            status=f"You have version {found.version.version} of {named}.",
            definition={"sha256": found.version.sha256, "version": found.version.version},
            not_modified=True,
        )
    if not args.redact:
        require(Scope.PLAN, "A definition with the secrets in it")
    clean = redact(_detailed(found, args.detail)) if args.redact else None
    told = _detailed(found, args.detail) if clean is None else clean.value
    if fields is not None:
        told = {name: value for name, value in told.items() if name in fields}
    return DefinitionShown(
        status=f"Version {found.version.version} of {named}.",
        definition=told,
        not_modified=False,
        redacted=None if clean is None else dict(clean.counts),
    )


class SearchDefinitions(Arguments):
    """Find what there is to work by: rules for your files, workflows, personas. The best first, else the newest."""

    kind: KindName | None = Field(default=None, description="Default: all but skills.")
    text: Query = None
    tags_json: JsonArray | None = Field(default=None, description="With all of these tags.")
    keywords_json: JsonArray | None = Field(
        default=None, description="With one of these words.", json_schema_extra=UNLISTED
    )
    file_types_json: JsonArray | None = Field(default=None, description='Rules for these files: ["src/a.py"].')
    always_apply: bool | None = Field(default=None, description="Rules for all files.", json_schema_extra=UNLISTED)
    complexity: Complexity | None = Field(default=None, description="Of workflows.", json_schema_extra=UNLISTED)
    project: ProjectId | None = Field(default=None, description="Those of this project too.")
    session: str | None = Field(
        default=None, pattern=ID_PATTERN, description="And of this session.", json_schema_extra=UNLISTED
    )
    detail: Detail = Field(default="summary", description="How much of each.", json_schema_extra=UNLISTED)
    limit: int = Field(default=20, ge=1, le=100, description="Definitions of one page.", json_schema_extra=UNLISTED)
    offset: int = Field(
        default=0, ge=0, le=MOST_SKIPPED, description="So many are skipped.", json_schema_extra=UNLISTED
    )
    cursor: PageCursor = None


class DefinitionsFound(Answer):
    """Definitions, with scores where words were given. `total` is at least so many, or `total_is_exact`.

    `redacted` counts the secrets that were taken out of what is shown.
    """

    definitions: list[dict[str, Any]] = Field(default_factory=list)
    total: int | None = None
    total_is_exact: bool | None = None
    next_cursor: str | None = None
    redacted: dict[str, int] | None = None


@tool(
    toolset="knowledge",
    scope=Scope.READ,
    profiles=("member",),
    arguments=SearchDefinitions,
    answer=DefinitionsFound,
    read_only=True,
    of_no_run=True,
)
def search_definitions(app: Application, args: SearchDefinitions) -> DefinitionsFound:
    """Return a page of definitions."""
    query = DefinitionQuery(
        limit=args.limit,
        kind=None if args.kind is None else DefinitionKind(args.kind),
        text=args.text,
        tags=_labels(args.tags_json, "tags_json"),
        keywords=_labels(args.keywords_json, "keywords_json"),
        file_types=_labels(args.file_types_json, "file_types_json"),
        always_apply=args.always_apply,
        complexity=args.complexity,
        project=args.project,
        session=args.session,
        with_kept=_sees_kept(),
        offset=args.offset,
        cursor=args.cursor,
    )
    page = app.catalogue.search(query)
    listed = [name_of(one) if args.detail == "name" else summary_of(one, score) for one, score in page.definitions]
    most = app.settings.max_result_bytes
    fit = fitting(listed, most // 2 if args.detail == "full" else most)
    if fit < len(listed):
        page, listed = app.catalogue.search(replace(query, limit=fit)), listed[:fit]
    if args.detail == "full":
        listed = _with_contents(app, [one for one, _ in page.definitions], listed, most // 2)
    clean = redact(listed)
    return DefinitionsFound(
        status=f"{len(listed)} of {'' if page.exact else 'at least '}{page.total} definitions.",
        definitions=clean.value,
        total=page.total,
        total_is_exact=page.exact,
        next_cursor=page.next_cursor,
        redacted=dict(clean.counts),
    )


class DeleteDefinition(Arguments):
    """Delete a definition with all its versions. Runs that were opened with it keep its hash."""

    kind: KindOf
    name: DefinitionName
    project: ProjectId | None = Field(default=None, description="Project that it is for.")
    session: str | None = Field(default=None, pattern=ID_PATTERN, description="Session that it is for.")
    reason: Reason = None


class DefinitionDeleted(Answer):
    """The definition is gone; `existed` is false if it was gone before."""

    kind: str | None = None
    name: str | None = None
    existed: bool | None = None


@tool(
    toolset="knowledge",
    scope=Scope.OPERATE,
    profiles=("operator",),
    arguments=DeleteDefinition,
    answer=DefinitionDeleted,
    destructive=True,
    audit=("kind", "name", "reason"),
    of_no_run=True,
)
def delete_definition(app: Application, args: DeleteDefinition) -> DefinitionDeleted:
    """Delete the definition."""
    owner = Owner(project=args.project, session=args.session)
    existed = app.catalogue.delete(DefinitionKind(args.kind), args.name, owner)
    done = "deleted" if existed else "was gone already"
    return DefinitionDeleted(status=done, kind=args.kind, name=args.name, existed=existed)


def _sees_kept() -> bool:
    """Return True unless the caller is bound to a project: of workflows that were started it sees the project's own."""
    return current_caller().project is None


def _detailed(found: DefinitionFound, detail: str) -> dict[str, Json]:
    there = found.definition
    told = name_of(there) if detail == "name" else summary_of(there)
    told |= {"version": found.version.version, "sha256": found.version.sha256}
    return told if detail != "full" else {**told, "content": found.content}


def _with_contents(
    app: Application, definitions: list[CataloguedDefinition], listed: list[dict[str, Json]], most: int
) -> list[dict[str, Json]]:
    """Return the definitions with their contents, as far as they fit; a content that is left out is null."""
    left, whole = most, []
    for told, content in zip(listed, app.catalogue.contents(definitions), strict=True):
        left -= byte_length(content)
        whole.append({**told, "content": content if left >= 0 else None, "is_whole": left >= 0 and content is not None})
    return whole


def _content(value: Json, most: int) -> Json:
    """Return the content as it is kept: a text is no JSON text, but itself."""
    return check(value, name="content", max_bytes=most)


def _labels(value: JsonArray | None, name: str) -> tuple[str, ...]:
    found = [] if value is None else parse(value, name=name)
    if not isinstance(found, list) or not all(isinstance(one, str) and one and one.isprintable() for one in found):
        raise InvalidArgument(f"{name} is not an array of texts.", f'Send {name} as ["a", "b"].')
    return tuple(dict.fromkeys(found))
