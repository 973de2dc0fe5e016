"""The verbs of a client for findings and for the catalogue of definitions; described as in `verbs.py`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from dcf.client.answers.findings import (
    DefinitionDetails,
    DefinitionKindName,
    DeletedDefinition,
    DeletedFinding,
    FindingDetails,
    FindingStatusName,
    SeverityName,
    ShownDefinition,
    ShownFinding,
)
from dcf.client.arguments import given, json_text, listed
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask
from dcf.values.json_text import Json


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
    location: Mapping[str, Json] | None = None,
    metadata: Mapping[str, Json] | None = None,
    agent_id: str | None = None,
    key: str | None = None,
) -> Conversation[ShownFinding]:
    """Keep what was learned. The same finding, or the same `key`, is kept once; known secrets are taken out."""
    return ask(
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
        location_json=None if location is None else json_text(dict(location), "location"),
        metadata_json=None if metadata is None else json_text(dict(metadata), "metadata"),
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
    status: FindingStatusName | Literal["any"] = "active",
) -> Stream[FindingDetails]:
    """Yield findings: the best first, without a text the newest. Of a project those of all projects too."""
    wanted = given(
        text=text,
        project=project,
        include_global=include_global,
        scope=scope,
        run=run,
        severity=severity if severity is None or isinstance(severity, str) else list(severity),
        category=category,
        tags_json=listed(tags),
        every_tag=every_tag,
        status=status,
    )
    cursor = None
    while True:
        page = accepted((yield ToolCall("search_findings", {**wanted, **given(cursor=cursor)})))
        for one in page["findings"]:
            yield Item(read(FindingDetails, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def get_finding(finding_id: str) -> Conversation[ShownFinding]:
    """Read one finding whole."""
    return ask(ShownFinding, "get_finding", finding_id=finding_id)


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
    """Correct a finding, or say that it does not hold any more. What is left out stays."""
    return ask(
        ShownFinding,
        "update_finding",
        finding_id=finding_id,
        status=status,
        superseded_by=superseded_by,
        severity=severity,
        category=category,
        title=title,
        text=text,
        tags_json=None if tags is None else json_text(list(tags), "tags"),
        agent_id=agent_id,
        reason=reason,
    )


def delete_finding(finding_id: str, *, reason: str | None = None) -> Conversation[DeletedFinding]:
    """Delete a finding for good."""
    return ask(DeletedFinding, "delete_finding", finding_id=finding_id, reason=reason)


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
) -> Conversation[ShownFinding]:
    """Keep an issue of a run's journal as a finding; each issue becomes one."""
    return ask(
        ShownFinding,
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
    complexity: Literal["simple", "moderate", "high"] | None = None,
    attributes: Mapping[str, Json] | None = None,
    project: str | None = None,
    session: str | None = None,
    expires_in_s: int | None = None,
    reason: str | None = None,
) -> Conversation[ShownDefinition]:
    """Keep a definition that agents work by: new content is a new version, the same content none."""
    return ask(
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
        always_apply=always_apply,
        complexity=complexity,
        attributes_json=None if attributes is None else json_text(dict(attributes), "attributes"),
        project=project,
        session=session,
        expires_in_s=expires_in_s,
        reason=reason,
    )


def get_definition(
    kind: DefinitionKindName,
    name: str,
    *,
    version: str | None = None,
    sha256: str | None = None,
    detail: Literal["name", "summary", "full"] = "full",
    fields: Sequence[str] = (),
    if_none_match: str | None = None,
    project: str | None = None,
    session: str | None = None,
    redact: bool = True,
) -> Conversation[ShownDefinition]:
    """Read a definition: that of the session, else of the project, else for everybody."""
    return ask(
        ShownDefinition,
        "get_definition",
        kind=kind,
        name=name,
        version=version,
        sha256=sha256,
        detail=detail,
        fields_json=listed(fields),
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
    complexity: Literal["simple", "moderate", "high"] | None = None,
    project: str | None = None,
    session: str | None = None,
    detail: Literal["name", "summary", "full"] = "summary",
) -> Stream[DefinitionDetails]:
    """Yield definitions with all tags, any keyword and every word; rules also by the files that they are for."""
    wanted = given(
        text=text,
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
    cursor = None
    while True:
        page = accepted((yield ToolCall("search_definitions", {**wanted, **given(cursor=cursor)})))
        for one in page["definitions"]:
            yield Item(read(DefinitionDetails, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def delete_definition(
    kind: DefinitionKindName,
    name: str,
    *,
    project: str | None = None,
    session: str | None = None,
    reason: str | None = None,
) -> Conversation[DeletedDefinition]:
    """Delete a definition with all its versions."""
    return ask(
        DeletedDefinition, "delete_definition", kind=kind, name=name, project=project, session=session, reason=reason
    )
