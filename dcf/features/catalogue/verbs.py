"""The verbs on the catalogue of definitions: what agents work by. They call and describe."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

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
from dcf.features.catalogue.records import (
    ComplexityName,
    DefinitionKindName,
    DeletedDefinition,
    DetailName,
    FoundDefinitions,
    ShownDefinition,
)
from dcf.features.catalogue.search import DefinitionQuery
from dcf.values.json_text import Json, byte_length
from dcf.values.refusal import Refusal
from dcf.values.secret_shapes import redact as redacted
from dcf.verbs.answers.paging import fitting
from dcf.verbs.callers import current_caller, require
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import ID, Cursor, JsonValue, ProjectId, Reason, SearchedWords, Tags

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.catalogue.operations import DefinitionFound

_SHA: Final = r"^[0-9a-f]{8,64}$"

Kind = Annotated[DefinitionKindName, Argument(means="The kind.", example="rule")]
Name = Annotated[str, Argument(means="Its name.", example="code-review", min_length=1, max_length=LONGEST_NAME)]
Keywords = Annotated[
    Sequence[str],
    Argument(
        means="The same.",
        form="texts",
        tool="keywords_json",
        option="--keyword",
        spelling="The same; may be repeated.",
        listed=False,
    ),
]
Project = Annotated[
    ProjectId | None,
    Argument(means="Project that it is for.", spelling="The project that it is for; else it is for everybody."),
]
Session = Annotated[str | None, Argument(means="Session that it is for.", pattern=ID)]
SessionBefore = Annotated[Session, Argument(means="Session that it is for; first choice there.", listed=False)]
Complexity = Annotated[ComplexityName | None, Argument(means="Of a workflow.", listed=False)]
Detail = Annotated[DetailName, Argument(means="How much.", listed=False)]


@verb(
    toolset="knowledge",
    scope="work",
    lists=("operator",),
    audit=("kind", "name", "version", "reason"),
    of_no_run=True,
    says=lambda answer: "Version {version} of {kind} '{name}' {done}.".format(
        **answer["definition"], done="is kept" if answer["changed"] else "was kept before"
    ),
    command=Command(
        name="catalogue add",
        example="dcf catalogue add rule python-style rule.md --tag python --glob '*.py'",
        fixed={"source": None, "relabel": False},
    ),
    codes=("kept_elsewhere", "version_exists"),
)
def put_definition(
    on: "Application",
    kind: Kind,
    name: Name,
    content: Annotated[
        JsonValue,
        Argument(
            means="The definition itself.",
            example="# Review\nRead it twice.",
            form="value",
            bytes_setting="max_output_bytes",
            spelling="Its content: text as it is; JSON if it ends in .json.",
        ),
    ],
    *,
    version: Annotated[
        str | None,
        Argument(
            means="Default: the next number.",
            min_length=1,
            max_length=LONGEST_VERSION,
            spelling="Label of the version; default: the next number.",
        ),
    ] = None,
    description: Annotated[str, Argument(means="Its purpose.", max_length=LONGEST_DESCRIPTION)] = "",
    tags: Annotated[Tags, Argument(means='Short texts: ["python"].')] = (),
    keywords: Keywords = (),
    globs: Annotated[
        Sequence[str],
        Argument(
            means='Of a rule: files it is for, ["*.py"].',
            form="texts",
            tool="globs_json",
            option="--glob",
            spelling="Of a rule: the files it is for; may be repeated.",
        ),
    ] = (),
    always_apply: Annotated[bool, Argument(means="Of a rule: for all files.", option="--always")] = False,
    complexity: Complexity = None,
    attributes: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="More.", form="object", tool="attributes_json", spelling="A JSON object, a file, or -.", listed=False
        ),
    ] = None,
    project: Annotated[Project, Argument(means="Project that it is for; default: everybody.")] = None,
    session: Annotated[
        Session, Argument(means="Or session; it then expires.", spelling="The session that it is for; it then expires.")
    ] = None,
    expires_in_s: Annotated[
        int,
        Argument(
            means="Of a session: seconds it is kept.", ge=60, le=LONGEST_SESSION_LIFE_S, option="--expiry", listed=False
        ),
    ] = SESSION_LIFE_S,
    source: Annotated[str | None, Argument(means="File that it came from.", max_length=1000, listed=False)] = None,
    relabel: Annotated[bool, Argument(means="Put its hash behind a version that is taken.", listed=False)] = False,
    reason: Reason = None,  # noqa: ARG001 - the audit trail notes it
) -> Answered[ShownDefinition] | Refusal:
    """Keep a definition that agents work by: a rule, persona, workflow, template. New content is a new version.

    `content` is text (Markdown), or any JSON value.
    """
    caller = current_caller()
    if session is None:
        require(Scope.PLAN, "A definition that is not of a session")
    wish = NewDefinition(
        kind=DefinitionKind(kind),
        name=name,
        content=content,
        author=caller.agent_id or caller.name,
        owner=Owner(project=project, session=session),
        version=version,
        description=description,
        tags=_labels(tags, "tags_json"),
        keywords=_labels(keywords, "keywords_json"),
        globs=_labels(globs, "globs_json"),
        always_apply=always_apply,
        complexity=complexity,
        attributes=dict(attributes or {}),
        source=source,
        life_s=expires_in_s,
        relabel=relabel,
    )
    stored = on.catalogue.put(wish)
    if isinstance(stored, Refusal):
        return stored
    return Answered(ShownDefinition, {"definition": summary_of(stored.definition), "changed": stored.changed})


@verb(
    toolset="knowledge",
    scope="read",
    lists=("member",),
    effect="reads",
    of_no_run=True,
    command=Command(name="catalogue show", show="dcf.cli.features.catalogue:show_definition"),
    codes=("not_in_catalogue",),
)
def get_definition(
    on: "Application",
    kind: Kind,
    name: Name,
    *,
    version: Annotated[str | None, Argument(means="Default: the newest.", max_length=LONGEST_VERSION)] = None,
    sha256: Annotated[
        str | None, Argument(means="Or its hash, 8 characters at least.", pattern=_SHA, listed=False)
    ] = None,
    detail: Detail = "full",
    fields: Annotated[
        Sequence[str] | None,
        Argument(
            means="Only these fields of it.",
            form="texts",
            tool="fields_json",
            option="--field",
            spelling="Only this field of it; may be repeated.",
            listed=False,
        ),
    ] = None,
    if_none_match: Annotated[
        str | None, Argument(means="The sha256 that you have: then it says not_modified.", max_length=64)
    ] = None,
    project: Annotated[
        Project,
        Argument(means="The project whose definitions come first."),
    ] = None,
    session: SessionBefore = None,
    redact: Annotated[
        bool,
        Argument(
            means="False: with the secrets in it.",
            option="--redact/--with-secrets",
            spelling="Without the secrets in it, or with them.",
            listed=False,
        ),
    ] = True,
) -> Answered[ShownDefinition]:
    """Read a definition: that of the session, else of the project, else for everybody."""
    expected = None if fields is None else {*_labels(fields, "fields_json"), "sha256"}
    stored_version = on.catalogue.get(
        DefinitionKind(kind),
        name,
        version=version,
        sha256=sha256,
        with_kept=current_caller().project is None,  # a project's caller sees the workflows of its own runs only
        project=project,
        session=session,
    )
    named = f"{stored_version.version.version} of {kind} '{name}'."
    if if_none_match is not None and if_none_match == stored_version.version.sha256:
        definition = {"sha256": stored_version.version.sha256, "version": stored_version.version.version}
        return Answered(ShownDefinition, {"definition": definition, "not_modified": True}, f"You have version {named}")
    if not redact:
        require(Scope.PLAN, "A definition with the secrets in it")
    clean = redacted(_detailed(stored_version, detail)) if redact else None
    detailed = _detailed(stored_version, detail) if clean is None else clean.value
    if expected is not None:
        detailed = {member: value for member, value in detailed.items() if member in expected}
    members = {"definition": detailed, "not_modified": False, "redacted": clean and dict(clean.counts)}
    return Answered(ShownDefinition, members, f"Version {named}")


@verb(
    toolset="knowledge",
    scope="read",
    lists=("member",),
    effect="reads",
    of_no_run=True,
    says=lambda answer: (
        f"{len(answer['definitions'])} of {'' if answer['total_is_exact'] else 'at least '}{answer['total']}"
        " definitions."
    ),
    pages="definitions",
    command=Command(
        name="catalogue ls",
        example="dcf catalogue ls review --kind rule --file src/a.py",
        assumes={"limit": 50},
        show="dcf.cli.features.catalogue:show_found",
    ),
    in_refusals={"definitions": ()},
)
def search_definitions(
    on: "Application",
    text: SearchedWords = None,
    *,
    kind: Annotated[DefinitionKindName | None, Argument(means="Default: all but skills.")] = None,
    tags: Annotated[
        Tags, Argument(means="With all of these tags.", spelling="With all of these; may be repeated.")
    ] = (),
    keywords: Annotated[
        Keywords, Argument(means="With one of these words.", spelling="With one of these; may be repeated.")
    ] = (),
    file_types: Annotated[
        Sequence[str],
        Argument(
            means='Rules for these files: ["src/a.py"].',
            form="texts",
            tool="file_types_json",
            option="--file",
            spelling="Rules for this file or glob; may be repeated.",
        ),
    ] = (),
    always_apply: Annotated[
        bool | None,
        Argument(
            means="Rules for all files.",
            option="--always/--not-always",
            spelling="Rules for all files, or those that are not.",
            listed=False,
        ),
    ] = None,
    complexity: Annotated[Complexity, Argument(means="Of workflows.")] = None,
    project: Annotated[
        Project, Argument(means="Those of this project too.", spelling="Those of this project too.")
    ] = None,
    session: Annotated[Session, Argument(means="And of this session.", listed=False)] = None,
    detail: Annotated[Detail, Argument(means="How much of each.")] = "summary",
    limit: Annotated[int, Argument(means="Definitions of one page.", ge=1, le=100, listed=False)] = 20,
    offset: Annotated[int, Argument(means="So many are skipped.", ge=0, le=MOST_SKIPPED, listed=False)] = 0,
    cursor: Cursor = None,
) -> Answered[FoundDefinitions]:
    """Find what there is to work by: rules for your files, workflows, personas. The best first, else the newest."""
    query = DefinitionQuery(
        limit=limit,
        kind=None if kind is None else DefinitionKind(kind),
        text=text,
        tags=_labels(tags, "tags_json"),
        keywords=_labels(keywords, "keywords_json"),
        file_types=_labels(file_types, "file_types_json"),
        always_apply=always_apply,
        complexity=complexity,
        project=project,
        session=session,
        with_kept=current_caller().project is None,  # a project's caller sees the workflows of its own runs only
        offset=offset,
        cursor=cursor,
    )
    page = on.catalogue.search(query)
    listed = [name_of(item) if detail == "name" else summary_of(item, score) for item, score in page.hits]
    most = on.settings.max_result_bytes
    fit = fitting(listed, most // 2 if detail == "full" else most)
    if fit < len(listed):
        page, listed = on.catalogue.search(replace(query, limit=fit)), listed[:fit]
    if detail == "full":
        listed = _with_contents(on, [item for item, _ in page.hits], listed, most // 2)
    clean = redacted(listed)
    return Answered(FoundDefinitions, {"definitions": clean.value, **page.totals, "redacted": dict(clean.counts)})


@verb(
    toolset="knowledge",
    scope="operate",
    lists=("operator",),
    effect="destroys",
    audit=("kind", "name", "reason"),
    of_no_run=True,
    says=lambda answer: "deleted" if answer["existed"] else "was gone already",
    command=Command(
        name="catalogue delete",
        question=lambda call: f"Delete {call['kind']} {call['name']}?",
        show="dcf.cli.features.catalogue:show_deleted",
    ),
)
def delete_definition(
    on: "Application",
    kind: Kind,
    name: Name,
    *,
    project: Project = None,
    session: Session = None,
    reason: Reason = None,  # noqa: ARG001 - the audit trail notes it
) -> DeletedDefinition:
    """Delete a definition with all its versions. Runs that were opened with it keep its hash."""
    existed = on.catalogue.delete(DefinitionKind(kind), name, Owner(project=project, session=session))
    return DeletedDefinition(kind=kind, name=name, existed=existed)


def _detailed(definition_found: "DefinitionFound", detail: str) -> dict[str, Json]:
    there = definition_found.definition
    name = name_of(there) if detail == "name" else summary_of(there)
    name |= {"version": definition_found.version.version, "sha256": definition_found.version.sha256}
    return name if detail != "full" else {**name, "content": definition_found.content}


def _with_contents(
    on: "Application", definitions: list[CataloguedDefinition], listed: list[dict[str, Json]], most: int
) -> list[dict[str, Json]]:
    """Return the definitions with their contents, as far as they fit; a content that is left out is null."""
    left, whole = most, []
    for row, content in zip(listed, on.catalogue.contents(definitions), strict=True):
        left -= byte_length(content)
        whole.append({**row, "content": content if left >= 0 else None, "is_whole": left >= 0 and content is not None})
    return whole


def _labels(texts: Sequence[str], name: str) -> tuple[str, ...]:
    """Return texts of one line, each once; raise InvalidArgument where one is none."""
    if not all(text and text.isprintable() for text in texts):
        raise InvalidArgument(f"{name} is not an array of texts.", f'Send {name} as ["a", "b"].')
    return tuple(dict.fromkeys(texts))


add_tools(__name__)
