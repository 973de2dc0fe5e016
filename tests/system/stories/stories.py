"""A place for stories: real servers of a profile that are killed."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.system.processes.site import Server, Site, opened


@contextmanager
def place() -> Iterator[Site]:
    """A data directory with a short path, for one story."""
    folder = Path(tempfile.mkdtemp(prefix="dcfs-", dir="/tmp"))
    with opened(folder) as result:
        yield result
    shutil.rmtree(folder)


def kill(server: Server) -> None:
    """End a server at once, as a crash does."""
    server.process.kill()
    server.process.wait()
