"""Methods of the clients for the verbs of the toolset knowledge. Derived from their descriptions."""

from collections.abc import Sequence
from typing import Literal

from dcf.client.arguments import JsonObject, listed, listed_if_any, object_text
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.catalogue.records import (
    ComplexityName,
    DefinitionDetails,
    DefinitionKindName,
    DeletedDefinition,
    DetailName,
    ShownDefinition,
)
from dcf.features.findings.records import (
    DeletedFinding,
    FindingDetails,
    FindingStatusName,
    PromotedIssue,
    SeverityName,
    ShownFinding,
)
from dcf.features.search.records import SearchedAll, SearchedType
from dcf.values.json_text import Json


def put_definition(
    kind: DefinitionKindName,
    name: str,
    content: Json,
    *,
    version: str | None = None,
    description: str = "",
    tags: Sequence[str] = (),
    keywords: Sequence[str] = (),
    globs: Sequence[str] = (),
    always_apply: bool = False,
    complexity: ComplexityName | None = None,
    attributes: JsonObject | None = None,
    project: str | None = None,
    session: str | None = None,
    expires_in_s: int = 86400,
    source: str | None = None,
    relabel: bool = False,
    reason: str | None = None,
) -> Conversation[ShownDefinition]:
    """Keep a definition that agents work by: a rule, persona, workflow, template. New content is a new version.

    `content` is text (Markdown), or any JSON value.
    """
    return call_tool(
        ShownDefinition,
        "put_definition",
        kind=kind,
        name=name,
        content=content,
        version=version,
        description=description,
        tags_json=listed(tags),
        keywords_json=listed(keywords),
        globs_json=listed(globs),
        always_apply=always_apply or None,
        complexity=complexity,
        attributes_json=object_text(attributes, "attributes"),
        project=project,
        session=session,
        expires_in_s=expires_in_s,
        source=source,
        relabel=relabel or None,
        reason=reason,
    )


def get_definition(
    kind: DefinitionKindName,
    name: str,
    *,
    version: str | None = None,
    sha256: str | None = None,
    detail: DetailName = "full",
    fields: Sequence[str] | None = None,
    if_none_match: str | None = None,
    project: str | None = None,
    session: str | None = None,
    redact: bool = True,
) -> Conversation[ShownDefinition]:
    """Read a definition: that of the session, else of the project, else for everybody."""
    return call_tool(
        ShownDefinition,
        "get_definition",
        kind=kind,
        name=name,
        version=version,
        sha256=sha256,
        detail=detail,
        fields_json=listed_if_any(fields),
        if_none_match=if_none_match,
        project=project,
        session=session,
        redact=redact,
    )


def search_definitions(
    text: str | None = None,
    *,
    kind: DefinitionKindName | None = None,
    tags: Sequence[str] = (),
    keywords: Sequence[str] = (),
    file_types: Sequence[str] = (),
    always_apply: bool | None = None,
    complexity: ComplexityName | None = None,
    project: str | None = None,
    session: str | None = None,
    detail: DetailName = "summary",
) -> Stream[DefinitionDetails]:
    """Find what there is to work by: rules for your files, workflows, personas. The best first, else the newest."""
    return call_pages(
        DefinitionDetails,
        "search_definitions",
        "definitions",
        limit=100,
        query=text,
        kind=kind,
        tags_json=listed(tags),
        keywords_json=listed(keywords),
        file_types_json=listed(file_types),
        always_apply=always_apply,
        complexity=complexity,
        project=project,
        session=session,
        detail=detail,
    )


def delete_definition(
    kind: DefinitionKindName,
    name: str,
    *,
    project: str | None = None,
    session: str | None = None,
    reason: str | None = None,
) -> Conversation[DeletedDefinition]:
    """Delete a definition with all its versions. Runs that were opened with it keep its hash."""
    return call_tool(
        DeletedDefinition, "delete_definition", kind=kind, name=name, project=project, session=session, reason=reason
    )


