"""The answer of the verb that shows how a workflow is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLanguage:
    """The page, as Markdown. `agents` are the ids of others who called lately, the latest first.

    A key that is bound to a project gets those of the newest runs of its project.
    """

    agents: tuple[str, ...]
    language: str
