"""The first steps of every process of dcf: where its log goes and how it looks, traces, and how loopback is reached."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Final

from dcf.telemetry import surroundings, tracing

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_LINE: Final = "dcf: %(levelname)s %(name)s: %(message)s"


def begin(environment: Mapping[str, str] = os.environ) -> None:
    """Do it, as the environment says."""
    _log(environment.get("DCF_LOG_FORMAT"))
    tracing.begin(environment)
    if tracing.current is not None:
        surroundings.watch()
    _reach_loopback_directly()


def _log(form: str | None) -> None:
    """Write the log to standard error: as text, or each line as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_LINE))
    if form == "json":
        from dcf.telemetry.log_lines import JsonLines

        handler.setFormatter(JsonLines())
        surroundings.watch()
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _reach_loopback_directly() -> None:
    """Exclude loopback from the environment's proxy, for calls by this process and its children."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    names = [*filter(None, known.split(",")), *_LOOPBACK]
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(names)
