"""The stub as an MCP client sees it, over real HTTP: what matches, what fails, what is counted, what is named how."""

import json
import threading
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import pytest

from tests.stub.conftest import Serve, Stub, Time, case, config, tool
from tests.support.tables import rows

pytestmark = pytest.mark.anyio

ORDER = {"customer": {"id": "C-1", "tags": ["gold", "eu"]}, "lines": [{"sku": "A", "n": 3}, {"sku": "B", "n": 1}]}

MATCHING = {
    "a value at a path": ("exact", "customer.id", "C-1"),
    "a number is compared with its text": ("exact", "lines[0].n", "3"),
    "a number as it is": ("exact", "lines[0].n", 3),
    "one of several values": ("exact", "lines[*].sku", "B"),
    "a list, whatever the order of its members' keys": ("exact", "lines", '[{"n":3,"sku":"A"},{"n":1,"sku":"B"}]'),
    "a pattern at a path": ("regex", "customer.id", "^C-[0-9]$"),
    "a pattern in all arguments": ("regex", "", '"sku":"A"'),
    "a part of a text": ("contains", "customer.id", "C-"),
    "an item of a list": ("contains", "customer.tags", "gold"),
    "members of an object": ("contains", "customer", {"id": "C-1"}),
    "members of all arguments": ("contains", "", '{"customer": {"id": "C-1", "tags": ["gold", "eu"]}}'),
    "a part of all arguments": ("contains", "", "gold"),
    "a JSON text": ("jsonpath", "$.customer.id", '"C-1"'),
    "a JSON number": ("jsonpath", "$.lines[1].n", "1"),
    "a JSON value found by a search": ("jsonpath", "$..sku", '"A"'),
}

NOT_MATCHING = {
    "another value": ("exact", "customer.id", "C-2"),
    "a missing path": ("exact", "customer.name", "null"),
    "a pattern that fits elsewhere only": ("regex", "customer.id", "gold"),
    "a part of an item": ("contains", "customer.tags", "gol"),
    "a member of another value": ("contains", "customer", {"id": "C-2"}),
    "a number written as a text": ("jsonpath", "$.lines[1].n", '"1"'),
    "an index beyond the list": ("exact", "lines[7].sku", "A"),
}


@rows("match", MATCHING.values(), ids=MATCHING)
async def test_a_case_fits(serve: Serve, match: Any) -> None:
    stub = serve(config(shop={"order": tool(case("hit", *match))}))
    assert await stub.call("order", "shop", **ORDER) == ({"from": "hit"}, '{"from":"hit"}')


@rows("match", NOT_MATCHING.values(), ids=NOT_MATCHING)
async def test_a_case_does_not_fit(serve: Serve, match: Any) -> None:
    stub = serve(config(shop={"order": tool(case("hit", *match))}))
    assert (await stub.call("order", "shop", **ORDER))[0] == {"from": "default"}


async def test_d_97h_a_pattern_with_a_path_does_not_see_the_other_arguments(serve: Serve) -> None:
    stub = serve(config(help={"search": tool(case("symptom", "regex", "symptom", "password"))}))
    assert (await stub.call("search", "help", symptom="slow", category="password reset"))[0] == {"from": "default"}


async def test_the_heaviest_case_is_tried_first_and_then_the_order_of_the_file(serve: Serve) -> None:
    cases = [
        case("first", "contains", "", "x"),
        case("second", "contains", "", "x"),
        case("heavy", "exact", "q", "x", weight=5),
    ]
    stub = serve(config(s={"t": tool(*cases)}))
    assert (await stub.call("t", "s", q="x"))[0] == {"from": "heavy"}
    assert (await stub.call("t", "s", q="xx"))[0] == {"from": "first"}


@rows(
    ("payload", "structured", "text"),
    [
        ({"a": [1]}, {"a": [1]}, '{"a":[1]}'),
        ([1, 2], None, "[1,2]"),
        ("plain", None, "plain"),
        (7, None, "7"),
        (None, {"result": None}, '{"result":null}'),
    ],
)
async def test_an_object_is_structured_and_everything_else_is_text(
    serve: Serve, payload: Any, structured: Any, text: str
) -> None:
    stub = serve(config(s={"t": tool(case("c", response=payload))}))
    assert await stub.call("t", "s") == (structured, text)


