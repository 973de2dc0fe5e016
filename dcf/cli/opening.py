"""Opens what a command works with, and imports it only then: `dcf --help` needs neither Redis nor the settings."""

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcf.application import Application
    from dcf.runs.catalog import RunList
    from dcf.settings import Settings


def settings() -> "Settings":
    """Return the settings of this process."""
    from dcf.settings import read_settings

    return read_settings()


@contextmanager
def application() -> "Iterator[Application]":
    """Connect to the Redis of the settings, or start or join the embedded one, for the duration of a `with` block."""
    from dcf.application import open_application
    from dcf.cli.patience import patience

    with ExitStack() as stack:
        with patience("waiting for Redis"):
            found = stack.enter_context(open_application(settings()))
        yield found


@contextmanager
def run_list() -> "Iterator[RunList]":
    """Connect likewise, for the list of runs alone: `dcf ls` is started often, and needs a third of the imports."""
    from dcf.cli.patience import patience
    from dcf.runs.catalog import RunList
    from dcf.store.catalog import Catalog
    from dcf.store.inspection import inspect_server
    from dcf.store.opening import opened

    found = settings()
    url = None if found.redis_url is None else found.redis_url.get_secret_value()
    with ExitStack() as stack:
        with patience("waiting for Redis"):
            opening = opened(url, found.data_dir, appendfsync=found.appendfsync, maxmemory=found.maxmemory)
            _, connections = stack.enter_context(opening)
            inspect_server(connections)
        yield RunList(Catalog(connections))
