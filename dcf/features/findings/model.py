"""Findings: lessons of a run that are worth knowing after it. Data, and its stored and shown forms. Pure.

A finding belongs to a project or to all (`scope`), outlives the run that it came from, and is never silently replaced:
it is deprecated, or superseded by another one. A finding of `features/diagnosis/model.py`, on a run that does not move,
is something else. No secret of a known shape is kept in one (`values/secret_shapes.py`).
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from dcf.core.text.entries import TextEntry, combined
from dcf.core.text.tokens import read_words
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record
from dcf.values.text_pieces import clip

MOST_FINDINGS: Final = 100_000
"""Findings of one Redis. Then one is deleted before another is added."""

LONGEST_TITLE: Final = 200
LONGEST_TEXT: Final = 20_000
LONGEST_CATEGORY: Final = 100
LONGEST_TAG: Final = 64
MOST_TAGS: Final = 20
MOST_CHANGES: Final = 20
"""Changes of a finding that it lists; the oldest ones are left out."""

LARGEST_DETAILS: Final = 16 * 1024
"""Bytes of a location, and of metadata."""

SHOWN_IN_LISTS: Final = 400
"""Characters of a text that a list shows."""

_TITLE_WEIGHT: Final = 8
_TAG_WEIGHT: Final = 4
_CATEGORY_WEIGHT: Final = 2
_TEXT_WEIGHT: Final = 1


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class FindingStatus(StrEnum):
    """Whether a finding still holds: it does, it does not, or another one says it better."""

    ACTIVE = "active"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"


@record(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A change of a finding: when, by whom, of which fields, and why."""

    at: int
    by: str
    fields: tuple[str, ...]
    reason: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class FindingFacts:
    """Content and origin (`run`, `state`, `issue`) of a finding. Without a `project` it is for all projects."""

    severity: Severity
    category: str
    title: str
    text: str
    author: str
    tags: tuple[str, ...] = ()
    project: str | None = None
    run: str | None = None
    state: str | None = None
    issue: str | None = None
    location: Mapping[str, Json] | None = None
    metadata: Mapping[str, Json] | None = None


@record(frozen=True, slots=True, kw_only=True)
class LastingFinding(FindingFacts):
    """A finding. Times are the server's, in microseconds. `redacted` counts the secrets taken out of it, by kind."""

    finding_id: str
    created_at: int
    updated_at: int
    status: FindingStatus = FindingStatus.ACTIVE
    superseded_by: str | None = None
    redacted: Mapping[str, int] = field(default_factory=dict)
    content: str = ""
    changes: tuple[FindingChange, ...] = ()

    @property
    def scope(self) -> str:
        """The word for whose it is: global or project."""
        return "global" if self.project is None else "project"


def as_entry(finding: LastingFinding, revision: int) -> TextEntry:
    """Return the entry of the text index that a finding is."""
    texts = [
        (finding.title, _TITLE_WEIGHT),
        (" ".join(finding.tags), _TAG_WEIGHT),
        (finding.category, _CATEGORY_WEIGHT),
        (finding.text, _TEXT_WEIGHT),
    ]
    facets = {
        **combined({"of": owner_of(finding.project), "severity": finding.severity, "status": finding.status}),
        "category": (finding.category,),
        "tag": finding.tags,
        "run": () if finding.run is None else (finding.run,),
    }
    return TextEntry(
        entry_id=finding.finding_id,
        at=finding.created_at,
        document=write_finding(finding),
        words=read_words(texts),
        facets=facets,
        revision=revision,
    )


def owner_of(project: str | None) -> str:
    """Return the value of the facet that says whose a finding is."""
    return "global" if project is None else f"project {project}"


SHOWN: Final = RecordCodec(
    LastingFinding,
    "finding_id severity category title text tags scope project run state issue location metadata author status "
    "superseded_by created_at updated_at redacted changes",
    times="created_at updated_at at",
    strict=True,
)
"""A single finding as readers see it."""


def summary(finding: LastingFinding, score: int) -> dict[str, Json]:
    """Return a finding as a list shows it: the beginning of its text, and nothing that can be long."""
    members = SHOWN.write(finding)
    for name in ("location", "metadata", "redacted", "changes"):
        del members[name]
    text = clip(finding.text, SHOWN_IN_LISTS)
    return {**members, "text": text, "is_whole": text == finding.text, "score": score}


def write_finding(finding: LastingFinding) -> dict[str, Json]:
    """Write the stored document."""
    return {**SHOWN.write(finding), "content": finding.content}


def read_finding(document: Mapping[str, Json]) -> LastingFinding:
    """Read what `write_finding` wrote."""
    return SHOWN.read(document, content=document["content"])


def check_text(value: str, name: str, longest: int) -> str:
    """Return a text that is not empty and not too long; raise InvalidArgument for any other."""
    if not value.strip():
        raise InvalidArgument(f"{name} is empty.", f"Say in {name} what was found.")
    if len(value) > longest:
        raise InvalidArgument(f"{name} has more than {longest} characters.", f"Shorten {name}.")
    return value


def check_label(value: str, name: str, longest: int) -> str:
    """Return a text of one line that is not too long; raise InvalidArgument for any other."""
    if not value.isprintable():
        raise InvalidArgument(f"{name} has an invisible character.", "Leave the character out.")
    return check_text(value, name, longest)


def check_labels(tags: Json, name: str) -> tuple[str, ...]:
    """Return tags, each once; raise InvalidArgument where one is no short text."""
    if not isinstance(tags, list | tuple) or not all(_is_label(tag) for tag in tags):
        raise InvalidArgument(
            f"{name} is no list of short texts.", f"A tag has 1 to {LONGEST_TAG} characters on one line."
        )
    labels = tuple(dict.fromkeys(tags))
    if len(labels) > MOST_TAGS:
        raise InvalidArgument(f"{name} has more than {MOST_TAGS} tags.", "Leave some out.")
    return labels


def _is_label(value: Json) -> bool:
    is_short = isinstance(value, str) and 0 < len(value) <= LONGEST_TAG
    return is_short and value.isprintable() and value == value.strip()
