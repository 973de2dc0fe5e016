"""Mistakes that type checkers must find: each line is an error to mypy and to pyright, and says so.

A comment that silences nothing is an error itself, so that a mistake that is no longer found fails the test.
"""

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
    client.no_such_verb("r")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    run.status = "failed"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    run.output_json  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
    other.get("r").status  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] # noqa: B018
    for _ in other.events("r"):  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
        """It is for `async for`."""
    dcf.connect(api_token="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    dcf.connect(Path("/tmp"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
