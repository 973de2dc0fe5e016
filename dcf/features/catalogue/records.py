"""The answers of verbs on the catalogue. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

DefinitionKindName: TypeAlias = Literal["workflow", "job", "persona", "rule", "contract", "template", "schema", "skill"]
ComplexityName: TypeAlias = Literal["simple", "moderate", "high"]
DetailName: TypeAlias = Literal["name", "summary", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionDetails:
    """A definition of the catalogue, as far as it was asked for; one of a search has a `score`.

    Of a search, the `content` is None unless it `is_whole`: those that do not fit into an answer are left out.
    """

    sha256: str
    version: str = ""
    kind: DefinitionKindName | None = None
    name: str = ""
    scope: Literal["global", "project", "session"] = "global"
    project: str | None = None
    session: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    always_apply: bool = False
    complexity: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    source: str | None = None
    size: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    versions: tuple[str, ...] = ()
    content: Json = None
    score: int = 0
    is_whole: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDefinition:
    """The definition. `changed`: this call made a version of it; `not_modified`: it is what you have.

    `redacted` counts the secrets that were taken out of what is shown.
    """

    definition: DefinitionDetails
    changed: bool | None = None
    not_modified: bool | None = None
    redacted: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDefinitions:
    """Definitions, with scores where words were given. `total` is a lower bound, or `total_is_exact`.

    `redacted` counts the secrets that were taken out of what is shown.
    """

    definitions: tuple[DefinitionDetails, ...] = ()
    total: int = 0
    total_is_exact: bool = True
    next_cursor: str | None = None
    redacted: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedDefinition:
    """The definition is gone; `existed` is false if it was gone before."""

    kind: DefinitionKindName
    name: str
    existed: bool
