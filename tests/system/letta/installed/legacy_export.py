"""Run inside Letta's own environment: prints an agent in the first form of agent files, which its API no longer sends.

Its serializer of agents is still in the package. Its serializer of messages there no longer works, so none are written.
Argument: the agent's id.
"""

import asyncio
import importlib
import json
import sys
from typing import Any


def _without_messages(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "messages": []}


async def export(agent_id: str) -> str:
    """Return the agent as JSON text."""
    agents: Any = importlib.import_module("letta.orm").Agent
    sessions: Any = importlib.import_module("letta.server.db").db_registry
    loading: Any = importlib.import_module("sqlalchemy.orm")
    post_dump: Any = importlib.import_module("marshmallow").post_dump
    schema: Any = importlib.import_module("letta.serialize_schemas.marshmallow_agent").MarshmallowAgentSchema
    users: Any = importlib.import_module("letta.services.user_manager").UserManager
    hook = post_dump(lambda _, data, **__: _without_messages(data))
    legacy = type("Legacy", (schema,), {"attach_messages": hook})
    actor = await users().get_actor_or_default_async()
    # The serializer reads relations that the models of today refuse to load unasked.
    inside = [loading.selectinload(getattr(agents, name)).lazyload("*") for name in ("core_memory", "tools")]

    def dump(session: Any) -> Any:
        agent = session.get(agents, agent_id, options=[loading.lazyload("*"), *inside])
        return legacy(session=session, actor=actor).dump(agent)

    async with sessions.async_session() as session:
        return json.dumps(await session.run_sync(dump), default=lambda part: part.model_dump(mode="json"))


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(export(sys.argv[1]))}\n")
