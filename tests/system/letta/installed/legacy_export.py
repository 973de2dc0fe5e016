"""Run inside Letta's own environment: prints an agent in the old form of agent files, which Letta's API no longer sends.

Its serializer is still in the package; it was written for a database connection that waits. Argument: the agent's id.
"""

import asyncio
import importlib
import json
import sys
from contextlib import contextmanager
from typing import Any


async def export(agent_id: str) -> str:
    """Return the agent as JSON text."""
    orm: Any = importlib.import_module("letta.orm")
    database: Any = importlib.import_module("letta.server.db")
    schema: Any = importlib.import_module("letta.serialize_schemas.marshmallow_agent").MarshmallowAgentSchema
    loaded: Any = importlib.import_module("sqlalchemy.orm").selectinload(orm.Agent.core_memory)
    users: Any = importlib.import_module("letta.services.user_manager").UserManager
    actor = await users().get_actor_or_default_async()

    def dump(session: Any) -> dict[str, Any]:
        @contextmanager
        def same() -> Any:
            yield session

        database.db_registry.session = same
        agent = session.get(orm.Agent, agent_id, options=[loaded.selectinload(orm.Block.tags)])
        found: dict[str, Any] = schema(session=session, actor=actor).dump(agent)
        return found

    async with database.db_registry.async_session() as session:
        return json.dumps(await session.run_sync(dump))


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(export(sys.argv[1])))