async def test_templates_show_arguments_time_and_luck(serve: Serve) -> None:
    template = {
        "customer": "{{ args.customer.id }}",
        "sentence": "{{ customer.id }} has {{ lines }} at {{ now_iso }}",
        "lines": "{{ lines }}",
        "dice": "{{ random_int(1, 6) }}",
        "id": "{{ uuid }}",
        "literal": 3,
    }
    stub = serve(config(s={"t": tool(case("c", responseTemplate=template))}))
    result, _ = await stub.call("t", "s", customer={"id": "C-1"}, lines=[1])
    assert result["customer"] == "C-1"
    assert result["sentence"] == "C-1 has [1] at 2025-01-30T12:00:00+00:00"
    assert result["lines"] == [1]
    assert result["dice"] in range(1, 7)
    assert len(result["id"]) == 36
    assert result["literal"] == 3


async def test_a_template_that_lacks_its_argument_is_an_error_and_not_a_blank(serve: Serve) -> None:
    stub = serve(config(s={"t": tool(case("c", responseTemplate={"a": "{{ missing }}"}))}))
    assert await stub.fail("t", "s") == "stub_template_error: the arguments have no 'missing'"
    assert stub.metrics()["errors"] == {"s:t:template": 1}


async def test_the_same_seed_gives_the_same_answers_whatever_else_is_called(serve: Serve) -> None:
    document = config(s={name: tool(case("c", responseTemplate={"n": "{{ uuid }}"})) for name in ("t", "u")})

    async def drawn(stub: Stub, *names: str) -> list[Any]:
        return [(await stub.call(name, "s"))[0]["n"] for name in names]

    first, second = await drawn(serve(document, seed=7), "t", "t")
    assert first != second
    assert (await drawn(serve(document, seed=7), "u", "t", "u", "t"))[1::2] == [first, second]
    assert (await drawn(serve(document, seed=8), "t"))[0] != first


@rows(
    ("mode", "text"),
    [("throw", "stub_thrown_error"), ("http_500", "500: internal server error (stub)")],
)
async def test_an_error_mode_is_a_failure_of_the_tool(serve: Serve, mode: str, text: str) -> None:
    stub = serve(config(s={"t": tool(case("bad", "exact", "q", "x", errorMode=mode))}))
    assert await stub.fail("t", "s", q="x") == text
    assert (await stub.call("t", "s", q="y"))[0] == {"from": "default"}
    assert stub.metrics()["errors"] == {f"s:t:{mode}": 1}
    assert stub.metrics()["case_hits"] == {"s:t:(default)": 1, "s:t:bad": 1}


@rows(("more", "waited"), [({}, 10.0), ({"latencyMsOverride": 250}, 0.25)])
async def test_d_97i_a_timeout_ends_in_an_error_and_never_in_an_answer(serve: Serve, more: Any, waited: float) -> None:
    stub = serve(config(s={"t": tool(case("slow", errorMode="timeout", **more))}))
    assert (await stub.fail("t", "s")).startswith("timeout: ")
    assert stub.time.slept == [waited]


async def test_flaky_fails_as_often_as_it_says_and_the_same_way_every_time(serve: Serve) -> None:
    document = config(s={"t": tool(case("c", errorMode="flaky", flakyRate=0.5))})

    async def failures(stub: Stub) -> list[bool]:
        async with stub.client("s") as client:
            return [bool((await client.call_tool("t", {})).is_error) for _ in range(40)]

    first = await failures(serve(document, seed=1))
    assert 8 < sum(first) < 32
    assert await failures(serve(document, seed=1)) == first
    stub = serve(config(s={"t": tool(case("c", errorMode="flaky", flakyRate=1))}))
    assert await stub.fail("t", "s") == "stub_flaky_error (random failure)"


async def test_latency_is_the_tools_unless_a_case_has_its_own(serve: Serve) -> None:
    quick = case("quick", "exact", "q", "now", latencyMsOverride=0)
    stub = serve(config(s={"t": tool(quick, latencyMs={"default": 40}), "u": tool()}))
    for name, arguments in (("t", {"q": "now"}), ("t", {}), ("u", {})):
        await stub.call(name, "s", **arguments)
    assert stub.time.slept == [0.04, 0.1]


