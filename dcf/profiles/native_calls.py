"""Calls of dcf's tools that several profiles make: lists in pages, entries of the journal, verdicts of gates."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType

from dcf.profiles.profile import Native, NotDone
from dcf.values.json_text import Json, without_nulls


class Tolerated(AbstractContextManager[None, bool]):
    """Continues behind the calls in it where one is refused with one of these codes."""

    def __init__(self, *codes: str) -> None:
        self._codes = codes

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return isinstance(error, NotDone) and error.failure.code in self._codes


async def listed(native: Native, tool: str, member: str, **arguments: Json) -> AsyncIterator[Mapping[str, Json]]:
    """Yield the entries that a tool lists under `member`. A page is read once its entries are wanted."""
    cursor: Json = None
    while True:
        page = await native.call(tool, cursor=cursor, **arguments)
        for entry in page[member]:
            yield entry
        cursor = page.get("next_cursor")
        if cursor is None:
            return


async def add_entry(
    native: Native,
    run: str,
    kind: str,
    text: str,
    details: Mapping[str, Json] | None = None,
    agent: str | None = None,
    **more: Json,
) -> Mapping[str, Json]:
    """Add an entry to the journal of a run. Details that are None are left out; with a `key` it is added once."""
    return await native.call(
        "add_journal_entry",
        workflow_id=run,
        kind=kind,
        text=text,
        details_json=None if details is None else without_nulls(details),
        agent_id=agent or native.agent(),
        **more,
    )


async def decide(
    native: Native, run: str, state: str, gate: str, content: str, criteria: Iterable[Json], *, passed: bool
) -> None:
    """Give the caller's verdict on the content that waits at a gate, the same one for each criterion."""
    await native.call(
        "decide_gate",
        workflow_id=run,
        state=state,
        gate=gate,
        verdict="pass" if passed else "fail",
        content_sha256=content,
        agent_id=native.agent(),
        criteria=[{"criterion": criterion, "passed": passed} for criterion in criteria],
    )
