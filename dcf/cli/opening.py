"""Opens what a command works with, and imports it only then: `dcf --help` needs neither Redis nor the settings."""

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from dcf.cli.places.choice import stay_here
from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcf.application.application import Application
    from dcf.runs.views.lists import RunList
    from dcf.settings.process import Settings


def settings() -> "Settings":
    """Return the settings of this process."""
    from dcf.settings.process import read_settings

    return read_settings()


def server_settings(
    host: str | None,
    port: int | None,
    toolsets: str | None = None,
    profile: str | None = None,
    auth: str | None = None,
    *,
    read_only: bool = False,
) -> "Settings":
    """Return the settings of a server: those of this process, but for the options that were given."""
    if auth not in {None, "keys", "off"}:
        raise InvalidArgument("--auth is not keys or off.", "Leave it out, or use --auth off on loopback.")
    stay_here(serves=True)
    changes: dict[str, object] = {"mcp_host": host, "mcp_port": port, "read_only": read_only or None}
    changes |= {"profile": profile, "auth": auth}
    if toolsets is not None:
        changes["toolsets"] = tuple(part.strip() for part in toolsets.split(",") if part.strip())
    return settings().model_copy(update={name: value for name, value in changes.items() if value is not None})


@contextmanager
def application(*, serves: bool = False) -> "Iterator[Application]":
    """Connect to the Redis of the settings, or start or join the embedded one, for the duration of a `with` block.

    Raise InvalidArgument where a server is in use in its place; `serves` as in `stay_here`.
    """
    from dcf.application.application import open_application
    from dcf.cli.patience import patience

    stay_here(serves=serves)
    with ExitStack() as stack:
        with patience("waiting for Redis"):
            opened = stack.enter_context(open_application(settings()))
        yield opened


@contextmanager
def run_list() -> "Iterator[RunList]":
    """Connect likewise, for the list of runs alone: `dcf ls` is started often, and needs a third of the imports."""
    from dcf.cli.patience import patience
    from dcf.runs.views.lists import RunList
    from dcf.store.connection.inspection import inspect_server
    from dcf.store.connection.opening import opened
    from dcf.store.lists.pages import Catalog

    stay_here()
    process_settings = settings()
    with ExitStack() as stack:
        with patience("waiting for Redis"):
            url, fsync = process_settings.redis_address, process_settings.appendfsync
            opening = opened(
                url,
                process_settings.data_dir,
                appendfsync=fsync,
                maxmemory=process_settings.maxmemory,
                documents=process_settings.documents,
            )
            _, connections = stack.enter_context(opening)
            inspect_server(connections)
        yield RunList(Catalog(connections))
