"""The content that the conformance suite wants of a server in addition to our tools: every kind, in three places.

The names are the suite's, and so are the texts where it looks at them.
"""

import base64
import json
import struct
import zlib
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp_types import (
    AudioContent,
    Completion,
    CompletionArgument,
    CompletionContext,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)
from pydantic import Field


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


_PIXEL = b"".join(
    (
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")),
        _chunk(b"IEND", b""),
    )
)
_SILENCE = b"RIFF" + struct.pack("<I4s4sIHHIIHH4sI", 36, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 0)
_IMAGE = ImageContent(type="image", data=_text_of(_PIXEL), mime_type="image/png")


def _resource(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, text=text, mime_type=mime_type))


async def test_simple_text() -> str:
    """Answer with text."""
    return "This is a simple text response for testing."


async def test_image_content() -> ImageContent:
    """Answer with an image."""
    return _IMAGE


async def test_audio_content() -> AudioContent:
    """Answer with sound."""
    return AudioContent(type="audio", data=_text_of(_SILENCE), mime_type="audio/wav")


async def test_embedded_resource() -> EmbeddedResource:
    """Answer with a resource."""
    return _resource("test://embedded-resource", "This is an embedded resource content.")


async def test_multiple_content_types() -> list[ContentBlock]:
    """Answer with text, an image and a resource."""
    embedded_resource = _resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [TextContent(type="text", text="Multiple content types test:"), _IMAGE, embedded_resource]


async def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


async def test_tool_with_progress(ctx: Context) -> str:
    """Tell three times how far it is."""
    for done in (0, 50, 100):
        await ctx.report_progress(done, 100)
    return "done"


async def test_tool_with_logging(ctx: Context) -> str:
    """Write three lines to the client's log."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(line)
    return "logged"


async def test_logging_tool(ctx: Context) -> str:
    """Write a line to the log of a client that wants one."""
    await ctx.info("for whoever asked for it")
    return "logged"


async def test_reconnection(ctx: Context) -> str:
    """Close the stream before the answer."""
    await ctx.close_sse_stream()
    return "still here"


async def test_trigger_tool_change(ctx: Context) -> str:
    """Tell subscribers that the tools changed."""
    await ctx.notify_tools_changed()
    return "told"


async def test_trigger_prompt_change(ctx: Context) -> str:
    """Tell subscribers that the prompts changed."""
    await ctx.notify_prompts_changed()
    return "told"


async def test_headers(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
    """Take an argument that is in a header too."""
    return region


_TOOLS = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
    test_tool_with_progress,
    test_tool_with_logging,
    test_logging_tool,
    test_reconnection,
    test_trigger_tool_change,
    test_trigger_prompt_change,
    test_headers,
)


async def static_text() -> str:
    """Text that stays the same."""
    return "This is the content of the static text resource."


async def static_binary() -> bytes:
    """An image that stays the same."""
    return _PIXEL


async def template(id: str) -> str:  # noqa: A002 - the suite's name for it
    """One of many."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


async def test_simple_prompt() -> str:
    """Ask for nothing in particular."""
    return "This is a simple prompt for testing."


async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Repeat both arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803 - the suite's name for it
    """Show a resource."""
    embedded_resource = _resource(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(embedded_resource), UserMessage("Please process the embedded resource above.")]


async def test_prompt_with_image() -> list[Message]:
    """Show an image."""
    return [UserMessage(_IMAGE), UserMessage("Please analyze the image above.")]


_PROMPTS = (test_simple_prompt, test_prompt_with_arguments, test_prompt_with_embedded_resource, test_prompt_with_image)


async def complete(
    ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument, context: CompletionContext | None
) -> Completion:
    """Complete every argument to the same two words."""
    return Completion(values=[word for word in ("test", "testing") if word.startswith(argument.value)])


def add_content(server: MCPServer[None]) -> None:
    """Add the tools, resources, prompts and completions."""
    for tool in _TOOLS:
        server.add_tool(tool, structured_output=False)
    server.resource("test://static-text", mime_type="text/plain")(static_text)
    server.resource("test://static-binary", mime_type="image/png")(static_binary)
    server.resource("test://template/{id}/data", mime_type="application/json")(template)
    for prompt in _PROMPTS:
        server.prompt()(prompt)
    server.completion()(complete)  # type: ignore[no-untyped-call]