async def test_d_97i_a_rate_limit_is_applied_to_its_tool_alone(serve: Serve) -> None:
    time = Time()
    tools = {"slow": tool(rateLimit={"rps": 2}), "free": tool(), "other": tool(rateLimit={"rps": 2})}
    stub = serve(config(s=tools, twin={"slow": tool(rateLimit={"rps": 2})}), time=time)
    for _ in range(2):
        await stub.call("slow", "s")
    assert await stub.fail("slow", "s") == "rate_limited: 2 calls per second are allowed; retry after 0.500 s"
    for name, server in (("free", "s"), ("free", "s"), ("other", "s"), ("slow", "twin")):
        await stub.call(name, server)
    time.seconds += 0.5
    await stub.call("slow", "s")
    await stub.fail("slow", "s")
    assert stub.metrics()["errors"] == {"s:slow:rate_limited": 2}
    assert stub.metrics()["tool_calls"]["s:slow"] == 5


async def test_d_97i_a_tool_that_takes_its_time_holds_up_nobody_else(serve: Serve) -> None:
    class Patient(Time):
        """Lets no slow call pass before it is allowed to."""

        gate = threading.Event()

        async def sleep(self, seconds: float) -> None:
            if seconds > 1:
                await anyio.to_thread.run_sync(self.gate.wait, 20)

    time = Patient()
    stub = serve(config(s={"slow": tool(latencyMs={"default": 5000}), "quick": tool()}), time=time)
    async with stub.client("s") as slow, anyio.create_task_group() as tasks:
        finished = anyio.Event()

        async def wait_for_it() -> None:
            await slow.call_tool("slow", {})
            finished.set()

        tasks.start_soon(wait_for_it)
        for _ in range(3):
            await stub.call("quick", "s")
        assert not finished.is_set()
        time.gate.set()
    assert finished.is_set()


async def test_arguments_are_checked_as_a_real_tool_would(serve: Serve) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    stub = serve(config(s={"t": tool(paramsSchema=schema)}))
    assert await stub.fail("t", "s", n="x") == "invalid_arguments: n breaks the rule 'type' of paramsSchema"
    assert "required" in await stub.fail("t", "s")
    assert (await stub.call("t", "s", n=1))[0] == {"from": "default"}


async def test_a_schema_whose_reference_leads_nowhere_fails_the_call_and_not_the_stub(serve: Serve) -> None:
    schema = {"type": "object", "properties": {"n": {"$ref": "#/$defs/nothing"}}}
    stub = serve(config(s={"t": tool(paramsSchema=schema)}))
    assert (await stub.fail("t", "s", n=1)).startswith("invalid_schema: ")


# Names


TWINS = config(orders={"search": tool(case("o"))}, help={"search": tool(case("h")), "only": tool(case("only"))})


