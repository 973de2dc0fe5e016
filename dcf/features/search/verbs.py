"""The tool that searches definitions, findings, journals, artifacts and outputs at once. It parses and calls."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.core.text.query import LONGEST_QUERY
from dcf.features.search.operations import SearchRequest
from dcf.features.search.ranking import MOST_HITS, read_corpora
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import Answer, Arguments, JsonArray, ProjectId, WorkflowId, read_names, tool
from dcf.verbs.unlisted import UNLISTED


class SearchEverything(Arguments):
    """Search definitions, findings, journals, artifacts and outputs at once: all words, and "a phrase" as it stands."""

    query: str = Field(min_length=1, max_length=LONGEST_QUERY, description="Words.", examples=["price currency"])
    types_json: JsonArray | None = Field(
        default=None, description='Only these: ["definition", "finding", "journal", "artifact", "output"].'
    )
    workflow_id: WorkflowId | None = Field(default=None, description="Only of this run.")
    project: ProjectId | None = Field(
        default=None, description="Only of this project, or for everybody.", json_schema_extra=UNLISTED
    )
    limit: int = Field(default=10, ge=1, le=MOST_HITS, description="Most results.")


class SearchAnswer(Answer):
    """Results, best first, with a score of at most 1. `covered`: which runs' journals, artifacts and outputs were seen.

    Those are the newest runs; of a journal the newest entries.
    """

    results: list[dict[str, Any]] = Field(default_factory=list)
    covered: dict[str, Any] = Field(default_factory=dict)
    provenance: dict[str, Any] | None = None


@tool(
    toolset="knowledge",
    scope=Scope.READ,
    profiles=("member",),
    arguments=SearchEverything,
    answer=SearchAnswer,
    read_only=True,
)
def search(app: Application, args: SearchEverything) -> SearchAnswer:
    """Return the best results of all kinds."""
    if args.workflow_id is not None:
        app.runs.read(args.workflow_id)
    names = () if args.types_json is None else read_names(args.types_json, name="types_json")
    request = SearchRequest(
        text=args.query,
        limit=args.limit,
        corpora=read_corpora(names),
        project=args.project,
        run=args.workflow_id,
        with_kept=current_caller().project is None,
    )
    found = app.searching.search(request)
    return SearchAnswer(
        status=f"{len(found.hits)} results.",
        results=[one.as_json() for one in found.hits],
        covered=found.covered,
        provenance=marked("whoever wrote what was found"),
    )
