"""A server as a place: each tool is called over HTTP, with the rights of a key. It opens no Redis.

An error on the way names this server and this key, so that its user knows which of them to correct.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from dcf.cli.places.context import Choice
from dcf.cli.places.keys import key_for
from dcf.errors import Forbidden, ServerUnreachable, Unauthorized
from dcf.tools.calling.client import ToolClient
from dcf.values.json_text import Json


class ToolsAtServer:
    """The tools of a server, for one key."""

    def __init__(self, choice: Choice, tools: ToolClient, *, has_key: bool) -> None:
        self._choice = choice
        self._tools = tools
        self._has_key = has_key

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or could not be done."""
        try:
            return self._tools.call(tool, **arguments)
        except ServerUnreachable:
            raise ServerUnreachable(
                f"The {self._server} does not answer.", "Check that it runs, and the URL: `dcf context show` shows it."
            ) from None
        except Unauthorized:
            wrong = "the key that was sent is wrong, expired or revoked" if self._has_key else "none was sent"
            raise Unauthorized(f"The {self._server} wants an API key: {wrong}.", self._another_key) from None
        except Forbidden as refused:
            raise Forbidden(f"The {self._server} refuses this caller.", refused.hint) from None

    @property
    def _server(self) -> str:
        context = self._choice.context
        return f"server of context {context.name} ({context.url})" if self._choice.is_named else self._choice.title

    @property
    def _another_key(self) -> str:
        context = self._choice.context
        if context.key_file is not None:
            return f"Put a good key into {context.key_file}; who operates the server makes one: `dcf keys add`."
        if self._choice.is_named:
            add = f"`dcf context add {context.name} --replace --url {context.url}` reads one"
            return f"{add}; who operates the server makes it: `dcf keys add`."
        return "Set DCF_API_KEY to a key; who operates the server makes one: `dcf keys add`."


@contextmanager
def tools_at(choice: Choice, deadline_s: float, longest_s: float | None) -> Iterator[ToolsAtServer]:
    """Open the server of a context: a call whose connection breaks is repeated for `deadline_s` seconds.

    With `longest_s`, no answer is waited for longer.
    """
    assert choice.context.url is not None, "the context is that of a server"
    key = key_for(choice.context)
    client = ToolClient(choice.context.url, deadline_s, api_key=key, longest_s=longest_s)
    try:
        yield ToolsAtServer(choice, client, has_key=key is not None)
    finally:
        client.close()