@rows("mode", ["auto", "legacy"])
async def test_d_97l_two_servers_may_have_a_tool_of_one_name(serve: Serve, mode: str) -> None:
    stub = serve(TWINS)
    async with stub.client(mode=mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["help__only", "help__search", "orders__search"]
        for name, answer in (("orders__search", "o"), ("help__search", "h")):
            assert (await client.call_tool(name, {})).structured_content == {"from": answer}
    for server, answer in (("orders", "o"), ("help", "h")):
        async with stub.client(server, mode=mode) as client:
            assert "search" in [tool.name for tool in (await client.list_tools()).tools]
            assert (await client.call_tool("search", {})).structured_content == {"from": answer}


async def test_a_plain_name_is_understood_everywhere_while_only_one_server_has_it(serve: Serve) -> None:
    stub = serve(TWINS)
    assert (await stub.call("only"))[0] == {"from": "only"}
    assert await stub.fail("search") == "unknown tool 'search'; there are: help__search, orders__search"


async def test_a_server_does_not_serve_what_others_have(serve: Serve) -> None:
    stub = serve(TWINS)
    assert (await stub.fail("only", "orders")).startswith("unknown tool 'only'; there are: search")
    response = httpx2.post(f"{stub.url}/mcp/nobody", json={})
    assert (response.status_code, response.json()["ok"]) == (404, False)


async def test_a_list_says_what_a_tool_is(serve: Serve) -> None:
    result = {"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]}
    stub = serve(config(s={"t": tool(case("c"), version="1.2.0", resultSchema=result, rateLimit={"rps": 3})}))
    async with stub.client("s") as client:
        (outcome,) = (await client.list_tools()).tools
        assert (await client.call_tool("t", {})).structured_content == {"from": "c"}
    assert (outcome.description, outcome.output_schema) == ("A tool.", result)
    assert outcome.meta == {
        "serverId": "s",
        "version": "1.2.0",
        "originalName": "t",
        "latencyMs": 100,
        "rateLimitRps": 3,
        "defaultResponse": {"from": "default"},
    }


# Health, metrics, reload


async def test_metrics_count_calls_hits_and_errors_and_can_be_reset(serve: Serve) -> None:
    stub = serve(config(s={"t": tool(case("c", "exact", "q", "x")), "u": tool(case("bad", errorMode="throw"))}))
    await stub.call("t", "s", q="x")
    await stub.call("s__t")
    await stub.fail("u", "s")
    _metrics = stub.get("/metrics")
    assert _metrics == {
        "ok": True,
        "metrics": {
            "tool_calls": {"s:t": 2, "s:u": 1},
            "case_hits": {"s:t:(default)": 1, "s:t:c": 1, "s:u:bad": 1},
            "errors": {"s:u:throw": 1},
        },
        "totals": {"tool_calls": 3, "case_hits": 3, "errors": 1},
    }
    assert httpx2.post(f"{stub.url}/metrics/reset").json() == {"ok": True}
    assert stub.get("/metrics")["totals"] == {"tool_calls": 0, "case_hits": 0, "errors": 0}
    assert httpx2.get(f"{stub.url}/metrics/reset").status_code == 405


async def test_a_changed_file_is_taken_up_without_a_restart(serve: Serve) -> None:
    stub = serve(config(s={"t": tool()}))
    async with stub.client() as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["s__t"]
        stub.write(config(s={"t": tool(case("new"))}, more={"u": tool()}))
        assert (await client.call_tool("s__t", {})).structured_content == {"from": "new"}
        assert [tool.name for tool in (await client.list_tools()).tools] == ["more__u", "s__t"]
    assert (stub.get("/healthz")["servers"], stub.get("/healthz")["tools"]) == (2, 2)


@rows(
    ("broken", "told"),
    [
        ("{", "invalid_json"),
        ('{"servers": {}, "servers": {}}', "appears twice"),
        (json.dumps(config(s={"t": tool(case("c", "regex", "", "("))})), "no regular expression"),
    ],
)
async def test_a_broken_file_leaves_the_old_tools_and_health_says_so(serve: Serve, broken: str, told: str) -> None:
    stub = serve(config(s={"t": tool(case("old"))}))
    assert stub.get("/healthz")["config_problem"] is None
    stub.write(broken)
    assert (await stub.call("t", "s"))[0] == {"from": "old"}
    health = stub.get("/healthz")
    assert health["ok"] is True
    assert told in health["config_problem"]
    stub.write(config(s={"t": tool(case("mended"))}))
    assert (await stub.call("t", "s"))[0] == {"from": "mended"}
    assert stub.get("/healthz")["config_problem"] is None


async def test_a_removed_file_leaves_the_old_tools_too(serve: Serve) -> None:
    stub = serve(config(s={"t": tool(case("old"))}))
    stub.file.unlink()
    assert (await stub.call("t", "s"))[0] == {"from": "old"}
    assert "cannot be read" in stub.get("/healthz")["config_problem"]


# Who may ask


@rows("path", ["/mcp", "/mcp/s", "/healthz", "/metrics", "/metrics/reset"])
async def test_a_strange_host_or_origin_is_refused_everywhere(serve: Serve, path: str) -> None:
    stub = serve(config(s={"t": tool()}))
    method = "GET" if path in {"/healthz", "/metrics"} else "POST"
    for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
        response = httpx2.request(method, f"{stub.url}{path}", headers=headers, json={} if method == "POST" else None)
        assert response.status_code == status


async def test_the_accepted_hosts_are_those_of_the_settings(serve: Serve) -> None:
    stub = serve(config(s={"t": tool()}), mcp_allowed_hosts="stub.example")
    assert httpx2.get(f"{stub.url}/healthz").status_code == 421
    assert stub.get("/healthz", Host="stub.example")["ok"] is True


@rows("path", ["/mcp", "/mcp/s"])
@rows("method", ["GET", "DELETE"])
async def test_there_are_no_sessions_to_listen_to_or_to_end(serve: Serve, path: str, method: str) -> None:
    stub = serve(config(s={"t": tool()}))
    response = httpx2.request(method, f"{stub.url}{path}", headers={"Accept": "text/event-stream"})
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
