"""The schemas of answers: derived from the records, shown on request, and true of every answer.

That answers match them is checked at every call of a tool that a test makes (`tests.tools.calls`).
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

import httpx2
import jsonschema
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import Field

from dcf.application.application import Application
from dcf.tools.mcp.middleware import OUTPUT_SCHEMAS
from dcf.tools.mcp.selection import select_tools
from dcf.tools.mcp.server import build_http_app, build_server
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.verbs.answers.as_record import AsRecord
from dcf.verbs.answers.schemas import answer_schema
from dcf.verbs.records.spread import SPREAD
from dcf.verbs.registry import TOOLS, Answer
from tests.support.tables import rows
from tests.tools.calls import SERVED, serving
from tests.tools.closing import closed

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def _over_http(url: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


async def _schemas(client: Client) -> dict[str, Any]:
    """The schema of answers of each tool on the list, where it has one."""
    return {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}


@pytest.fixture(scope="module")
def url(replica: Callable[..., Application]) -> Iterator[str]:
    with serving(build_http_app(replica(profile="worker"))) as server_url:
        yield server_url


async def test_a_client_that_asks_is_shown_the_schemas_and_no_other_client_is(url: str) -> None:
    for headers in ({}, {OUTPUT_SCHEMAS: "true"}, {OUTPUT_SCHEMAS: "false"}, {}):
        async with _over_http(url, headers) as client:
            listed = await _schemas(client)
        request = headers.get(OUTPUT_SCHEMAS) == "true"
        assert listed == {name: answer_schema(SERVED[name]) if request else None for name in listed}
        assert "await_workflow_event" in listed


async def test_a_server_may_show_them_to_all(replica: Callable[..., Application]) -> None:
    async with Client(build_server(replica(output_schemas=True, allow_operator=True, profile="all"))) as client:
        assert await _schemas(client) == {spec.name: answer_schema(spec) for spec in select_tools((), read_only=False)}


@rows("mode", ["auto", "legacy"])
async def test_a_client_that_checks_answers_takes_those_that_are_refused_too(
    replica: Callable[..., Application], mode: Any
) -> None:
    async with Client(build_server(replica(output_schemas=True)), mode=mode) as client:
        assert all((await _schemas(client)).values())
        codes = [
            (await client.call_tool(tool, arguments)).structured_content["code"]
            for tool, arguments in (
                ("list_runs", {}),
                ("explain_run", {"workflow_id": "no-such-run"}),
                ("list_runs", {"status": "lost"}),
            )
        ]
    assert codes == ["ok", "unknown_run", "invalid_argument"]


@rows("name", sorted(SERVED))
def test_a_schema_is_one_that_every_client_understands(name: str) -> None:
    schema = answer_schema(SERVED[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert set(schema["properties"]) == set(SERVED[name].answer.model_fields)
    assert not {"$ref", "$defs", "title", "default"} & _keywords(schema)


@rows("name", sorted(SERVED))
def test_a_refusal_without_anything_else_matches(name: str) -> None:
    spec = SERVED[name]
    refusal = spec.answer(error="refused: It is refused.", code="refused").payload()
    jsonschema.Draft202012Validator(closed(answer_schema(spec))).validate(refusal)


def _keywords(schema: Json) -> set[str]:
    """The keywords in a schema, wherever they are; the names of fields are none."""
    if isinstance(schema, list):
        return set[str]().union(*map(_keywords, schema))
    if not isinstance(schema, dict):
        return set()
    inner = [*schema.get("properties", {}).values(), *(part for name, part in schema.items() if name != "properties")]
    return schema.keys() | set[str]().union(*map(_keywords, inner))


@dataclass(frozen=True, kw_only=True)
class _Sent:
    to: str
    count: int | None = None
    more: dict[str, Any] = field(default_factory=dict, metadata=SPREAD)


@dataclass(frozen=True, kw_only=True)
class _Parcel:
    weight: float | None
    kinds: tuple[Literal["book", "letter"], ...] = ()


_Part: TypeAlias = Literal["all", "some"]


class _Reported(Answer):
    kind: _Part | Literal["none"] | None = None
    sent: list[Annotated[dict[str, Any], AsRecord(_Sent)]] | None = None
    parcels: dict[str, Annotated[dict[str, Any], AsRecord(_Parcel)]] = Field(default_factory=dict)
    anything: Any = None
    note: str | dict[str, Any] | None = None

    only_when_set = ("note",)


def test_a_schema_has_what_the_record_says() -> None:
    spec = replace(TOOLS["list_runs"], models=lambda: (TOOLS["list_runs"].arguments, _Reported))
    schema = answer_schema(spec)
    own = {name: part for name, part in schema["properties"].items() if name not in Answer.model_fields}
    assert own == {
        "kind": {"type": ["string", "null"], "enum": ["all", "some", "none", None]},
        "sent": {
            "type": ["array", "null"],
            "items": {
                "type": "object",
                "properties": {"to": {"type": "string"}, "count": {"type": ["integer", "null"]}},
                "required": ["to"],
                "additionalProperties": True,
            },
        },
        "parcels": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "weight": {"type": ["number", "null"]},
                    "kinds": {"type": "array", "items": {"type": "string", "enum": ["book", "letter"]}},
                },
                "required": ["weight"],
            },
        },
        "anything": {},
        "note": {"type": ["string", "object"]},
    }
    assert schema["required"] == ["status", "error", "code", "kind", "sent", "parcels", "anything"]
