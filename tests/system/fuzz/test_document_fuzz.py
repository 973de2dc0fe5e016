"""The long form of `tests/tools/verbs/test_document_fuzz.py`: the same calls, more of them."""

from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings

from tests.tools.calls import Tools
from tests.tools.verbs.test_document_fuzz import calls, check_call, fuzzed, place

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(3600)]  # the limit is for a hang only

__all__ = ["fuzzed", "place"]


@given(call=calls())
@settings(max_examples=400, suppress_health_check=list(HealthCheck))
async def test_no_call_makes_a_tool_fail_inside_or_leave_its_place(
    fuzzed: Tools, raw_redis: redis.Redis, place: Path, call: tuple[str, dict[str, Any]]
) -> None:
    await check_call(fuzzed, raw_redis, place, call)
