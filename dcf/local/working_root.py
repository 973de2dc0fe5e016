"""Which directory a call is about: the call's own `root`, else the client's only root, else `--root`.

Never the directory in which this process was started: a client may start it anywhere, once, for several projects
(others have lost work that way). The client's roots are asked for when they are needed, and again after they changed.

A model chooses the argument, a person the boundary: `--root`, or without it the client's roots. A directory outside the
boundary is refused, by its real path. Without a boundary every directory is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import ListRootsRequest, ListRootsResult
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from dcf.errors import InvalidArgument
from dcf.values.records import record

QUESTION: Final = "dcf-local-roots"
"""How the question for roots is named, since 2026-07-28 an answer to a call that the client then repeats."""
_PATIENCE_S: Final = 10.0
_NAME_IT: Final = "Pass root, the absolute path of the directory you work in."
_BOUND_IT: Final = "A person starts dcf agents local with --root DIR: then any directory below DIR may be named."


class RootsWanted(Exception):
    """The client must be asked for its roots by an answer to its call."""

    result: Final[dict[str, Any]] = {
        "resultType": "input_required",
        "inputRequests": {QUESTION: {"method": "roots/list", "params": {}}},
    }


@record(frozen=True, slots=True)
class WorkingDirectory:
    """The directory of a call, by its real path. `boundary` is `--root`, where it is set: nothing outside is read."""

    path: Path
    boundary: Path | None = None


@dataclass(slots=True)
class WorkingRoot:
    """Finds the directory of each call. Its data of a client is forgotten when the client reports a change."""

    configured: Path | None
    _roots: tuple[Path, ...] | None = None

    def forget(self) -> None:
        """Ask the client again, the next time."""
        self._roots = None

    async def of(self, ctx: ServerRequestContext[Any, Any], value: object) -> WorkingDirectory:
        """Return the directory; raise InvalidArgument where there is none within the boundary, or RootsWanted."""
        boundary = None if self.configured is None else _checked(str(self.configured), "--root")
        if boundary is not None and value is not None:
            return WorkingDirectory(_within((boundary,), _checked(value, "root"), "root"), boundary)
        roots = await self._of_client(ctx)
        if value is not None:
            return WorkingDirectory(_within(roots, _checked(value, "root"), "root"))
        if len(roots) > 1:
            listed = ", ".join(str(root) for root in roots[:5])
            raise InvalidArgument(f"The client has {len(roots)} roots: {listed}.", _NAME_IT)
        if boundary is not None:
            return WorkingDirectory(
                _within((boundary,), roots[0] if roots else boundary, "The client's root"), boundary
            )
        if not roots:
            raise InvalidArgument("Neither --root nor the client says which directory to use.", _BOUND_IT)
        return WorkingDirectory(roots[0])

    async def _of_client(self, ctx: ServerRequestContext[Any, Any]) -> tuple[Path, ...]:
        known = ctx.session.client_capabilities
        if known is None or known.roots is None:
            return ()
        if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            answers = (ctx.params or {}).get("inputResponses") or {}
            if QUESTION not in answers:
                raise RootsWanted
            return _paths(answers[QUESTION])
        if self._roots is None:
            self._roots = await _asked(ctx)
        return self._roots


async def _asked(ctx: ServerRequestContext[Any, Any]) -> tuple[Path, ...]:
    """Return the roots of a client of an older revision; none if it does not answer."""
    try:
        with anyio.fail_after(_PATIENCE_S):
            roots_answer = await ctx.session.send_request(ListRootsRequest(), ListRootsResult)
    except (MCPError, TimeoutError):
        return ()
    return _paths(roots_answer.model_dump(mode="json"))


def _paths(answer: Mapping[str, Any]) -> tuple[Path, ...]:
    paths = [_path(str(root.get("uri"))) for root in answer.get("roots") or [] if isinstance(root, Mapping)]
    return tuple(dict.fromkeys(path for path in paths if path is not None and path.is_dir() and not _is_top(path)))


def _path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = Path(unquote(parts.path))
    return path.resolve() if path.is_absolute() else None


def _within(boundaries: tuple[Path, ...], path: Path, name: str) -> Path:
    """Return a directory that is a boundary or lies below it; raise InvalidArgument for any other."""
    if not boundaries:
        raise InvalidArgument(f"{name} names a directory, but no allowed directories are configured.", _BOUND_IT)
    if not any(path.is_relative_to(boundary) for boundary in boundaries):
        listed = " or ".join(str(boundary) for boundary in boundaries[:5])
        raise InvalidArgument(f"{name} is not below {listed}.", f"Name {listed}, or a directory below it.")
    return path


def _checked(root: object, name: str) -> Path:
    """Return a directory by its real path; raise InvalidArgument for what is none."""
    if not isinstance(root, str) or "\0" in root or not Path(root).is_absolute():
        raise InvalidArgument(f"{name} is no absolute path.", _NAME_IT)
    path = Path(root).resolve()
    if not path.is_dir():
        raise InvalidArgument(f"{name} names no directory on this machine.", _NAME_IT)
    if _is_top(path):
        raise InvalidArgument(f"{name} is the top of the file system.", "Name the directory of the project.")
    return path


def _is_top(path: Path) -> bool:
    return path == Path(path.anchor)
