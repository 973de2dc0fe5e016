"""A remote agent that speaks A2A, by the protocol's SDK, as a program of its own: `remote_agent.py FOLDER [CARD]`.

The input of the work has its script. FOLDER gets notes of its steps; CARD is the URL that its agent card
names, if it is to be another one than its own. It prints its URL.
"""

import asyncio
import json
import socket
import sys
from pathlib import Path

import uvicorn
from a2a.helpers.proto_helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, TaskState
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import Receive, Scope, Send


class Scripted(AgentExecutor):  # type: ignore[misc]  # its SDK is not here
    """Does what the input of the work says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        user_input = context.get_user_input()
        await event_queue.enqueue_event(context.current_task or new_task_from_user_message(context.message))
        task = TaskUpdater(event_queue, context.task_id, context.context_id)
        await task.start_work()
        if "was not accepted" in user_input:
            await task.add_artifact([new_data_part({"total": 42})])
            await task.complete()
            return
        document = json.loads(user_input.split("Its input:\n")[1].splitlines()[0])
        (self._folder / f"began-{document['do']}").touch()
        await getattr(self, f"_{document['do']}")(task, document)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        (self._folder / "cancelled").touch()
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _double(self, task: TaskUpdater, value: dict[str, int]) -> None:
        await asyncio.sleep(0.3)
        await task.add_artifact([new_data_part({"total": 2 * value["amount"]})])
        used = {"tokens_in": 7, "cost": "0.5", "currency": "EUR"}
        await task.update_status(TaskState.TASK_STATE_COMPLETED, metadata={"usage": used})

    async def _say(self, task: TaskUpdater, value: dict[str, str]) -> None:
        await task.add_artifact([new_text_part(value["text"])])
        await task.complete()

    async def _fail(self, task: TaskUpdater, value: dict[str, str]) -> None:
        parts = [new_data_part(value["told"])] if "told" in value else [new_text_part("there are none left")]
        await task.failed(task.new_agent_message(parts))

    async def _ask(self, task: TaskUpdater, value: dict[str, str]) -> None:
        await task.requires_input(task.new_agent_message([new_text_part("Which colour?")]))

    async def _hang(self, task: TaskUpdater, value: dict[str, str]) -> None:
        await asyncio.sleep(600)


def main(folder: Path, card_url: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        interface = AgentInterface(protocol_binding="JSONRPC", protocol_version="1.0", url=f"{card_url or url}/rpc")
        skill = AgentSkill(id="scripted", name="Scripted", description="Does as it is told.", tags=["test"])
        card = AgentCard(
            name="remote", description="A remote agent.", version="1", capabilities=AgentCapabilities(streaming=True),
            default_input_modes=["text/plain"], default_output_modes=["application/json"], skills=[skill],
            supported_interfaces=[interface],
        )  # fmt: skip
        handler = DefaultRequestHandler(
            agent_executor=Scripted(folder), task_store=InMemoryTaskStore(), agent_card=card
        )
        app = Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")])

        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                with (folder / "keys").open("a") as file:
                    file.write(f"{Request(scope).headers.get('x-key')}\n")
            await app(scope, receive, send)

        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        uvicorn.Server(uvicorn.Config(noting, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
