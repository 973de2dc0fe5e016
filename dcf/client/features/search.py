"""The verb of a client that searches everything; described as in `verbs.py`."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from dcf.client.answers.journal import SearchedAll
from dcf.client.arguments import listed
from dcf.client.exchange import Conversation
from dcf.client.verbs import ask

SearchedType: TypeAlias = Literal["definition", "finding", "journal", "artifact", "output"]


def search(
    query: str,
    *,
    types: Sequence[SearchedType] = (),
    workflow_id: str | None = None,
    project: str | None = None,
    limit: int | None = None,
) -> Conversation[SearchedAll]:
    """Search definitions, findings, journals, artifacts and outputs at once: all words, and "a phrase" as it stands."""
    return ask(
        SearchedAll,
        "search",
        query=query,
        types_json=listed(types),
        workflow_id=workflow_id,
        project=project,
        limit=limit,
    )