def add_finding(
    severity: SeverityName,
    category: str,
    title: str,
    text: str,
    *,
    tags: Sequence[str] = (),
    scope: Literal["project", "global"] | None = None,
    project: str | None = None,
    workflow_id: str | None = None,
    state: str | None = None,
    location: JsonObject | None = None,
    metadata: JsonObject | None = None,
    agent_id: str | None = None,
    key: str | None = None,
) -> Conversation[ShownFinding]:
    """Keep what you learned for later runs: call this for what the next agent should know. No output, no log.

    The same finding, or the same key, is kept once. Secrets of known shapes are taken out.
    """
    return call_tool(
        ShownFinding,
        "add_finding",
        severity=severity,
        category=category,
        title=title,
        text=text,
        tags_json=listed(tags),
        scope=scope,
        project=project,
        workflow_id=workflow_id,
        state=state,
        location_json=object_text(location, "location"),
        metadata_json=object_text(metadata, "metadata"),
        agent_id=agent_id,
        key=key,
    )


def search_findings(
    text: str | None = None,
    *,
    project: str | None = None,
    include_global: bool = True,
    scope: Literal["project", "global"] | None = None,
    run: str | None = None,
    severity: SeverityName | Sequence[SeverityName] | None = None,
    category: str | None = None,
    tags: Sequence[str] = (),
    every_tag: bool = False,
    status: Literal["active", "deprecated", "superseded", "any"] = "active",
) -> Stream[FindingDetails]:
    """Find what was learned before: call this before you begin. The best come first, without text the newest."""
    return call_pages(
        FindingDetails,
        "search_findings",
        "findings",
        limit=100,
        query=text,
        project=project,
        include_global=include_global,
        scope=scope,
        run=run,
        severity=listed(severity),
        category=category,
        tags_json=listed(tags),
        every_tag=every_tag or None,
        status=status,
    )


def get_finding(finding_id: str) -> Conversation[ShownFinding]:
    """Read one finding whole, with its later results."""
    return call_tool(ShownFinding, "get_finding", finding_id=finding_id)


def update_finding(
    finding_id: str,
    *,
    status: FindingStatusName | None = None,
    superseded_by: str | None = None,
    severity: SeverityName | None = None,
    category: str | None = None,
    title: str | None = None,
    text: str | None = None,
    tags: Sequence[str] | None = None,
    agent_id: str | None = None,
    reason: str | None = None,
) -> Conversation[ShownFinding]:
    """Correct a finding, or say that it is no longer true: deprecated, or `superseded_by` a better one."""
    return call_tool(
        ShownFinding,
        "update_finding",
        finding_id=finding_id,
        status=status,
        superseded_by=superseded_by,
        severity=severity,
        category=category,
        title=title,
        text=text,
        tags_json=listed_if_any(tags),
        agent_id=agent_id,
        reason=reason,
    )


def delete_finding(finding_id: str, *, reason: str | None = None) -> Conversation[DeletedFinding]:
    """Delete a finding permanently, such as one with a secret in it. Deprecate a finding that is no longer true."""
    return call_tool(DeletedFinding, "delete_finding", finding_id=finding_id, reason=reason)


def promote_issue(
    workflow_id: str,
    issue: str,
    *,
    severity: SeverityName = "medium",
    category: str = "issue",
    title: str | None = None,
    text: str | None = None,
    tags: Sequence[str] = (),
    scope: Literal["project", "global"] = "project",
    agent_id: str | None = None,
) -> Conversation[PromotedIssue]:
    """Keep an issue of a run's journal as a finding, so that later runs know of it. Each issue becomes one."""
    return call_tool(
        PromotedIssue,
        "promote_issue",
        workflow_id=workflow_id,
        issue=issue,
        severity=severity,
        category=category,
        title=title,
        text=text,
        tags_json=listed(tags),
        scope=scope,
        agent_id=agent_id,
    )


def search(
    query: str,
    *,
    types: Sequence[SearchedType] = (),
    workflow_id: str | None = None,
    project: str | None = None,
    limit: int = 10,
) -> Conversation[SearchedAll]:
    """Search what is known, indexed files, and what runs wrote, at once: all words, or "a phrase" exactly."""
    return call_tool(
        SearchedAll,
        "search",
        query=query,
        types_json=listed(types),
        workflow_id=workflow_id,
        project=project,
        limit=limit,
    )
