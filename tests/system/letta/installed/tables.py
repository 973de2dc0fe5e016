"""Run inside Letta's own environment: makes the tables of an empty database.

The wheel has no migrations, and its models leave out what those add: without the sequence no message can be stored,
and so no agent be made (409: sequence_id is null).
"""

import asyncio
import importlib
from typing import Any

_ADDED_BY_MIGRATIONS = (
    "create sequence message_seq_id owned by messages.sequence_id",
    "alter table messages alter column sequence_id set default nextval('message_seq_id')",
    "alter table archives_agents alter column created_at set default now()",
)


async def make_tables() -> None:
    importlib.import_module("letta.orm")
    base: Any = importlib.import_module("letta.orm.base").Base
    engine: Any = importlib.import_module("letta.server.db").engine
    sqlalchemy: Any = importlib.import_module("sqlalchemy")
    async with engine.begin() as connection:
        await connection.execute(sqlalchemy.text("create extension if not exists vector"))
        await connection.run_sync(base.metadata.create_all)
        for statement in _ADDED_BY_MIGRATIONS:
            await connection.execute(sqlalchemy.text(statement))
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(make_tables())
