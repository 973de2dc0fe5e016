"""Log lines of executions that have ended, in the profile `midex`.

The journal of an ended run is closed, its artifacts are not. So such a line is an artifact, which no list of artifacts
shows.
"""

import json
from collections.abc import Mapping
from typing import Final

from dcf.profiles.ids import digest_of
from dcf.profiles.native_calls import Tolerated
from dcf.profiles.profile import Native
from dcf.values.json_text import Json, dump

_NAME: Final = "log:"


async def store_line(native: Native, run: str, key: str, line: Mapping[str, Json]) -> dict[str, Json]:
    """Store a line once for its key, and return the line that is stored: the first one stays."""
    artifact = f"log-{digest_of(key)}"
    with Tolerated("conflict"):
        await native.call(
            "put_artifact",
            workflow_id=run,
            artifact_id=artifact,
            name=f"{_NAME}{artifact}",
            content_type="json",
            content=dump(dict(line)),
            agent_id=native.agent(),
        )
    return await read_line(native, run, artifact)


def is_line(artifact: Mapping[str, Json]) -> bool:
    """Return True for an artifact that is a line of the log."""
    return artifact.get("name") == f"{_NAME}{artifact.get('artifact_id')}"


async def read_line(native: Native, run: str, artifact: str) -> dict[str, Json]:
    """Return a line as an entry of the journal has it."""
    stored = await native.call("get_artifact", workflow_id=run, artifact_id=artifact)
    line = json.loads(stored["content"])
    return {"entry": artifact, "at": stored["artifact"].get("created_at"), **line}
