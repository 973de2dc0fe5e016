"""Decides on findings: what a new one is, and what a change makes of one. Pure."""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.core.documents.operations import check_reason
from dcf.core.text.entries import FacetFilter, combined_filter
from dcf.errors import TooLarge
from dcf.features.findings.model import (
    LARGEST_DETAILS,
    LONGEST_CATEGORY,
    LONGEST_TEXT,
    LONGEST_TITLE,
    MOST_CHANGES,
    FindingChange,
    FindingFacts,
    FindingStatus,
    LastingFinding,
    Severity,
    check_label,
    check_labels,
    check_text,
)
from dcf.features.findings.refusals import NEEDS_SUPERSEDING
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json, byte_length, without_nulls
from dcf.values.records import fields_of, record, replace
from dcf.values.refusal import Refusal
from dcf.values.secret_shapes import redact

ID_PREFIX: Final = "f-"


@record(frozen=True, slots=True, kw_only=True)
class NewFinding(FindingFacts):
    """Request to keep a finding. `key` is what the caller knows it by; without one its content is."""

    key: str | None = None

    @property
    def content(self) -> str:
        """The fingerprint of the content, whoever's it is."""
        content = [str(self.severity), self.category, self.title, self.text, sorted(self.tags), self.location]
        return content_fingerprint([*content, self.metadata, self.project, self.run, self.state, self.issue])

    @property
    def finding_id(self) -> str:
        """The id of the finding, which follows from its key or content: a repetition finds it."""
        named = [self.project, self.run, "key", self.key] if self.key is not None else ["content", self.content]
        return ID_PREFIX + content_fingerprint(named)


@record(frozen=True, slots=True, kw_only=True)
class FindingWish:
    """What is to change of a finding; None leaves it as it is."""

    by: str
    status: FindingStatus | None = None
    superseded_by: str | None = None
    severity: Severity | None = None
    category: str | None = None
    title: str | None = None
    text: str | None = None
    tags: tuple[str, ...] | None = None
    reason: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class FindingFilters:
    """Which findings are wanted; each that is given must be met.

    Of a project those of all projects are found too, unless `include_global` is False.
    """

    project: str | None = None
    include_global: bool = True
    scope: str | None = None
    run: str | None = None
    severities: tuple[Severity, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    every_tag: bool = False
    status: FindingStatus | None = FindingStatus.ACTIVE

    @property
    def as_facets(self) -> tuple[FacetFilter, ...]:
        """The filters as the text index knows them."""
        statuses = () if self.status is None else (str(self.status),)
        together = {"of": self._owners, "severity": tuple(map(str, self.severities)), "status": statuses}
        facets = list(combined_filter(together))
        single = {"run": self.run, "category": self.category}
        facets += [FacetFilter(facet=name, values=(value,)) for name, value in single.items() if value is not None]
        if self.tags and self.every_tag:
            facets += [FacetFilter(facet="tag", values=(tag,)) for tag in self.tags]
        elif self.tags:
            facets.append(FacetFilter(facet="tag", values=self.tags, is_disjoint=False))
        return tuple(facets)

    @property
    def _owners(self) -> tuple[str, ...]:
        if self.scope == "global":
            return ("global",)
        if self.project is None:
            return ()
        own = (f"project {self.project}",)
        return (*own, "global") if self.include_global and self.scope is None else own


@record(frozen=True, slots=True, kw_only=True)
class FindingsQuery:
    """Request for a page of findings: the best first, without a text the newest."""

    limit: int
    text: str | None = None
    filters: FindingFilters = field(default_factory=FindingFilters)
    offset: int = 0
    cursor: str | None = None


def new_finding(wish: NewFinding, now: int) -> LastingFinding:
    """Return the finding that is to be kept, without the secrets in it; raise InvalidArgument for what is none."""
    clean = redact(
        {
            "category": check_label(wish.category, "category", LONGEST_CATEGORY),
            "title": check_text(wish.title, "title", LONGEST_TITLE),
            "text": check_text(wish.text, "text", LONGEST_TEXT),
            "tags": list(check_labels(wish.tags, "tags")),
            "location": _details(wish.location, "location"),
            "metadata": _details(wish.metadata, "metadata"),
        }
    )
    return LastingFinding(
        **{**fields_of(FindingFacts, wish), **clean.value, "tags": tuple(clean.value["tags"])},
        finding_id=wish.finding_id,
        created_at=now,
        updated_at=now,
        redacted=clean.counts,
        content=wish.content,
    )


def changed(finding: LastingFinding, wish: FindingWish, now: int) -> LastingFinding | Refusal:
    """Return the finding with the change; the same one if nothing changes, so that a repetition does nothing.

    Whether the finding that supersedes it exists is for the caller to check.
    """
    status = FindingStatus.SUPERSEDED if wish.superseded_by is not None and wish.status is None else wish.status
    if (status is FindingStatus.SUPERSEDED) != (wish.superseded_by is not None):
        return NEEDS_SUPERSEDING.refuse()
    clean = redact([wish.category, wish.title, wish.text, list(wish.tags or ())])
    category, title, text, tags = clean.value
    members: dict[str, Json] = {
        "status": status,
        "superseded_by": wish.superseded_by,
        "severity": wish.severity,
        "category": category if category is None else check_label(category, "category", LONGEST_CATEGORY),
        "title": title if title is None else check_text(title, "title", LONGEST_TITLE),
        "text": text if text is None else check_text(text, "text", LONGEST_TEXT),
        "tags": None if wish.tags is None else check_labels(tags, "tags"),
    }
    values = without_nulls(members)
    if status is not None and status is not FindingStatus.SUPERSEDED:
        values["superseded_by"] = None
    fields = tuple(name for name, value in values.items() if getattr(finding, name) != value)
    if not fields:
        return finding
    change = FindingChange(at=now, by=wish.by, fields=fields, reason=check_reason(wish.reason))
    counts = {kind: finding.redacted.get(kind, 0) + clean.counts.get(kind, 0) for kind in clean.counts}
    return replace(
        finding,
        **values,
        updated_at=now,
        redacted={**finding.redacted, **counts},
        changes=(*finding.changes, change)[-MOST_CHANGES:],
    )


def _details(value: Mapping[str, Json] | None, name: str) -> dict[str, Json] | None:
    if value is None:
        return None
    if byte_length(dict(value)) > LARGEST_DETAILS:
        raise TooLarge(f"{name} has more than {LARGEST_DETAILS} bytes.", "Put long texts into text, or an artifact.")
    return dict(value)
