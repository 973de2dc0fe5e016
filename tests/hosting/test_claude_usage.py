"""The recipes of Claude Code report the usage of a session by the lines with which it ends."""

from collections.abc import Sequence
from typing import Any

from dcf.hosting.protocol import AgentTool, Json, ToolResult
from dcf.hosting.recipes.claude_code import report

SESSION = {
    "input_tokens": 10,
    "cache_read_input_tokens": 80,
    "cache_creation_input_tokens": 5,
    "output_tokens": 3,
}


class Reported:
    """Tools that remember what was reported."""

    def __init__(self) -> None:
        self.used: list[dict[str, Json]] = []

    def list(self) -> Sequence[AgentTool]:
        return ()

    async def call(self, name: str, _: Any) -> ToolResult:
        raise AssertionError(name)

    def report_usage(self, **used: Json) -> None:
        self.used.append(used)


def reported(ended: dict[str, Any], models: dict[str, Any] | None = None) -> list[dict[str, Json]]:
    tools = Reported()
    report(tools, ended, models)
    return tools.used


def of_model(tokens_in: int, **more: int) -> dict[str, Any]:
    return {"inputTokens": tokens_in, "outputTokens": 1, "costUSD": 0.1, "contextWindow": 200_000, **more}


def test_tokens_of_the_cache_are_told_apart() -> None:
    ended = {"usage": SESSION, "duration_ms": 1500, "total_cost_usd": 0.25}
    assert reported(ended) == [
        {
            "tokens_in": 10,
            "tokens_cached": 80,
            "tokens_cache_written": 5,
            "tokens_out": 3,
            "seconds": 1.5,
            "cost": 0.25,
            "currency": "USD",
        }
    ]


def test_what_subagents_used_is_in_the_report_of_the_session() -> None:
    models = {"large": of_model(10, cacheReadInputTokens=80), "small": of_model(400)}
    (used,) = reported({"usage": SESSION}, models)
    assert (used["tokens_in"], used["tokens_cached"], used["tokens_out"]) == (410, 80, 2)
    assert used["models"]["small"] == {
        "tokens_in": 400,
        "tokens_cached": 0,
        "tokens_cache_written": 0,
        "tokens_out": 1,
    }


def test_a_session_of_one_model_names_it() -> None:
    (used,) = reported({"usage": SESSION}, {"large": of_model(10)})
    assert (used["model"], "models" in used) == ("large", False)


def test_of_many_models_those_are_named_that_used_most() -> None:
    models = {f"m-{number}": of_model(number) for number in range(12)}
    (used,) = reported({}, models)
    assert used["tokens_in"] == sum(range(12))
    assert sorted(used["models"]) == sorted(f"m-{number}" for number in range(2, 12))


def test_a_session_that_says_nothing_reports_nothing() -> None:
    assert reported({"usage": {}}) == []
