"""A client of the A2A protocol's SDK as a program: `a2a_client.py URL KEY`, with what to do on standard input as JSON.

It prints the last task that it received, or the error, as JSON.
"""

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.helpers.proto_helpers import new_data_message, new_text_message
from a2a.types import CancelTaskRequest, GetTaskRequest, SendMessageRequest
from google.protobuf.json_format import MessageToDict


async def done(url: str, key: str, expected: dict[str, Any]) -> Any:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
        config = ClientConfig(httpx_client=http, polling=bool(expected.get("polling")))
        client = await ClientFactory(config).create_from_url(url)
        if "cancel" in expected:
            return await client.cancel_task(CancelTaskRequest(id=expected["cancel"]))
        if "get" in expected:
            return await client.get_task(GetTaskRequest(id=expected["get"]))
        made = new_text_message(expected["text"]) if "text" in expected else new_data_message(expected["data"])
        async for result in client.send_message(SendMessageRequest(message=made)):
            task = result.task
        return task


async def main() -> None:
    try:
        message_to_dict = MessageToDict(await done(sys.argv[1], sys.argv[2], json.load(sys.stdin)))
    except Exception as error:  # noqa: BLE001 - the test looks at it
        message_to_dict = {"raised": type(error).__name__, "words": str(error)}
    sys.stdout.write(json.dumps(message_to_dict))


asyncio.run(main())
