"""The recorded data of earlier versions, each restored into a Redis of its own for each test."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import redis

from tests.support.redis.dumps import Line, restore
from tests.support.redis.servers import redis_server
from tests.system.upgrades.record import RECORDED

_FILES: Final = sorted(RECORDED.glob("*.jsonl"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A Redis with what a version recorded. `lines` are those of its keys, `facts` what agents kept, by run.

    `shown` is what `dcf show` of that version printed of each run.
    """

    port: int
    api_key: str
    facts: Mapping[str, Mapping[str, Any]]
    shown: Mapping[str, Mapping[str, Any]]
    lines: tuple[Line, ...]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"


@pytest.fixture(params=_FILES, ids=lambda path: path.stem)
def restored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Restored]:
    with request.param.open(encoding="utf-8") as file:
        about, *lines = map(json.loads, file)
    (home := tmp_path / "redis").mkdir()
    with redis_server(home) as port, redis.Redis(port=port) as client:
        restore(client, lines)
        facts, shown = about["facts"], about["shown"]
        yield Restored(port=port, api_key=about["api_key"], facts=facts, shown=shown, lines=tuple(lines))
