"""The verb that searches what is known, files of projects, and what runs wrote, at once. It calls and describes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from dcf.core.access.provenance import marked
from dcf.core.text.query import LONGEST_QUERY
from dcf.features.search.ranking import MOST_HITS, SearchRequest, read_corpora
from dcf.features.search.records import SearchedAll, SearchedType
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import OptionalRunId, ProjectId

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="knowledge",
    scope="read",
    lists=("member",),
    effect="reads",
    says=lambda answer: f"{len(answer['results'])} results.",
    codes=("unknown_run",),
    command=Command(
        name="runs search",
        example='dcf runs search "currency EUR" --type journal',
        show="dcf.cli.features.search:show_results",
    ),
    in_refusals={"results": (), "covered": {}},
)
def search(
    on: "Application",
    query: Annotated[
        str,
        Argument(
            means="Words.",
            example="price currency",
            min_length=1,
            max_length=LONGEST_QUERY,
            spelling='Words that must all be there; "a phrase" in quotes.',
        ),
    ],
    *,
    types: Annotated[
        Sequence[SearchedType],
        Argument(
            means='Only these: ["definition", "finding", "journal", "artifact", "output", "unit", "document", '
            '"blueprint", "code"].',
            spelling="Only these; may be repeated.",
            form="names",
            tool="types_json",
            option="--type",
        ),
    ] = (),
    workflow_id: Annotated[OptionalRunId, Argument(means="Only of this run.", option="--run")] = None,
    project: Annotated[
        ProjectId | None, Argument(means="Only of this project, or for everybody.", listed=False)
    ] = None,
    limit: Annotated[int, Argument(means="Most results.", plain=True, ge=1, le=MOST_HITS)] = 10,
) -> Answered[SearchedAll]:
    """Search what is known, indexed files, and what runs wrote, at once: all words, or "a phrase" exactly."""
    if workflow_id is not None:
        on.runs.read(workflow_id)
    request = SearchRequest(
        text=query,
        limit=limit,
        corpora=read_corpora(types),
        project=project,
        run=workflow_id,
        with_kept=current_caller().project is None,
    )
    results = on.searching.search(request)
    members = {"results": [hit.as_json() for hit in results.hits], "covered": results.covered}
    return Answered(SearchedAll, {**members, "provenance": marked("whoever wrote what was found")})


add_tools(__name__)
