"""The contexts, and which of them a command uses. The choice depends on values alone: nothing here reads a file."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json
from dcf.values.records import record

LOCAL: Final = "local"
"""The name of the control plane of this machine."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SLASHES: Final = 2
_URL: Final = re.compile(r"https?://[^\s/?#@]+(/[^\s?#@]*)?")


@record(frozen=True, slots=True, kw_only=True)
class Context:
    """A place by name: this machine, or the server at `url`.

    The server is called with the key in `key_file`, or else in DCF_API_KEY. Commands that take a project use `project`
    where none is given.
    """

    name: str
    url: str | None = None
    key_file: str | None = None
    project: str | None = None

    @property
    def is_local(self) -> bool:
        """True for the control plane of this machine."""
        return self.url is None


@record(frozen=True, slots=True, kw_only=True)
class Contexts:
    """The contexts that somebody has, and which of them is in use where nothing else says so."""

    known: Mapping[str, Context]
    current: str | None = None

    def named(self, name: str) -> Context:
        """Return a context; raise InvalidArgument if there is none of this name."""
        if name == LOCAL:
            return HERE
        if name not in self.known:
            shown = name if NAME.fullmatch(name) else "of this name"
            raise InvalidArgument(f"There is no context {shown}.", "`dcf context ls` lists them.")
        return self.known[name]


@record(frozen=True, slots=True)
class Choice:
    """The context in use, and why it is.

    It has no name of its own if the environment's DCF_SERVER_URL is the place: workers and servers read that too.
    """

    context: Context
    because: str
    is_named: bool = True

    @property
    def title(self) -> str:
        """The place in two words, as questions and errors name it."""
        context = self.context
        return f"context {context.name}" if self.is_named else f"server {context.url}"


HERE: Final = Context(name=LOCAL)
NOTHING: Final = Contexts(known={})


def choose(option: str | None, environment: Mapping[str, str], contexts: Callable[[], Contexts]) -> Choice:
    """Return the context in use: the first of --context, DCF_CONTEXT, REDIS_URL, DCF_SERVER_URL, `dcf context use`.

    REDIS_URL comes before DCF_SERVER_URL: what has a Redis has its control plane itself, and the URL is then that of
    the server which its workers and Letta call. `contexts` reads the file, where it is needed.
    """
    if option:
        return Choice(contexts().named(option), "--context names it")
    if name := environment.get("DCF_CONTEXT"):
        return Choice(contexts().named(name), "DCF_CONTEXT names it")
    if environment.get("REDIS_URL"):
        return Choice(HERE, "REDIS_URL is set")
    if url := environment.get("DCF_SERVER_URL"):
        server = Context(name="DCF_SERVER_URL", url=check_url(url, "DCF_SERVER_URL"))
        return Choice(server, "DCF_SERVER_URL is set", is_named=False)
    place_contexts = contexts()
    if place_contexts.current is not None:
        return Choice(
            place_contexts.named(place_contexts.current), f"`dcf context use {place_contexts.current}` chose it"
        )
    return Choice(HERE, "no other one is chosen")


def check_name(name: str) -> str:
    """Return a name that a context may have; raise InvalidArgument for any other."""
    if not NAME.fullmatch(name) or name == LOCAL:
        raise InvalidArgument(
            "This is no name of a context.", "Use 1 to 64 letters, digits, '_' or '-'; `local` is this machine."
        )
    return name


def check_url(url: str, name: str) -> str:
    """Return the URL of a server; raise InvalidArgument for any other text. A password in it would be shown."""
    if not (_URL.fullmatch(url) and url.isprintable()):
        raise InvalidArgument(
            f"{name} must be a URL that begins with http:// or https://.",
            "Write https://HOST/mcp, without a user, a password or a key in it.",
        )
    return url


def with_path(url: str) -> str:
    """Return the URL with the path at which servers have their tools, where it has none."""
    return url if url.rstrip("/").count("/") > _SLASHES else f"{url.rstrip('/')}/mcp"


def with_project(arguments: Mapping[str, Json], context: Context) -> Mapping[str, Json]:
    """Return the arguments of a call with the project of the context, where they take one and none is given."""
    takes_one = "project" in arguments and arguments["project"] is None
    return {**arguments, "project": context.project} if takes_one else arguments


def describe(choice: Choice) -> dict[str, str | None]:
    """Return the context in use for a program; a key is never part of it."""
    context = choice.context
    return {
        "name": context.name,
        "url": context.url,
        "key_file": context.key_file,
        "project": context.project,
        "because": choice.because,
    }
