"""Mistakes that type checkers must find: each line is an error to mypy and to pyright, and says so.

A comment that silences nothing is an error itself, so that a mistake that is no longer found fails the test.
"""

from dataclasses import dataclass
from pathlib import Path

import dcf
from dcf.client import RunDetails


def mistakes(client: dcf.Client, other: dcf.AsyncClient, run: RunDetails) -> None:
    """Make them."""
    client.cancel()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.cancel(42)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.cancel("r", reson="typo")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.cancel("r", "enough")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.list(status="broken")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.start(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.start({}, agents={"Greet": 5})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    client.validate("hello")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.serve(print, "me")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.serve({"Greet": 5}, "me")  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    client.serve(fetch, "me")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.serve({}, "me", lease_ttl_s="30s")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.list(since=1767225600.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.operate_schedule("nightly", "stop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.decide_gate("r", "Greet", "review", "passed", content_sha256="")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.decide_gate("r", "Greet", "review", "pass")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.add_journal_entry("r", "decision", "so", agent="ann")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.read_journal("r", since=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.await_workflow_event("ann", timeout_s="20s")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.complete_states("r", {"state": "Greet"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.update_workflow_control_plane("r", "Greet", output_json=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    client.update_workflow_control_plane("r", "Greet", usage=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.put_artifact("r", 5, name="a")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.search("price", types=["prices"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    client.load_skill(["a"], "ann")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.no_such_verb("r")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    run.status = "failed"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    run.output_json  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
    other.get("r").status  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
    for _ in other.events("r"):  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        """It is for `async for`."""
    dcf.connect(api_token="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    dcf.connect(Path("/tmp"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@dataclass
class Page:
    """The result of a step."""

    words: int


@dcf.task(retry=2)
def fetch(url: str) -> Page:
    """Fetch."""
    return Page(len(url))


@dcf.flow
def count(urls: list[str], topic: str = "") -> int:
    """Count, with mistakes."""
    page = fetch(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    draft = dcf.agent("writer", topic, urls, output=Page)
    draft.word  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
    fetch.with_(timeout="soon")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    first, _ = dcf.parallel(fetch("a"), fetch("b"))
    first.word  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
    return page.words


count.input(["a"], topic=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
count.input()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
dcf.flow(name="x", retries=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
